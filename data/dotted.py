"""What a user names by a dotted path, such as a reward function or a task of their own, so that no fork is needed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from data.errors import UserError


def load_dotted(path: str, what: str) -> Any:
    """The object at `package.module.name`, found among the installed packages or beside the working directory.

    The path is of a user's own settings: importing runs code, so never take one from a file of results. `what` it is
    goes into the message.
    """
    module, dot, name = path.rpartition(".")
    if not dot:
        raise UserError(f"{what} {path!r} is no dotted path such as my_package.{path or 'name'}")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UserError(f"{what} {path}: {error}") from error
