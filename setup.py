"""Refuses to build from a copy whose links to the rooms are plain files: the wheel would be empty, without a word."""

from pathlib import Path

from setuptools import setup

for room in Path("src/sozo").iterdir():
    if room.is_file() and not room.suffix and room.name != "py.typed":
        raise SystemExit(
            f"{room} must be a link to a folder and is a plain file (a ZIP, or a clone without core.symlinks): "
            "install sozo from git+URL or from the tar.gz"
        )
setup()
