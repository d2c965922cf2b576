"""The folder of a study's command: a page in Markdown, its numbers in JSON, its charts; and how it is printed."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sozo.data.record import write_json, write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.report import source
from sozo.eval.terminal import print_lines
from sozo.scoring.table import Content, markdown, tabulate

PageRow = Mapping[
    str, Content
]  # heading -> what stands there; a bare number is a count


@dataclass(frozen=True, slots=True)
class PageRun:
    """The result of a command that compares runs."""

    folder: Path
    page: str  # the page in Markdown
    files: tuple[str, ...]  # names of what the folder holds, for people


def print_page(run: PageRun) -> None:
    """A finished comparison: its page, and where its files are."""
    print_lines([run.page, *(str(run.folder / name) for name in run.files)])


class PageFolder(RunFolder):
    """A run's folder whose result is the page `NAME.md` of some `inputs`, beside files that are added."""

    def __init__(
        self, path: Path, settings: dict[str, Any], name: str, inputs: str = ""
    ) -> None:
        digest = hashlib.sha256(inputs.encode()).hexdigest()
        super().__init__(path, {"task": name, **settings, "inputs_sha256": digest})
        self.page = f"{name}.md"
        self.files = list[str]()

    def add(self, name: str, content: bytes | dict[str, Any]) -> None:
        """Write one more file, bytes as they are and numbers as JSON."""
        if isinstance(content, dict):
            write_json(self.path / name, content)
        else:
            write_whole(self.path / name, content)
        self.files.append(name)

    def publish(self, page: str, metrics: dict[str, Any]) -> PageRun:
        """Write the page and the result."""
        self.add(self.page, page.encode())
        self.finish({**metrics, "files": self.files})
        return PageRun(self.path, page, tuple(self.files))


def page_table(rows: Sequence[PageRow]) -> str:
    """Rows as a table in Markdown, of the columns in which something stands; nothing without rows.

    >>> print(page_table([{"Model": "a|b", "Of": None}, {"Model": "c", "Answers": 1200}]), end="")
    | Model | Answers |
    |-------|---------|
    | a\\|b  | –       |
    | c     | 1,200   |
    """
    headings = dict.fromkeys(
        heading
        for row in rows
        for heading, content in row.items()
        if content not in (None, "")
    )
    filled = [{heading: row.get(heading) for heading in headings} for row in rows]
    return markdown(tabulate("", filled)) if rows else ""


def standalone(chart: str) -> bytes:
    """A chart of `sozo.eval.report.svg` as a file of its own, light and dark, with the page's colours."""
    light, dark = re.findall(r"^.*?^}$", source("style.css"), re.DOTALL | re.MULTILINE)[
        :2
    ]
    style = (
        f"<style>{light}\n{dark}\nsvg {{ font-family: system-ui, sans-serif; }}</style>"
    )
    opening, content = chart.split(">", 1)
    return f"{opening}>{style}{content}".encode()
