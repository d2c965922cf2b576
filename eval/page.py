"""A finished comparison: a page in Markdown and the files of its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PageRun:
    """The result of a command that compares runs.

    Args:
        folder: Its folder.
        page: The page in Markdown.
        files: Names of what the folder holds, for people.
        finished_before: Whether nothing was computed, since an earlier call had finished.
        stopped: Why it is not finished, if it is not.
    """

    folder: Path
    page: str
    files: tuple[str, ...]
    finished_before: bool
    stopped: str | None = None
