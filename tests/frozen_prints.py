"""Numbers in what is written for people: `report.json`, tables as CSV, LaTeX, on a page, in a terminal.

Files and texts alone are read here, whatever made them, for `freeze.py`.
"""

import base64
import csv
import gzip
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]  # where, model, base, task, measure, what, by, value
PARTS = {"mean": "mean", "difference": "difference", "deviations": "difference", "value": "value", "low": "low"}
PARTS |= {"high": "high", "n": "n", "of": "N", "base_n": "base n", "effect": "effect", "p": "p", "level": "level"}
NUMBER = re.compile(r"[+−-]?(?<![A-Za-z@])\d[\d,]*(?:\.\d+)?(?: ?pp|%)?")
IN_JAPANESE = re.compile(r'<span lang="ja">.*?</span>', re.DOTALL)


def weighted(values: Sequence[float]) -> float:
    """Changes if any value does, or if two change places."""
    return sum((1 + k % 7 + k / 97) * value for k, value in enumerate(values))


def leaves(values: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a JSON value after its path; of names in it, no texts."""
    if isinstance(values, bool | int | float):
        yield path, float(values)
    elif isinstance(values, Mapping):
        for name, value in values.items():
            yield from leaves(value, f"{path}.{name}" if path else str(name))
    elif isinstance(values, list):
        for k, value in enumerate(values):
            yield from leaves(value, f"{path}.{k}")


def of_json(report: Mapping[str, Any]) -> Iterator[Row]:
    """`report.json`."""
    for run in report["runs"]:
        for path, value in leaves(run["metrics"]):
            yield "json", run["model"], "", run["run"], path, "value", "", value
    for kind in ("changes", "over_seeds", "gains", "outcomes"):
        for one in report.get(kind, []):
            measure = one.get("column") or one.get("measure", {}).get("name") or ""
            task = one.get("task") or measure.partition("/")[0]
            numbers = {name: value for name, value in one.items() if name not in ("measure", "bounds")}
            for k, bound in enumerate(one.get("bounds", [])):
                numbers[f"bound {bound['measure']['name']} {bound['encoder'] or k}"] = bound["change"]
            for path, value in leaves(numbers):
                yield "json", one["model"], one["base"], task, f"{kind} {measure}", PARTS.get(path, path), "", value


def of_csv(file: Path) -> Iterator[Row]:
    """A table as CSV: all cells that are numbers. Headings without what follows a comma, which says who judged."""
    with file.open(encoding="utf-8-sig", newline="") as text:
        headings, *lines = csv.reader(text)
    for model, *cells in lines:
        named = dict(zip(headings[1:], cells, strict=True))
        base = named.pop("from", "")
        for heading, cell in named.items():
            if (value := as_number(cell)) is not None:
                yield "csv", model, base, file.stem, plain_heading(heading), "value", "", value


def plain_heading(heading: str) -> str:
    part = re.search(r" (?:low|high|n|of|effect|p|level|base_n|(?:change|log_ratio)\S*)$", heading)
    return heading.partition(",")[0] + (part[0] if part and "," in heading else "")


def as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def of_latex(file: Path) -> Iterator[Row]:
    """A table in LaTeX: of each cell what is printed, in one text."""
    if file.stem.endswith("-paper"):
        return
    text = file.read_text("utf-8")
    for sign, plain in {
        r"\%": "%",
        "$-$": "−",
        "{[}": "[",
        r"\allowbreak{}": "",
        r"\_": "_",
        r"\hspace{0pt}": "",
    }.items():
        text = text.replace(sign, plain)
    body = [line for line in text.splitlines() if " & " in line or line.endswith(r"\\")]
    headings = [heading.removesuffix(r"\\").strip() for heading in body[0].split(" & ")]
    for line in body:
        model, *cells = (cell.removesuffix(r"\\").strip() for cell in line.split(" & "))
        if len(cells) + 1 == len(headings) and cells != headings[1:]:
            for heading, cell in zip(headings[1:], cells, strict=True):
                if printed := numbers_in(cell):
                    name = model.partition(r"\par")[0]
                    yield "latex", name, "", file.stem, heading.partition(",")[0], "printed", "", printed


def numbers_in(text: str) -> str:
    """The numbers of a text in their order, as printed."""
    return " ".join(NUMBER.findall(text))


class Tables(HTMLParser):
    """The tables of a page: title, and rows of cells; a cell is its English text and its `data-value`."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[tuple[str, list[list[tuple[str, str]]]]] = []
        self.title, self.inside, self.skipped = "", False, 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if self.skipped or (tag == "span" and (given.get("lang") == "ja" or given.get("class") == "heard")):
            self.skipped += tag == "span"
        elif tag == "div" and given.get("role") == "region":
            self.title = given.get("aria-label") or ""
        elif tag == "table":
            self.tables.append((self.title, []))
        elif tag == "tr" and self.tables:
            self.tables[-1][1].append([])
        elif tag in ("td", "th") and self.tables:
            self.tables[-1][1][-1].append(("", given.get("data-value") or ""))
            self.inside = True
        elif self.inside:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if self.skipped:
            self.skipped -= tag == "span"
        elif tag in ("td", "th"):
            self.inside = False
        elif self.inside:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        if self.inside and not self.skipped:
            text, value = self.tables[-1][1][-1][-1]
            self.tables[-1][1][-1][-1] = text + data, value


def of_page(text: str) -> Iterator[Row]:
    """A page: the number behind a cell; what is printed there, in sentences, at points of pictures; scores to read.

    Not the papers' own tables, which stand in the CSV, and not when and with which code a model ran.
    """
    for title, (headings, *lines) in of_tables(text):
        if title.startswith("The paper") or title.endswith("what was run"):
            continue
        for (name, _), *cells in lines:
            for (heading, _), (shown, value) in zip(headings[1:], cells, strict=True):
                names = (" ".join(name.split()[:1]), "", title.partition(",")[0], heading.strip().partition(",")[0])
                if (number := as_number(value)) is not None:
                    yield "page", *names, "value", "", number
                if printed := numbers_in(shown):
                    yield "page", *names, "printed", "", printed
    for _, paragraph in re.findall(r"<(p|li)\b[^>]*>(.*?)</\1>", text.replace("<wbr>", ""), re.DOTALL):
        said = html.unescape(re.sub(r"<[^>]+>", "", IN_JAPANESE.sub("", paragraph))).strip()
        if not said.startswith("sozo ") and (printed := numbers_in(re.sub(r"\d{4}-\d\d-\d\d", "", said))):
            yield "page", "", "", "", "line", "printed", "", printed
    for tip in re.findall(r"<title>([^<]+)</title>", text.split("<body", 1)[-1]):
        name, _, numbers = html.unescape(tip).rpartition(": ")
        if printed := numbers_in(numbers):
            yield "picture", name, "", "", "", "printed", "", printed
    packed = json.loads(gzip.decompress(base64.b64decode(re.search(r'id="packed">([^<]+)<', text)[1])))
    numbers = [value for _, value in leaves(packed)]
    yield "reader", "", "", "", "", "n", "", len(numbers)
    yield "reader", "", "", "", "", "weighted sum", "", weighted(numbers)


def terminal(show: Callable[[], Any]) -> Iterator[Row]:
    """What is printed on a terminal as wide as needed: the cells of tables, and numbers in all other lines."""
    with redirect_stdout(StringIO()) as out:
        show()
    starts, headings, title, name, before, previous = [], [], "", "", "", ""
    for line in out.getvalue().splitlines():
        if starts and line.strip():
            cells = [line[a:b].strip() for a, b in pairwise([*starts, None])]
            if cells[0] and not cells[0].startswith(("from ", "mean over ")):
                name = cells[0]
            for heading, cell in zip(headings[1:], cells[1:], strict=True):
                if printed := numbers_in(cell):
                    if headings[0] == "Source":
                        yield "terminal", "", "", "", name, "printed", "", printed
                    else:
                        yield "terminal", name, "", title, heading.partition(",")[0], "printed", "", printed
        elif set(line.strip()) == {"─"}:
            title = before.partition(",")[0].partition("(")[0].strip()
            found = list(re.finditer(r"\S+(?: \S+)*", previous))
            starts, headings = [match.start() for match in found], [match[0] for match in found]
        elif not line.strip():
            starts = []
        elif (printed := numbers_in(line)) and "/" not in line[:1]:
            who, colon, _ = line.partition(":")
            yield "terminal", who if colon else "", "", "", "line", "printed", "", printed
        if line.strip():
            before, previous = previous, line


def of_tables(text: str) -> list[Any]:
    page = Tables()
    page.feed(text.replace("<wbr>", ""))
    return [table for table in page.tables if table[1]]
