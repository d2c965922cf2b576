"""The tables in LaTeX: what stands in one, and that no text from outside is a command."""

import re

from sozo.eval.report.exports import latex
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import Cell, Table, TableRow

SCORE = Measure("a", 2)
HOSTILE = r"[a] 50%_of &#1 {x} ~^ $y$ \end{tabular} \\[2pt] <a|b> --"


def by_hand():
    """Six columns, of which one has intervals."""
    mean = Cell(Estimate(0.5, 0.4, 0.6, 34), SCORE, of=35)
    rows = [
        TableRow(name, (mean, Cell.share(9, 36), *map(Cell, (2, 3, 4)), Cell(1200)))
        for name in ("org/base", "m_1")
    ]
    columns = ("model", "mean", "b", "c", "d", "std", "usable")
    return Table("overview", columns, tuple(rows))


def test_a_table_fits_the_columns_of_its_page():
    head = latex(by_hand(), "o").split("\\midrule")[0]
    assert "Model & Score & b & c & d & Std & Usable \\\\" in head
    assert "\\begin{table*}\n" in head
    few = Table("few", ("model", "mean"), (TableRow("m", (Cell(1),)),))
    assert "\\begin{table}\n" in latex(few, "few")
    rows = tuple(TableRow(f"m{k}", (Cell(k),)) for k in range(60))
    long = Table("long", ("model", "mean"), rows)
    assert "\\begin{longtable}" in latex(long, "long")


def test_text_from_outside_is_no_command():
    text = latex(
        Table(
            "overview",
            ("model", "mean"),
            (TableRow(HOSTILE + "\n\x00\x1b%", (Cell(HOSTILE),)),),
        ),
        "overview",
    )
    row = text.splitlines()[-4]
    assert row.count(" & ") == 1
    assert row.endswith(r" \\")
    assert re.findall(r"(?<!\\)[%#$~^]", row) == []
    assert set(re.findall(r"\\[a-z]+", row)) <= {
        *(
            rf"\text{name}"
            for name in (
                "asciitilde",
                "asciicircum",
                "backslash",
                "less",
                "greater",
                "bar",
            )
        ),
        r"\allowbreak",
        r"\space",
    }
