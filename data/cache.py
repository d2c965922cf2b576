"""Where sozo keeps what it can make again: the embedded model, the vectors of slow encoders."""

import os
from pathlib import Path


def cache_home() -> Path:
    """SOZO_CACHE, by default ~/.cache/sozo."""
    return Path(os.environ.get("SOZO_CACHE", Path.home() / ".cache" / "sozo"))
