"""Where sozo keeps what it can make again: the embedded model, the vectors of slow encoders."""

import os
from pathlib import Path

from sozo.data.errors import UserError

_OTHER = "set SOZO_CACHE to a folder that can be"
NO_CACHE = Path("none")  # instead of a cache's folder: nothing is kept


def cache_home() -> Path:
    """SOZO_CACHE, by default ~/.cache/sozo."""
    try:
        return Path(os.environ.get("SOZO_CACHE") or Path.home() / ".cache" / "sozo")
    except RuntimeError:
        raise UserError(
            "nobody knows where your home is; set SOZO_CACHE to a folder"
        ) from None


def make_cache(folder: Path) -> Path:
    """The folder of a cache, made if it is missing; UserError where nothing can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written ({error.strerror}); {_OTHER}"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"{folder}: cannot be written; {_OTHER}")
    return folder


def vector_folder() -> Path:
    """Where slow encoders keep the vectors of every word that they saw."""
    return cache_home() / "vectors"
