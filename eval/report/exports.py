"""The tables of a page as files, by pandas: CSV with all digits, and LaTeX that fits the page of a paper."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.foreign import printable
from sozo.data.record import write_whole
from sozo.data.sheet import as_text
from sozo.eval.report.labels import english, labels, states
from sozo.eval.report.names import Names
from sozo.scoring.measure import MEAN
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import Translatable, translatable

_PARTS = ("value", "low", "high", "n", "of")
if TYPE_CHECKING:
    import pandas as pd

_MOST_LINES = 24  # of a table on one page, beside its caption
_ONE_COLUMN = 3  # so many columns of numbers fit one of a two-column page
_FORMAT = (  # so many columns of numbers, each as wide as one of so many: they break where their line ends
    r"@{}>{\footnotesize\raggedright}p{.25\linewidth}"
    r"*{%d}{@{\hspace{6pt}}>{\footnotesize\raggedleft\arraybackslash\hspace{0pt}}p{\dimexpr.75\linewidth/%d-6pt}}@{}"
)
# Signs of ours, and what pandas leaves as it is though LaTeX makes another sign of it, or an argument of what precedes.
_TEX = str.maketrans(
    {
        "`": r"\textasciigrave{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "*": "{*}",
    }
    | {
        "−": "$-$",
        "–": "--",
        "×": r"$\times$",
        "≤": r"$\le$",
        "≥": r"$\ge$",
        "▲": r"$^{\uparrow}$",
        "▼": r"$^{\downarrow}$",
    }
    # A cell's lines below the first are small; the space of no width lets LaTeX hyphenate their first words.
    | {"\u200b": r"\allowbreak{}", "\n": r"\par\scriptsize\hspace{0pt}"}
)


def write_tables(folder: Path, tables: Sequence[Table]) -> None:
    """Write every table, and the paper's below it, as `NAME.csv`; the names are those of the page."""
    names = Names()
    for table in tables:
        name = names.new(table.name)
        for part_name, part in ((name, table), (f"{name}-paper", table.papers)):
            if part and part.rows:
                write_whole(folder / f"{part_name}.csv", csv_file(part))


def csv_file(table: Table) -> bytes:
    """Its CSV file."""
    # With a byte-order mark, without which a spreadsheet garbles Japanese.
    return csv_text(table).encode("utf-8-sig")


def csv_of(frame: "pd.DataFrame") -> bytes:
    """A data frame as CSV for a spreadsheet, in which no text is a formula."""
    texts = frame.map(
        lambda value: as_text(printable(value)) if isinstance(value, str) else value
    )
    return bytes(texts.to_csv(index=False).encode("utf-8-sig"))


def csv_text(table: Table) -> str:
    """A line for each row; behind each column those of its interval, its n of N, its change.

    Numbers have all their digits, and shares are from 0 to 1.
    """
    import pandas as pd

    of = Cell(
        english(table.scope) or None
    )  # in every line, since lines are copied out of their file
    headings = (
        table.columns[0],
        "from",
        *table.columns[1:],
        "caveats",
        "caveats of all rows",
    )
    rows = [
        (Cell(row.name), Cell(row.base or None), *row.cells, _caveats(row), of)
        for row in table.rows
    ]
    columns = []
    for label, *cells in zip(headings, *rows, strict=True):
        values = pd.DataFrame(
            [dict.fromkeys(_PARTS) | _values(cell) for cell in cells], dtype=object
        )
        values.columns = [
            as_text(f"{_heading(label)} {part}".removesuffix(" value"))
            for part in values
        ]
        columns.append(values.dropna(axis="columns", how="all"))
    return pd.concat(columns, axis=1).to_csv(index=False)


def _caveats(row: TableRow) -> Cell:
    return Cell("; ".join(map(english, row.caveats)) or None)


def _values(cell: Cell) -> dict[str, object]:
    """The numbers of a cell, and why it has none, by name."""
    values = {"reason": english(cell.why) or None} | cell.exact
    return {
        k: as_text(printable(v)) if isinstance(v, str) else v for k, v in values.items()
    }


def _heading(key: str) -> str:
    """The name of a column, in which states of answers are called as in all files."""
    if key in states():
        return str(key)
    if isinstance(key, Translatable) and key.values.get("kind") in states():
        key = translatable(key.form, **{**key.values, "kind": str(key.values["kind"])})
    return _label(key)


def _label(key: str) -> str:
    return printable(english(key)).strip()


