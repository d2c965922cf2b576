"""What a file holds that somebody names: a pipe or a device, which may never end, is none."""

import os
import re
import stat
from pathlib import Path

from sozo.data.errors import UserError

# What a file is that is given for another one, by its first bytes, and what to do with it. GGUF's version and UTF-16
# without a mark are looked at since a text may begin with such letters.
_FIRST_BYTES = {
    rb"\$FL[23]@\(#\)": "is an SPSS file; save it in SPSS as CSV in UTF-8",
    rb"PK\x03\x04": "is a zip archive, as .xlsx, .ods and .numbers are; unpack it, call it .xlsx, or save it as CSV UTF-8",
    rb"\xd0\xcf\x11\xe0": "is of an old Office, or has a password; save it as .xlsx without one",
    rb"\xff\xfe|\xfe\xff|([\t-~]\0){4}|(\0[\t-~]){4}": "is in UTF-16; save it as UTF-8",
    rb"GGUF[\1-\t]\0\0\0": "is a model in GGUF, for llama.cpp; give a folder with safetensors",
    rb"version https://git-lfs": "is a pointer of Git LFS to a file that was not fetched; run git lfs pull where it is from",
}


def contents(path: Path) -> bytes:
    """The bytes of a file; UserError for a pipe or a device, which may never end. What opens a file raises OSError."""

    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)

    with open(path, "rb", opener=at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UserError(f"{path}: is a pipe or a device; give a file")
        return file.read()


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, each line ended by a line feed."""
    return contents(path).decode().replace("\r\n", "\n").replace("\r", "\n")


def refuse_other(path: Path, content: bytes | None = None) -> None:
    """UserError for a file that is of another kind by its first bytes, such as UTF-16 or a large-file pointer.

    Of a folder the files of a model are looked at.
    """
    if content is None and path.is_file():
        with path.open("rb") as file:
            content = file.read(64)
    elif content is None:
        for inner in (*path.glob("*.safetensors"), *path.glob("*.json")):
            refuse_other(inner)
    for first, what in _FIRST_BYTES.items():
        if content and re.match(first, content):
            raise UserError(f"{path}: {what}")
