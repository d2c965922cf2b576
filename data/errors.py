"""The one exception for a user's mistake, and what every entry point does with it; anything else is a bug."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sozo.data.processes import is_first
from sozo.data.secrets import without_credentials


class UserError(Exception):
    """What a user can fix: the message says what was wrong, where, and what to do, in one line.

    Whatever reads what a user named (a file, a model, a setting, a folder) may raise it.
    """


@contextmanager
def one_line_errors(program: str) -> Iterator[None]:
    """End `program` in one line: status 2 on a user's mistake, 130 on Ctrl-C; a bug keeps its traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the same command continues where it stopped\n")
        raise SystemExit(130) from None
    except UserError as error:
        if not is_first():
            time.sleep(10)  # the launcher ends this process as soon as the first one, which says the same, has failed
        sys.stderr.write(f"{program}: {without_credentials(' '.join(str(error).split()))}\n")
        sys.stderr.flush()
        raise SystemExit(2) from None
