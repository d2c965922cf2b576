"""The words seen so far: for each noun its vector, flags, identity and hash, for every other word its reason."""

import numpy as np

from sozo.data.schema import Reason
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.keys import word_hash
from sozo.scoring.nouns import NounChecker
from sozo.scoring.parse import NUM_WORDS, script_reason
from sozo.tasks.dat.loopholes import Loopholes

REASONS = tuple(Reason)
CODE = {reason: -1 - i for i, reason in enumerate(REASONS)}
SCRIPT_CODES = (CODE[Reason.NOT_JAPANESE], CODE[Reason.SYMBOL])
_MAX_CACHED = 1 << 20


class WordTable:
    """Looks words up by the hundred thousand, and asks the checker and the encoder about new ones only.

    A word is its noun's number (>= 0), an index into the arrays below, or the code of a reason (< 0).
    """

    def __init__(
        self, checker: NounChecker, vectors: WordVectors, loopholes: Loopholes, *, latin: bool, by_representative: bool
    ) -> None:
        self._checker, self._vectors, self._latin, self._by_representative = checker, vectors, latin, by_representative
        self._loopholes = loopholes
        self._codes: dict[str, int] = {}
        self._identities: dict[str, int] = {}
        self.rows = np.zeros(0, np.int32)  # of each noun in the vectors' matrix; -1 for none
        self.flags = np.zeros(0, np.uint8)  # bits of `sozo.tasks.dat.loopholes`
        self.identities = np.zeros(0, np.int32)  # nouns of equal identity are the same word
        self.hashes = np.zeros((0, 2), np.uint64)  # for the duplicates' keys

    def look_up(self, words: list[str]) -> np.ndarray:
        """Number or reason code of each word, learning the new ones first."""
        codes = self._codes
        try:
            return np.fromiter(map(codes.__getitem__, words), np.int32, len(words))
        except KeyError:
            if len(codes) > _MAX_CACHED:  # a model that babbles must not fill the memory
                codes = self._codes = {word: code for word, code in codes.items() if code >= 0}
            self._learn([word for word in dict.fromkeys(words) if word not in codes])
            return np.fromiter(map(codes.__getitem__, words), np.int32, len(words))

    def _learn(self, words: list[str]) -> None:
        codes, nouns = self._codes, []
        script = {word: script_reason(word, latin=self._latin) for word in words}
        codes.update((word, CODE[reason]) for word, reason in script.items() if reason is not None)
        candidates = [word for word, reason in script.items() if reason is None]
        for word, verdict in zip(candidates, self._checker.check(candidates), strict=True):
            flags = self._loopholes.flags(word, verdict)
            if verdict.is_noun and not self._loopholes.refuse(flags):
                nouns.append((word, verdict, flags))
            else:
                codes[word] = CODE[Reason.NOT_NOUN]
        if not nouns:
            return
        first, rows = len(self.rows), self._vectors.rows([word for word, _, _ in nouns])
        identities = [(self._by_representative and verdict.representative) or word for word, verdict, _ in nouns]
        numbered = [self._identities.setdefault(identity, len(self._identities)) for identity in identities]
        self.rows = np.append(self.rows, np.array(rows, np.int32))
        self.flags = np.append(self.flags, np.array([flags for _, _, flags in nouns], np.uint8))
        self.identities = np.append(self.identities, np.array(numbered, np.int32))
        self.hashes = np.concatenate([self.hashes, np.stack([word_hash(word) for word, _, _ in nouns])])
        codes.update((word, first + i) for i, (word, _, _) in enumerate(nouns))

    def bad_words(self, numbers: np.ndarray) -> np.ndarray:
        """Per word 0 or the code of what is wrong with it, shape (responses, 10)."""
        bad = np.minimum(numbers, 0).astype(np.int8)
        if len(self.rows):
            # A reason's code is no noun's number: it looks up any noun (0) and is masked after.
            nouns = np.maximum(numbers, 0)
            bad[(bad == 0) & (self.rows[nouns] < 0)] = CODE[Reason.NO_VECTOR]
            identities = np.ascontiguousarray(np.where(numbers < 0, -1, self.identities[nouns]).T)
            for k in range(1, NUM_WORDS):
                repeated = (identities[:k] == identities[k]).any(axis=0) & (numbers[:, k] >= 0)
                bad[repeated, k] = CODE[Reason.REPEATED_WORD]
        return bad
