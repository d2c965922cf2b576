"""What a file holds that somebody names: a pipe or a device, which may never end, is none."""

import os
import re
import stat
from pathlib import Path

from sozo.data.errors import UserError

# What a file is that is given for another one, by its first bytes, and what to do with it. GGUF's version and UTF-16
# without a mark are looked at since a text may begin with the letters.
_FIRST_BYTES = {
    rb"\$FL[23]@\(#\)": "is an SPSS file; save it in SPSS as CSV in UTF-8",
    rb"PK\x03\x04": "is a zip archive, or an Excel file of another name; unpack it, or call it .xlsx",
    rb"\xd0\xcf\x11\xe0": "is a file of an old Office, or one with a password; save it as .xlsx without one",
    rb"%PDF-": "is a PDF; give the table from which it was made",
    rb"\x1f\x8b\x08": "is packed by gzip; unpack it",
    rb"\xff\xfe|\xfe\xff|(?:[\t\r\n -~]\0){4}|(?:\0[\t\r\n -~]){4}": "is in UTF-16; save it as UTF-8",
    rb"GGUF[\1-\t]\0\0\0": "is a model in GGUF, for llama.cpp; give a folder with safetensors",
    rb"version https://git-lfs\.github\.com/spec/": "is a pointer of Git LFS to a large file that was not fetched; run git lfs pull where it came from",
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
    """UserError for a file that is of another kind by its first bytes, such as UTF-16 or a large-file pointer."""
    if content is None:
        with path.open("rb") as file:
            content = file.read(64)
    for first, what in _FIRST_BYTES.items():
        if re.match(first, content):
            raise UserError(f"{path}: {what}")
