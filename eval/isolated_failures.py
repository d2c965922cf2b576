"""Several runs in one command: a failure of one does not end the others."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from sozo.data.errors import UserError, one_line_errors
from sozo.data.processes import world_size
from sozo.models.generators import Loaded


class IsolatedFailures:
    """Keeps a failure of one of `count` runs from ending the others.

    Alone it ends the command as any does; so does a failure under a launcher, whose other processes know nothing of it.
    """

    def __init__(self, count: int, loaded: Loaded) -> None:
        self._alone, self._loaded = count == 1 or world_size() > 1, loaded
        self._count, self._failed = count, list[str]()

    @contextmanager
    def run(self, name: str) -> Iterator[None]:
        """A run of this name; after a bug, which may be in what is loaded, that is loaded again."""
        if self._alone:
            yield
            return
        try:
            with one_line_errors(f"error: {name}"):
                yield
        except SystemExit as ended:
            if ended.code != 2:  # Ctrl-C
                raise
            self._failed.append(name)
        except Exception:
            traceback.print_exc()
            self._failed.append(name)
            self._loaded.close()

    def end(self) -> None:
        """Refuse to call it a success if any run failed."""
        if self._failed:
            failed = f"{len(self._failed)} of {self._count} failed: {' and '.join(dict.fromkeys(self._failed))}"
            others = "; the others are done" * (len(self._failed) < self._count)
            raise UserError(f"{failed}; the lines above say why{others}")