def latex(table: Table, name: str) -> str:
    """A `table` of booktabs, or of more than three columns a `table*`, which the columns share: their texts break.

    In each cell stands the number, in small below it its interval and what else it must not be read without. What is
    longer than a page is a `longtable`, which needs a text in one column.
    """
    first, *headings = map(_label, table.columns)
    differing = {
        k for k in range(len(headings)) if len(_counts(table, k)) > 1
    }  # then each cell says its own, else the caption
    rows = [
        [
            _lines(row.name, *map(english, row.below)),
            *(_stack(cell, k in differing) for k, cell in enumerate(row.cells)),
        ]
        for row in table.rows
    ]
    long = sum(max(cell.count("\n") + 1 for cell in row) for row in rows) > _MOST_LINES
    wide = "table*" if len(headings) > _ONE_COLUMN else "table"
    text = _styled(rows, [first, *map(_breakable, headings)]).to_latex(
        hrules=True,
        column_format=_FORMAT % (len(headings), max(len(headings), _ONE_COLUMN)),
        environment="longtable" if long else wide,
        position_float=None if long else "centering",
        caption=(
            rf"\sloppy {escape(_caption(table, headings))}",
            escape(english(table.name)),
        ),
        label=f"tab:{name}",
    )
    head = "% \\usepackage{array, booktabs, longtable}; Japanese: LuaLaTeX with luatexja, or upLaTeX\n"
    if notes := escape(
        " ".join(f"{english(one)}." for one in table.caveats)
    ):  # in the file, whatever becomes of its caption
        notes = f"{{\\footnotesize\\raggedright {notes}\\par}}\n"
    text = re.sub(
        r"\\end\{(?:tabular|longtable)\}\n", lambda end: end[0] + notes, text, count=1
    )
    return head + text.replace(
        "\\centering\n", "\\centering\\setlength{\\belowcaptionskip}{4pt}\n", 1
    )


def _counts(table: Table, k: int) -> list[str]:
    """Over how many the numbers of a column are, each once; seeds are said by their rows."""
    return list(
        dict.fromkeys(
            row.cells[k].counts
            for row in table.rows
            if not row.seeds and row.cells[k].counts
        )
    )


def _caption(table: Table, headings: Sequence[str]) -> str:
    """What the numbers are, over how many they are, and what stands beside and below them."""
    # A note that is a bare label says what columns mean, at length, and stands on the page.
    notes = [
        note
        for note in table.notes
        if isinstance(note, Translatable) or note not in labels()
    ]
    sentences = [english(text) for text in (table.name, table.scope, *notes)]
    counts: dict[str, list[str]] = {}
    for k, heading in enumerate(headings):
        if len(each := _counts(table, k)) == 1:
            cells = [row.cells[k] for row in table.rows]
            share = any(
                cell.measure.share and cell.kind == MEAN for cell in cells
            )  # it is how many of how many
            said = "" if share or each[0].startswith("n = ") else "n = "
            counts.setdefault(said + english(each[0]), []).append(heading)
    sentences += [f"{'; '.join(columns)}: {count}" for count, columns in counts.items()]
    return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)


def _stack(cell: Cell, with_counts: bool) -> str:
    """The lines of a cell."""
    counts = english(cell.counts) if with_counts else ""
    return _lines(
        cell.arrow + cell.text,
        cell.interval,
        counts,
        *map(english, cell.below),
    )


def _lines(*texts: str) -> str:
    return "\n".join(_breakable(text) for text in texts if text)


def _breakable(text: str) -> str:
    """A text in one line that may go on in the next behind its separators, and within a long word."""
    return re.sub(r"([/_@=:]|[^\W_]{12})(?=[^\W_])", "\\1\u200b", printable(text))


def escape(text: str) -> str:
    r"""A text as LaTeX, in one line or broken behind its separators.

    >>> escape("50% of a_b"), escape("x--y"), escape(r"\input{x}")
    ('50\\% of a\\_\\allowbreak{}b', 'x-{}-y', '\\textbackslash input\\{x\\}')
    """
    return (
        _styled([[_breakable(text)]], [""])
        .hide(axis="columns")
        .to_string()
        .removesuffix("\n")
    )


def _styled(rows: Sequence[Sequence[str]], headings: Sequence[str]) -> Any:
    """A table whose texts pandas escapes for LaTeX."""
    import pandas as pd

    styler = pd.DataFrame(rows, columns=headings).style.hide(axis="index")
    return styler.format(_typeset, escape="latex").format_index(
        _typeset, axis="columns", escape="latex"
    )


def _typeset(escaped: str) -> str:
    return re.sub("-(?=-)", "-{}", escaped).translate(_TEX)
