"""What commands print in a terminal of any width: no number is cut, and what to read next is said once."""

import re
from dataclasses import replace

import pytest
import typer

from finished_runs import given_dat, given_sat
from run_files import metrics_of
from sozo.eval.run import TaskRun
from sozo.eval.terminal import print_run, print_tables, show_all
from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.table import Cell, Table, TableRow
from sozo.tasks import Dat, Sat
from sozo.tasks.view import TERMINAL

SHARE, SCORE = Measure("a", share=True), Measure("b", 4)
NAMES = [
    "DPO 1",
    "東北大学の日本語モデル七十億パラメータ版",
    "org-with-a-long-name/model-7b-instruct-v0.1",
    "ｶﾅ全角ＡＢＣ",
]
# Each number as it stands in the table, whole.
NUMBERS = ["+1,234.5678", "−0.0100", "+0.0200", "−12.3", "+56.8", "0.031", "1,234,567"]


def changes():
    """A table like those of `sozo compare`, of seven measures."""
    cells = (
        Cell(
            Estimate(1234.5678, -0.01, 0.02),
            SCORE,
            DIFFERENCE,
            below=("d_z = −1.2345", "p = 0.031"),
            mark="higher",
        ),
        Cell(Estimate(0.1, -0.1234, 0.5678, n=1_234_567), SHARE, DIFFERENCE),
        Cell(
            why="the judge's server is http://127.0.0.1:8000/v1 and http://127.0.0.1:8001/v1"
        ),
    )
    columns = (
        "model",
        "dat",
        "dat/usable",
        "sat",
        "jcq",
        "jcq/fluency",
        "jcq/flexibility",
        "sipen",
    )
    rows = tuple(
        TableRow(name, (*cells, *cells, cells[0]), base="東北大学の基底モデル")
        for name in NAMES
    )
    return Table("changes", columns, rows)


@pytest.mark.parametrize("width", [40, 80, 300])
def test_no_number_is_cut(width, capsys, monkeypatch):
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", str(width))
    print_tables([changes()])
    lines = capsys.readouterr().out.splitlines()
    if width == 300:  # a narrow terminal folds lines by itself
        assert max(cell_len(line.rstrip()) for line in lines) <= width
    words = [word.strip("[],%") for line in lines for word in line.split()]
    for number in NUMBERS:
        each = len(NAMES) * (3 if number in NUMBERS[:3] or number == "0.031" else 2)
        assert words.count(number) == each, number
    # Every digit that is printed belongs to a number that was to be printed, or to a name or a reason.
    known = "".join(
        [
            *NAMES,
            *NUMBERS,
            "+10.0 −1.2345 http://127.0.0.1:8000/v1 http://127.0.0.1:8001/v1",
        ]
    )
    cut = [word for word in words if re.search(r"\d", word) and word not in known]
    assert not cut


@pytest.mark.parametrize("width", [40, 120])
def test_a_runs_row_is_whole_too(width, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", str(width))
    path = given_sat(
        tmp_path / "東北大学",
        "東北大学の日本語モデル七十億パラメータ版",
        {"a": 0.12345, "b": 0.5},
    )
    run = TaskRun(Sat(), path, metrics_of(path), False)
    print_run(run)
    out = capsys.readouterr().out
    table = out[: out.index(str(tmp_path)[:20])] if str(tmp_path)[:20] in out else out
    for column, cell in run.task.view.fill_columns(
        TERMINAL, run.task.measures, run.result
    ):
        for number in re.findall(r"\d[\d.,]*\d%?", cell.line):
            assert number in table, (column.label, number)


def test_the_page_to_read_is_said_once_behind_all_models(capsys, tmp_path):
    runs = []
    for name in ("a", "b", "c"):
        path = given_dat(tmp_path / name, name, 0.8)
        metrics = metrics_of(path)
        metrics["instruments"] = {"pairing": 0.5, "glued_share": 0.1}
        runs.append(TaskRun(Dat(), path, metrics, False))
    show_all(runs)
    said = capsys.readouterr().out.replace("\n", "")
    assert f"sozo report {tmp_path} --output {tmp_path}.html" in said
    stopped = [replace(run, stopped="of the budget") for run in runs]
    with pytest.raises(typer.Exit):
        show_all([*stopped[:2], runs[2]])
    assert f"{tmp_path / 'c'}.html" in capsys.readouterr().out.replace("\n", "")
    with pytest.raises(typer.Exit):
        show_all(stopped)  # the report would read none of them
    assert not re.search("sozo (report|answers)", capsys.readouterr().out)
