"""The form of the pages: tables as files, contents, sorting, widths, the reader's filters and links."""

import csv
import io
import re

import pytest

from eval.report.exports import csv_text, escape, files, latex
from eval.report.tables import PageTable
from rewards.measure import Cell, Measure, mean_cell, share_cell

SCORE = Measure("a", 2)


def table(*rows, columns=("model", "mean"), **more):
    return PageTable("table12", columns, tuple(rows), **more)


def read(text):
    return list(csv.reader(io.StringIO(text)))


def test_csv_has_all_digits_with_interval_and_n():
    cell = mean_cell(1 / 3, SCORE, (0.1, 2 / 3), (34, 35))
    (heading, row) = read(csv_text(table(("m", (cell, share_cell(1, 3))), columns=("model", "mean", "valid"))))
    assert heading == ["Model", "Mean", "Mean low", "Mean high", "Mean n", "Mean of", "Valid", "Valid n", "Valid of"]
    assert row == ["m", repr(1 / 3), "0.1", repr(2 / 3), "34", "35", repr(1 / 3), "1", "3"]


def test_csv_names_the_base_the_reason_and_the_papers_figure():
    cells = (("m", (Cell("–", why="no_run"),)), ("n", (Cell("+1", paper="0.52", exact={"value": 1.0}),)))
    heading, *rows = read(csv_text(table(*cells, against={"n": "m"})))
    assert heading == ["Model", "from", "Mean", "Mean reason", "Mean paper"]
    assert rows[0][:3] == ["m", "", ""]
    assert rows[0][3] != ""
    assert rows[1] == ["n", "m", "1.0", "", "0.52"]


@pytest.mark.parametrize("name", ["=1+1", "+cmd|' /C calc'!A0", "-1", "@SUM(A1)", "\t=1", " =1", "＝1", "a\r\n=1"])
def test_no_name_is_a_formula_of_a_spreadsheet(name):
    text = csv_text(table((name, (Cell("1", exact={"value": -1.5}),)), against={name: name}))
    heading, row = read(text)
    assert len(heading) == len(row) == 3
    for cell in row[:2]:
        assert not re.match(r"\s*[=+\-@＝]", cell)
        assert cell.isprintable()
    assert row[2] == "-1.5"  # a number stays one


def test_latex_says_what_the_page_says_and_runs_nothing():
    name = "[a]_b & 50% \\input{x} $y$ #1 ~^ --"
    cell = mean_cell(-0.5, SCORE, (-1, 0), (34, 35))
    marked = Cell("−0.10", ("−0.2 – −0.1",), mark="down bad")
    text = latex(table((name, (cell, marked)), columns=("model", "mean", "sat"), against={name: "b_c"}), "table12")
    assert (
        "{[}a]\\_b \\& 50\\% \\textbackslash{}input\\{x\\} \\$y\\$ \\#1 \\textasciitilde{}\\textasciicircum{} -{}- & "
        in text
    )
    assert "& -0.50 & $-$0.10$^{*}$ \\\\\n" in text
    assert "{\\scriptsize from b\\_c} & {\\scriptsize -1.00 -- 0.00} & {\\scriptsize $-$0.2 -- $-$0.1} \\\\\n" in text
    assert " &  & {\\scriptsize" not in text.split("34 / 35")[0].rsplit("\n", 1)[0]
    assert "corrected p below 0.05" in text
    assert "\\begin{tabular}{lrr}" in text
    rows = [line for line in text.splitlines() if line.endswith("\\\\")]
    assert all(line.count(" & ") == 2 or "\\& 50" in line for line in rows)


def test_a_name_in_latex_is_one_line():
    assert escape("a\nb\u202ec") == "a b c"
    assert escape("?`") == "?\\textasciigrave{}"


def test_files_open_in_a_spreadsheet():
    (name, content), (other, _) = files(table(("桃", (Cell("1", exact={"value": 1}),))), "table12")
    assert (name, other) == ("table12.csv", "table12.tex")
    assert content.startswith('\ufeff"Model"'.encode())
