"""Where sozo keeps what it can make again: the embedded model, the vectors of slow encoders."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import write_whole

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
        raise _unwritable(folder, f" ({error.strerror})") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(folder)
    return folder


def _unwritable(folder: Path, why: str = "") -> UserError:
    ours = folder.is_relative_to(cache_home())
    remedy = "set SOZO_CACHE to" if ours else "name as embedding_cache"
    return UserError(f"{folder}: cannot be written{why}; {remedy} a folder that can be")


def vector_folder() -> Path:
    """Where slow encoders keep the vectors of every word that they saw."""
    return cache_home() / "vectors"


def kept(name: str, sources: bytes, make: Callable[[], Any]) -> Any:
    """What `make` makes of `sources`, a value of JSON: made once, and read afterwards.

    A file that is damaged, or of other sources, is not read. Where nothing can be kept it is made each time.
    """
    file = f"{name}-{sha256(sources).hexdigest()[:16]}.json"
    with suppress(OSError, UserError):
        digest, _, content = (cache_home() / file).read_bytes().partition(b"\n")
        if digest == sha256(content).hexdigest().encode():
            return json.loads(content)
    value = make()
    content = json.dumps(value, ensure_ascii=False).encode()
    with suppress(UserError):
        digest = sha256(content).hexdigest().encode()
        write_whole(cache_home() / file, digest + b"\n" + content)
    return value
