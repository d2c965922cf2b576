"""The tables in LaTeX: what stands in one, that no text from outside is a command, and that all fit an article."""

import re
import shutil
import subprocess

import pytest

from finished_runs import dat_run, jcq_run, sat_run
from sozo.eval.report.exports import latex
from sozo.eval.report.paper import write_paper
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import Cell, Table, TableRow

SCORE = Measure("a", 2)
HOSTILE = r"[a] 50%_of &#1 {x} ~^ $y$ \end{tabular} \\[2pt] <a|b> --"
ARTICLE = r"""\documentclass[11pt]{article}
\usepackage{array, booktabs, longtable}
\begin{document}
\listoftables
\clearpage
%s\end{document}
"""


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


def models(folder, names):
    """Runs of three tasks of each model, of other values each."""
    for k, name in enumerate(names):
        jcq_run(
            folder / f"{k}/jcq",
            name,
            lambda q, k=k: f"答え{k}",
            lambda q, k=k: (1 + k % 4, 2, 3 + len(q.id) % 2, 4),
        )
        dat_run(folder / f"{k}/dat", name, seed=k, n=40, bad=k % 4)
        sat_run(
            folder / f"{k}/sat",
            name,
            lambda story, k=k: f"{story.id}の話{k}。" * (3 + k),
        )


def typeset(tables):
    """What the log of an article with these tables says of errors, wide lines and long pages."""
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex (Debian: texlive-latex-recommended)")
    folder = tables[0].parent
    inputs = "".join(f"\\input{{{path.name}}}\n\\clearpage\n" for path in tables)
    (folder / "all.ltx").write_text(ARTICLE % inputs, "utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "all.ltx"]
    for _ in range(2):  # the list of tables is that of the pass before
        subprocess.run(words, cwd=folder, capture_output=True, check=False)
    log = (folder / "all.log").read_text("utf-8", errors="replace")
    pages = re.search(r"Output written on all.pdf \(([0-9]+) pages", log)[1]
    assert int(pages) >= len(tables)
    wrong = re.compile(r"! |Overfull \\hbox|.*Float too large")
    return [line for line in log.splitlines() if wrong.match(line)]


NAMES = (
    "before",
    HOSTILE,
    "tokyotech-llm/Llama-3.1-Swallow-8B-Instruct-v0.5",
    *(f"a_name_with_underscores_that_is_rather_long@{k}" for k in range(3)),
    *(f"GLUCOSEBASEJAPANESESIMCSELARGE{k}" for k in range(3)),
    "averylongnamewithoutanyseparatoratallinit",
    "model-of-the-paper\N{EN DASH}é",
    "./runs/swallow-8b/grpo/checkpoint-200",
)


@pytest.mark.slow
def test_every_table_fits_an_article(tmp_path):
    models(tmp_path / "runs", NAMES)
    files = write_paper(tmp_path / "paper", [str(tmp_path / "runs")])
    tables = [path for path in files if path.suffix == ".tex"]
    assert {path.stem for path in tables} == {"scores", "differences"}
    assert typeset(tables) == []
