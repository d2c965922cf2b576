"""What a file holds that somebody names: a pipe or a device, which may never end, is none."""

import os
import stat
from pathlib import Path

from sozo.data.errors import UserError


def contents(path: Path) -> bytes:
    """The bytes of a file; UserError for a pipe or a device, which may never end. What opens a file raises OSError."""

    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)

    with open(path, "rb", opener=at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UserError(f"{path}: is a pipe or a device; give a file")
        return file.read()


_KINDS = {
    b"GGUF": "a GGUF file",
    b"version https://git-lfs": "the pointer of Git LFS to a file (git lfs pull gets it)",
}


def kind_of(path: Path) -> str:
    """What a file is by its first bytes, such as a GGUF file; "" where these do not say."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        head = file.read(32)
    return next((kind for mark, kind in _KINDS.items() if head.startswith(mark)), "")


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, each line ended by a line feed."""
    return contents(path).decode().replace("\r\n", "\n").replace("\r", "\n")
