"""The one exception for a user's mistake, and what every entry point does with it; anything else is a bug."""

import errno
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import TextIOWrapper

from sozo.data.extras import EXTRA_OF, install_command
from sozo.data.foreign import in_one_line, strip_steering
from sozo.data.processes import is_first, say_last
from sozo.data.secrets import without_credentials

# What the system says of a place where nothing can be read or written; any other failure is a bug.
_OF_THE_PLACE = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
}
_OF_THE_PLACE |= {errno.ENOSPC, errno.EDQUOT, errno.EPIPE, errno.EIO}


class UserError(Exception):
    """What a user can fix: the message says what was wrong, where, and what to do, in one line.

    Whatever reads what a user named (a file, a model, a setting, a folder) may raise it. Credentials of addresses, and
    what steers a terminal, are left out, and so is the middle of a message that quotes without end.
    """

    status = 2  # of the process that it ends

    def __init__(self, message: str) -> None:
        # Without credentials before it is cut: a cut through the middle of them would leave half.
        super().__init__(in_one_line(without_credentials(message)))


class OtherSettingsError(UserError):
    """A folder holds a run with other settings. `key` is the first that differs, `how` the message without what to do."""

    def __init__(self, how: str, remedy: str, key: str) -> None:
        super().__init__(f"{how}; {remedy}")
        self.how, self.key = how, key


class UndecidedError(UserError):
    """It may be the fault of this one batch: another one will tell."""


def require(package: str, purpose: str) -> None:
    """Refuse `purpose` where `package` is not installed: a UserError with the command that installs its extra."""
    if find_spec(package) is None:
        raise UserError(
            f"{purpose} needs the package {package}: {install_command(EXTRA_OF[package])}"
        )


class _AsText(logging.Formatter):
    """A warning without what steers a terminal: it may name what a folder or a file says."""

    def format(self, record: logging.LogRecord) -> str:
        return strip_steering(super().format(record))


@contextmanager
def one_line_errors(program: str) -> Iterator[None]:
    """End `program` in one line: its status (2) on a user's mistake, 130 on Ctrl-C; a bug keeps its traceback.

    A package that only an extra brings and that is not installed is a user's mistake; any other failed import is a bug.
    """
    try:
        try:
            if logging.lastResort:
                logging.lastResort.setFormatter(_AsText())
            for stream in (
                sys.stdout,
                sys.stderr,
            ):  # a letter that the terminal lacks is written out
                if isinstance(stream, TextIOWrapper):
                    stream.reconfigure(errors="backslashreplace")
            yield
            if sys.stdout:  # it may be closed
                sys.stdout.flush()
        except ModuleNotFoundError as error:
            if error.name not in EXTRA_OF:
                raise
            require(error.name, "this")
            raise
        except OSError as error:
            if error.errno not in _OF_THE_PLACE:
                raise
            # What is left to print would fail once more when Python ends
            if error.filename is None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            place = error.filename or "what is printed"
            raise UserError(
                f"{place}: cannot be used ({error.strerror}); give another place"
            ) from error
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the same command continues where it stopped\n")
        raise SystemExit(130) from None
    except UserError as error:
        if not is_first():
            # The launcher ends this process as soon as the first one, which says the same, has failed
            time.sleep(10)
        line = f"{program}: {error}\n"
        sys.stderr.write(line)
        sys.stderr.flush()
        say_last(line)
        raise SystemExit(error.status) from None
