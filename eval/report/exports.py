"""The tables of a page as files, by pandas: CSV with all digits, and LaTeX that fits the page of a paper."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.foreign import printable
from sozo.data.record import write_whole
from sozo.data.sheet import as_text
from sozo.eval.report.labels import english
from sozo.eval.report.names import Names
from sozo.scoring.table import Cell, Table

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


def csv_of(frame: "pd.DataFrame") -> bytes:
    """A data frame as CSV for a spreadsheet, in which no text is a formula."""

    def plain(value: Any) -> Any:
        return as_text(printable(value)) if isinstance(value, str) else value

    texts = frame.map(plain)
    texts.columns = [plain(name) for name in texts]
    # With a byte-order mark, without which a spreadsheet garbles Japanese.
    return bytes(texts.to_csv(index=False).encode("utf-8-sig"))


def csv_file(table: Table) -> bytes:
    """A line for each row; behind each column those of its interval, its n of N, its change.

    Numbers have all their digits, and shares are from 0 to 1.
    """
    import pandas as pd

    first, *others = table.columns
    headings = first, "from", *others, "caveats", "caveats of all rows"
    # In every line, since lines are copied out of their file.
    scope = Cell(english(table.scope) or None)
    rows = [
        (
            Cell(row.name),
            Cell(row.base or None),
            *row.cells,
            Cell("; ".join(map(english, row.caveats)) or None),
            scope,
        )
        for row in table.rows
    ]
    columns = []
    for label, *cells in zip(headings, *rows, strict=True):
        lines = [
            dict.fromkeys(_PARTS) | {"reason": english(cell.why) or None} | cell.exact
            for cell in cells
        ]
        values = pd.DataFrame(lines, dtype=object)
        heading = _label(label)
        values.columns = [f"{heading} {part}".removesuffix(" value") for part in values]
        columns.append(values.dropna(axis="columns", how="all"))
    return csv_of(pd.concat(columns, axis=1))


def _label(key: str) -> str:
    return printable(english(key)).strip()


def latex(table: Table, name: str) -> str:
    """A `table` of booktabs, or of more than three columns a `table*`, which the columns share: their texts break.

    In each cell stands the number, in small below it its interval, its n and what else it must not be read without. What
    is longer than a page is a `longtable`, which needs a text in one column.
    """
    first, *headings = map(_label, table.columns)
    rows = [
        [
            _lines(row.name, *map(english, row.below)),
            *(_lines(c.arrow + c.text, *map(english, c.lines)) for c in row.cells),
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
            rf"\sloppy {escape(_sentences(table.name, table.scope, *table.notes))}",
            escape(english(table.name)),
        ),
        label=f"tab:{name}",
    )
    head = "% \\usepackage{array, booktabs, longtable}; Japanese: LuaLaTeX with luatexja, or upLaTeX\n"
    # In the file, whatever becomes of its caption.
    if notes := escape(_sentences(*table.caveats)):
        notes = f"{{\\footnotesize\\raggedright {notes}\\par}}\n"
    text = re.sub(
        r"\\end\{(?:tabular|longtable)\}\n", lambda end: end[0] + notes, text, count=1
    )
    return head + text.replace(
        "\\centering\n", "\\centering\\setlength{\\belowcaptionskip}{4pt}\n", 1
    )


def _sentences(*texts: str) -> str:
    return " ".join(f"{english(text).rstrip('.')}." for text in texts if text)


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
