"""The folder of a comparison: a page in Markdown, and its numbers in JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sozo.data.record import write_json, write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.terminal import PageRun
from sozo.scoring.table import Content, markdown, tabulate

PageRow = Mapping[str, Content]  # heading -> what stands there; a bare number is a count


class PageFolder(RunFolder):
    """A run's folder whose result is the page `NAME.md`.

    Args:
        files: What it holds in the end beside `config.json`, `metrics.json` and the page.
    """

    def __init__(self, path: Path, settings: dict[str, Any], name: str, files: Sequence[str] = ()) -> None:
        super().__init__(path, settings)
        self.page = f"{name}.md"
        self.files = ["config.json", "metrics.json", *files, self.page]

    def finished(self) -> PageRun | None:
        """What an earlier call has written; None where it did not finish, or the folder has lost a file."""
        if (metrics := self.metrics()) is None:
            return None
        files = metrics.get("files", self.files)
        if not all((self.path / name).is_file() for name in files):
            return None
        return PageRun(self.path, (self.path / self.page).read_text("utf-8"), tuple(files), True)

    def add(self, name: str, content: bytes | dict[str, Any]) -> None:
        """Write one more file, bytes as they are and numbers as JSON."""
        if isinstance(content, dict):
            write_json(self.path / name, content)
        else:
            write_whole(self.path / name, content)
        if name not in self.files:
            self.files.append(name)

    def publish(self, page: str, metrics: dict[str, Any], stopped: str | None = None) -> PageRun:
        """Write the page, and the result unless the run was `stopped`."""
        self.add(self.page, page.encode())
        if stopped is None:
            self.finish(metrics)
        return PageRun(self.path, page, tuple(self.files), False, stopped)


def page_table(rows: Sequence[PageRow]) -> str:
    """Rows as a table in Markdown; nothing without rows.

    >>> print(page_table([{"Model": "a|b", "Answers": 1200}]), end="")
    | Model | Answers |
    |-------|---------|
    | a\\|b  | 1,200   |
    """
    return markdown(tabulate("", rows)) if rows else ""
