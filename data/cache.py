"""Where sozo keeps what it can make again: the embedded model, the vectors of slow encoders."""

import os
from pathlib import Path

NO_CACHE = Path("none")  # instead of a cache's folder: nothing is kept


def cache_home() -> Path:
    """SOZO_CACHE, by default ~/.cache/sozo."""
    return Path(os.environ.get("SOZO_CACHE", Path.home() / ".cache" / "sozo"))


def vector_folder() -> Path:
    """Where slow encoders keep the vectors of every word that they saw."""
    return cache_home() / "vectors"
