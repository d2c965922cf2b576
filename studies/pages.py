"""The folder of a study's command: a page in Markdown, its numbers in JSON, its charts; and how it is printed."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sozo.data.record import write_json, write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.report import source
from sozo.eval.terminal import print_lines
from sozo.scoring.table import Content, markdown, tabulate

# Heading -> what stands there; a bare number is a count.
PageRow = Mapping[str, Content]


class PageFolder(RunFolder):
    """A run's folder whose result is the page `NAME.md` of some `inputs`, beside files that are added."""

    def __init__(
        self, path: Path, settings: dict[str, Any], name: str, inputs: str = ""
    ) -> None:
        digest = hashlib.sha256(inputs.encode()).hexdigest()
        super().__init__(path, {"task": name, **settings, "inputs_sha256": digest})
        self._name = f"{name}.md"

    @property
    def page(self) -> str:
        """The page, in Markdown."""
        return (self.path / self._name).read_text("utf-8")

    def add(self, name: str, content: bytes | dict[str, Any]) -> None:
        """Write one more file, bytes as they are and numbers as JSON."""
        write: Any = write_json if isinstance(content, dict) else write_whole
        write(self.path / name, content)

    def publish(self, page: str, metrics: dict[str, Any]) -> Self:
        """Write the page and the result."""
        self.add(self._name, page.encode())
        self.finish(metrics)
        return self


def print_page(folder: PageFolder) -> None:
    """A finished comparison: its page, and where its files are."""
    print_lines([folder.page, f"All files: {folder.path}"])


def page_table(rows: Sequence[PageRow]) -> str:
    """Rows as a table in Markdown, of the columns in which something stands; nothing without rows.

    >>> print(page_table([{"Model": "a|b", "Of": None}, {"Model": "c", "Answers": 1200}]), end="")
    | Model | Answers |
    |-------|---------|
    | a\\|b  | –       |
    | c     | 1,200   |
    """
    filled = {
        heading: None
        for row in rows
        for heading, content in row.items()
        if content not in (None, "")
    }
    table = tabulate("", [{k: row.get(k) for k in filled} for row in rows])
    return markdown(table) if rows else ""


def standalone(chart: str) -> bytes:
    """A chart of `sozo.eval.report.svg` as a file of its own, light and dark, with the page's colours."""
    colours = re.findall(r"^.*?^}$", source("style.css"), re.DOTALL | re.MULTILINE)[:2]
    opening, content = chart.split(">", 1)
    style = f"{''.join(colours)} svg {{ font-family: system-ui, sans-serif; }}"
    return f"{opening}><style>{style}</style>{content}".encode()
