"""The duplicate penalty: a response identical to an earlier one of the same run, in any process, gets reward 0."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.record import write_whole

KEY_BYTES = 16
_MAGIC = b"sozo-seen-1\n"
# Odd multipliers, one per position: the same ten words in another order are another response.
_POSITIONS = np.frombuffer(hashlib.shake_128(b"sozo word positions").digest(80), "<u8") | np.uint64(1)


def word_hash(word: str) -> np.ndarray:
    """Two 64-bit lanes of BLAKE2b of a word, shape (2,): the same in every process and on every machine."""
    return np.frombuffer(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest(), "<u8")


def response_keys(hashes: np.ndarray) -> list[bytes]:
    """128-bit keys of responses: per lane the sum of position multiplier times word hash, modulo 2^64.

    `hashes` are unsigned 64-bit, of shape (responses, words, 2), at most ten words, whose order counts. Two different
    responses share a key with probability below 2^-100.
    """
    keys = np.einsum("rpl,p->rl", hashes, _POSITIONS[: hashes.shape[1]])
    return np.ascontiguousarray(keys, "<u8").view(f"V{KEY_BYTES}")[:, 0].tolist()


class SeenResponses:
    """The keys of a run's valid responses, across checkpoints: every process is shown those of all, and holds the same.

    >>> seen = SeenResponses()
    >>> seen.check([b"a" * 16, b"b" * 16, b"a" * 16, None]), seen.check([b"b" * 16])
    ([False, False, True, False], [True])
    """

    def __init__(self) -> None:
        self._keys: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._keys)

    def check(self, keys: Sequence[bytes | None]) -> list[bool]:
        """Was each response of all processes, in rank order, seen before, in an earlier call or earlier in this one?

        Remembers them all. None stands for an invalid response, which is never a duplicate and not remembered.
        """
        repeated: list[bool] = []
        for key in keys:
            repeated.append(key in self._keys)
            if key is not None:
                self._keys.add(key)
        return repeated

    def save(self, path: Path) -> None:
        """Write the history to `path`, whole or not at all; the same set always gives the same bytes."""
        write_whole(path, _MAGIC + b"".join(sorted(self._keys)))

    def load(self, path: Path) -> None:
        """Replace the history by the one saved at `path`; a ValueError if it is none of this version, or cut short."""
        raw = path.read_bytes()
        body = raw.removeprefix(_MAGIC)
        if len(body) == len(raw) or len(body) % KEY_BYTES:
            cause = "not a duplicate history of this sozo version, or cut short"
            raise ValueError(f"{path}: {cause}; resume from another one")
        self._keys = {body[i : i + KEY_BYTES] for i in range(0, len(body), KEY_BYTES)}
