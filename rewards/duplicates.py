"""The duplicate penalty: an answer identical to an earlier one of the same run, in any process, gets reward 0."""

from collections.abc import Sequence

from sozo.scoring.keys import KEY_BYTES


class SeenAnswers:
    """The keys of a run's usable answers, across checkpoints: every process is shown those of all, and holds the same.

    >>> seen = SeenAnswers()
    >>> seen.check([b"a" * 16, b"b" * 16, b"a" * 16, None]), seen.check([b"b" * 16])
    ([False, False, True, False], [True])
    """

    def __init__(self) -> None:
        self._keys: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._keys)

    def check(self, keys: Sequence[bytes | None]) -> list[bool]:
        """Was each answer of all processes, in rank order, seen before, in an earlier call or earlier in this one?

        Remembers them all. None stands for an unusable answer, which is never a duplicate and not remembered.
        """
        repeated: list[bool] = []
        for key in keys:
            repeated.append(key in self._keys)
            if key is not None:
                self._keys.add(key)
        return repeated

    def state(self) -> str:
        """The history as a text; the same set always gives the same."""
        return b"".join(sorted(self._keys)).hex()

    def restore(self, state: str) -> None:
        """Replace the history by that of `state`."""
        raw = bytes.fromhex(state)
        self._keys = {raw[i : i + KEY_BYTES] for i in range(0, len(raw), KEY_BYTES)}
