"""Which tokens wrote which part of a text, for any tokenizer: by the characters that each token stands for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.rewards.reward import Part

_NO_CHARACTER = "\ufffd"  # what the bytes of half a character are decoded to


class WordTokens:
    """Aligns what a model wrote with its tokens; remembers what single tokens of `tokenizer` are decoded to."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._pieces: dict[int, str] = {}

    def parts(self, ids: Sequence[int], text: str, parts: Sequence[Part]) -> np.ndarray:
        """For each token the number of the part that it wrote a character of, the first one; -1 for none: (tokens,).

        `text` is what the tokens `ids` are decoded to without special tokens, or its end.
        """
        starts, ends = self.characters(ids, text)
        limits = np.array([(part.start, part.end) for part in parts], np.int64).reshape(-1, 2)
        number = np.searchsorted(limits[:, 1], starts, side="right")
        within = number < len(limits)
        within[within] = limits[number[within], 0] < ends[within]
        # A special token stands for no character.
        return np.where(within & (ends > starts), number, -1)

    def characters(self, ids: Sequence[int], text: str) -> tuple[np.ndarray, np.ndarray]:
        """First character of each token, and the one after its last, in `text`: integers, shape (tokens,) both."""
        pieces = [self._piece(token) for token in ids]
        if "".join(pieces) == text:
            ends = np.cumsum([len(piece) for piece in pieces])
            return np.concatenate([[0], ends[:-1]]), ends
        # Some tokens are decoded otherwise beside others, such as those that hold a character's bytes between them.
        whole = self._decode(ids)
        offset = whole.rfind(text)
        if offset < 0:
            raise UserError(f"the tokens of a completion spell {whole[:40]!r}, not its text {text[:40]!r}: no credit")
        before = [self._decode(ids[: k + 1]) for k in range(len(ids))]
        done = np.maximum.accumulate([len(decoded.rstrip(_NO_CHARACTER)) for decoded in before])
        starts = np.concatenate([[0], done[:-1]])
        # A token that ends within a character writes that one too.
        ends = done + np.array([decoded.endswith(_NO_CHARACTER) for decoded in before])
        return starts - offset, np.where([piece != "" for piece in pieces], ends, starts) - offset

    def _piece(self, token: int) -> str:
        if token not in self._pieces:
            self._pieces[token] = self._decode([token])
        return self._pieces[token]

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))
