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
from sozo.data.sheet import as_text
from sozo.eval.report.labels import english
from sozo.eval.report.names import Names
from sozo.scoring.table import Cell, Row, Table

_FIRST = ("value", "low", "high", "n", "of")
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


def write_tables(folder: Path, tables: Iterable[Table]) -> None:
    """Write every table, and the paper's below it, as `NAME.csv` and `NAME.tex`; the names are those of the page."""
    names = Names()
    for table in tables:
        name = names.new(table.name)
        for part_name, part in ((name, table), (paper_name(name), table.papers)):
            for file, content in files(part, part_name) if part and part.rows else ():
                write_whole(folder / file, content)


def paper_name(name: str) -> str:
    """The name of the paper's table beside one."""
    return f"{name}-paper"


def links(table: Table, name: str) -> list[tuple[str, str]]:
    """Of a table on its page: the files' names, and addresses that hold the files themselves."""
    opening = "data:text/plain;charset=utf-8;base64,"
    return [(file, opening + base64.b64encode(content).decode()) for file, content in files(table, name)]


def files(table: Table, name: str) -> list[tuple[str, bytes]]:
    """Names and contents."""
    return [
        # With a byte-order mark, without which a spreadsheet garbles Japanese.
        (f"{name}.csv", utf8_safe(csv_text(table)).encode("utf-8-sig")),
        (f"{name}.tex", utf8_safe(latex(table, name)).encode()),
    ]


def csv_text(table: Table) -> str:
    """A line for each row; behind each column those of its interval, its n of N, its change.

    Numbers have all their digits, and shares are from 0 to 1.
    """
    with_base = any(row.base for row in table.rows)
    headings: list[float | str] = [english(table.columns[0]), *(["from"] if with_base else [])]
    lines: list[list[float | str]] = []
    for row in table.rows:
        lines.append([_row_name(table, row), *([row.base] if with_base else [])])
    for k, label in enumerate(table.columns[1:]):
        values = [_values(row.cells[k]) for row in table.rows]
        parts = dict.fromkeys((*_FIRST, *(part for value in values for part in value)))
        # What no cell of the column has gets no column of its own.
        for part in [part for part in parts if any(part in value for value in values)] or ["value"]:
            headings.append(english(label) if part == "value" else f"{english(label)} {part}")
            for line, value in zip(lines, values, strict=True):
                line.append(value.get(part, ""))
    if table.of:  # in every line, since lines are copied out of their file
        headings.append("of")
        for line in lines:
            line.append(english(table.of))
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
    for written in (headings, *lines):
        writer.writerow([as_text(_in_one_line(value)) if isinstance(value, str) else value for value in written])
    return file.getvalue()


def _values(cell: Cell) -> dict[str, float | str]:
    """The numbers of a cell, and why it has none, by name."""
    values = cell.exact
    if cell.why:
        values.setdefault("reason", english(cell.why))
    return values


def _row_name(table: Table, row: Row) -> str:
    return english(row.name) if table.translate else row.name


def _in_one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def latex(table: Table, name: str) -> str:
    """A `table` of the package booktabs: each cell's number, and below it in small what stands below it on the page."""
    starred = any(_star(cell) or _star(cell.change) for row in table.rows for cell in row.cells)
    note = f" {escape(english(table.of))}." if table.of else ""
    note += " $^{*}$: the 95\\% interval leaves 0." if starred else ""
    lines = [
        "% \\usepackage{booktabs}; where there is Japanese, LuaLaTeX or upLaTeX with a Japanese class",
        "\\begin{table}\n\\centering",
        f"\\caption{{{escape(english(table.name))}.{note}}}\n\\label{{tab:{name}}}",
        f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}\n\\toprule",
        " & ".join(escape(english(column)) for column in table.columns) + r" \\",
        "\\midrule",
    ]
    for row in table.rows:
        base = [_small(f"from {row.base}")] if row.base else []
        stacks = [[escape(_row_name(table, row)), *base], *map(_stack, row.cells)]
        lines += [" & ".join(line) + r" \\" for line in zip_longest(*stacks, fillvalue="")]
    return "\n".join([*lines, "\\bottomrule\n\\end{tabular}\n\\end{table}\n"])


def _stack(cell: Cell) -> list[str]:
    """The lines of a cell, of which a significant difference has a star."""
    lines = [escape(cell.text) + _star(cell)]
    if cell.heat and cell.interval:
        lines.append(_small(f"95%: {cell.interval}"))
    lines += map(_small, cell.lines)
    if cell.change is not None:
        lines.append(_small(f"{cell.change.text} {cell.change.interval}".strip()) + _star(cell.change))
    return lines


def _star(cell: Cell | None) -> str:
    return "$^{*}$" if cell and cell.mark.startswith(("up", "down")) else ""


def _small(text: str) -> str:
    return f"{{\\scriptsize {escape(text)}}}"


def escape(text: str) -> str:
    r"""A text as LaTeX, in one line.

    >>> escape("50% of a_b"), escape("x--y"), escape(r"\input{x}")
    ('50\\% of a\\_b', 'x-{}-y', '\\textbackslash{}input\\{x\\}')
    """
    shown = "".join(_LATEX.get(character, character) for character in re.sub("-(?=-)", "-\0", _in_one_line(text)))
    return shown.replace("\0", "{}")
