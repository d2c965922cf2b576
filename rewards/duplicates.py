"""The duplicate penalty: a response identical to an earlier one of the same run, in any process, gets reward 0."""

from collections.abc import Sequence
from pathlib import Path

from sozo.data.record import write_whole
from sozo.scoring.keys import KEY_BYTES

_MAGIC = b"sozo-seen-1\n"


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
