"""Keys of answers: the same words have the same key in every process and on every machine."""

import hashlib

import numpy as np

KEY_BYTES = 16
# Odd multipliers, one per position: the same ten words in another order are another answer.
_POSITIONS = np.frombuffer(
    hashlib.shake_128(b"sozo word positions").digest(80), "<u8"
) | np.uint64(1)


def word_hash(word: str) -> np.ndarray:
    """Two 64-bit lanes of BLAKE2b of a word, shape (2,): the same in every process and on every machine."""
    return np.frombuffer(
        hashlib.blake2b(
            word.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES
        ).digest(),
        "<u8",
    )


def answer_keys(hashes: np.ndarray) -> list[bytes]:
    """128-bit keys of answers: per lane the sum of position multiplier times word hash, modulo 2^64.

    `hashes` are unsigned 64-bit, of shape (answers, words, 2), at most ten words, whose order counts. Two different
    answers share a key with probability below 2^-100.
    """
    keys = np.einsum("rpl,p->rl", hashes, _POSITIONS[: hashes.shape[1]])
    return np.ascontiguousarray(keys, "<u8").view(f"V{KEY_BYTES}")[:, 0].tolist()


def set_keys(hashes: np.ndarray) -> list[bytes]:
    """128-bit keys of answers as sets: the same words in any order. `hashes` as for `answer_keys`, of any number."""
    keys = np.ascontiguousarray(hashes.sum(axis=1, dtype="<u8"))
    return keys.view(f"V{KEY_BYTES}")[:, 0].tolist()
