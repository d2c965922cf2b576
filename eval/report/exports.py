"""The tables of a page as files: CSV with all digits, and LaTeX that says what the page shows."""

import base64
import csv
import io
import re
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

from sozo.data.record import write_whole
from sozo.data.schema import utf8_safe
from sozo.eval.report.labels import english
from sozo.eval.report.names import Names
from sozo.eval.report.page_table import PageTable
from sozo.scoring.measure import DASH, Cell

_FIRST = ("value", "low", "high", "n", "of")
# A spreadsheet takes a text that begins so for a formula; full-width letters do too in Japanese ones.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "−": "$-$",
    "≤": r"$\le$",
    "[": "{[}",
    "*": "{*}",  # behind the end of a row they would belong to it
}


def write_tables(folder: Path, tables: Iterable[PageTable]) -> None:
    """Write every table, and the paper's beside it, as `NAME.csv` and `NAME.tex`; the names are those of the page."""
    names = Names()
    for table in tables:
        name = names.new(table.name)
        parts = [(name, table)] + ([(paper_name(name), table.papers)] if table.papers else [])
        parts += [(seeds_name(name), table.each)] if table.each else []
        for file, content in (file for name, part in parts if part.rows for file in files(part, name)):
            write_whole(folder / file, content)


def paper_name(name: str) -> str:
    """The name of the paper's table beside one."""
    return f"{name}-paper"


def seeds_name(name: str) -> str:
    """The name of the table of a table's seeds."""
    return f"{name}-seeds"


def links(table: PageTable, name: str) -> list[tuple[str, str]]:
    """Of a table on its page: the files' names, and addresses that hold the files themselves."""
    opening = "data:text/plain;charset=utf-8;base64,"
    return [(file, opening + base64.b64encode(content).decode()) for file, content in files(table, name)]


def files(table: PageTable, name: str) -> list[tuple[str, bytes]]:
    """Names and contents."""
    return [
        # With a byte-order mark, without which a spreadsheet garbles Japanese.
        (f"{name}.csv", utf8_safe(csv_text(table)).encode("utf-8-sig")),
        (f"{name}.tex", utf8_safe(latex(table, name)).encode()),
    ]


def csv_text(table: PageTable) -> str:
    """A line for each row; behind each column those of its interval, its n of N, its change, the paper's figure.

    Numbers have all their digits, and shares are from 0 to 1.
    """
    first, *columns = map(english, table.columns)
    headings: list[str | float] = [first, *(["from"] if table.against else [])]
    rows: list[list[str | float]] = [[_name(table, name)] for name, _ in table.rows]
    if table.against:
        for row, (name, _) in zip(rows, table.rows, strict=True):
            row.append(table.against.get(name, ""))
    for column, heading in enumerate(columns):
        cells = [_exact(cells[column]) for _, cells in table.rows]
        parts = dict.fromkeys((*_FIRST, *(part for cell in cells for part in cell)))
        # What no cell of the column has gets no column of its own.
        for part in [part for part in parts if any(part in cell for cell in cells)] or ["value"]:
            headings.append(heading if part == "value" else f"{heading} {part}")
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell.get(part, ""))
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
    for line in (headings, *rows):
        writer.writerow([_safe(value) if isinstance(value, str) else value for value in line])
    return file.getvalue()


def _exact(cell: Cell) -> dict[str, float | str]:
    """The numbers of a cell; of one that has none, its text."""
    exact = dict(cell.exact)
    if not exact and cell.value != DASH:
        exact["value"] = cell.value
    if cell.why:
        exact.setdefault("reason", english(cell.why))
    return exact | ({"paper": cell.paper} if cell.paper else {})


def _name(table: PageTable, name: str) -> str:
    return english(name) if table.translate else name


def _safe(text: str) -> str:
    """A text in one line, which no spreadsheet runs.

    >>> _safe("=1+1"), _safe("a=b")
    ("'=1+1", 'a=b')
    """
    text = _line(text)
    return f"'{text}" if _FORMULA.match(text) else text


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def latex(table: PageTable, name: str) -> str:
    """A `table` of the package booktabs: each cell's number, and below it in small what stands below it on the page."""
    first, *columns = table.columns
    starred = any(_star(cell) for _, cells in table.rows for cell in cells)
    note = " $^{*}$: corrected p below 0.05." if starred else ""
    lines = [
        "% \\usepackage{booktabs}; where there is Japanese, LuaLaTeX or upLaTeX with a Japanese class",
        "\\begin{table}\n\\centering",
        f"\\caption{{{escape(english(table.name))}.{note}}}\n\\label{{tab:{name}}}",
        f"\\begin{{tabular}}{{l{'r' * len(columns)}}}\n\\toprule",
        " & ".join(escape(english(column)) for column in (first, *columns)) + r" \\",
        "\\midrule",
    ]
    for row, cells in table.rows:
        base = [f"from {table.against[row]}"] if row in table.against else []
        stacks = [[escape(_name(table, row)), *map(_small, base)], *map(_stack, cells)]
        lines += [" & ".join(line) + r" \\" for line in zip_longest(*stacks, fillvalue="")]
    return "\n".join([*lines, "\\bottomrule\n\\end{tabular}\n\\end{table}\n"])


def _stack(cell: Cell) -> list[str]:
    """The lines of a cell, of which a significant difference has a star."""
    star = _star(cell)
    change = cell.change if cell.change not in cell.hover else ""
    small = [*cell.small, *filter(None, cell.hover.split("; ")), change, cell.paper and f"paper {cell.paper}"]
    lines = [_small(line) + star * (bool(cell.change) and cell.change in line) for line in small if line]
    return [escape(cell.value) + ("" if cell.change else star), *lines]


def _star(cell: Cell) -> str:
    return "$^{*}$" if cell.mark.startswith(("up", "down")) else ""


def _small(text: str) -> str:
    return f"{{\\scriptsize {escape(text)}}}"


def escape(text: str) -> str:
    r"""A text as LaTeX, in one line.

    >>> escape("50% of a_b"), escape("x--y"), escape(r"\input{x}")
    ('50\\% of a\\_b', 'x-{}-y', '\\textbackslash{}input\\{x\\}')
    """
    shown = "".join(_LATEX.get(character, character) for character in re.sub("-(?=-)", "-\0", _line(text)))
    return shown.replace("\0", "{}")
