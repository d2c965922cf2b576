"""A finished comparison: a page in Markdown and the files of its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PageRun:
    """The result of a command that compares runs."""

    folder: Path  # its folder
    page: str  # the page in Markdown
    files: tuple[str, ...]  # names of what the folder holds, for people
    finished_before: bool  # whether nothing was computed, since an earlier call had finished
    stopped: str | None = None  # why it is not finished, if it is not
