"""A table that is listed in one line is on the page, in its files and in the terminal, wherever the line says."""

import io
from contextlib import redirect_stdout

import pytest

from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report import contents
from sozo.eval.report.contents import FIRST, OWN, REPORT, Listed, by_task, of_all
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.terminal import print_answer, print_tables
from sozo.scoring.table import Table, tabulate
from whole_runs import dat_run

MARK = "Runs of a task"


def runs_of(page) -> list[Table]:
    return [tabulate(MARK, [{"model": "all of them", "Runs": len(page.runs)}])]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("before", "after"), 1):
        dat_run(folder / name, name, seed, n=20)
    return [str(folder)]


@pytest.mark.parametrize(
    "listed",
    [
        Listed(by_task(runs_of), FIRST, terminal=True),
        Listed(by_task(runs_of), "failures", terminal=True),
        Listed(by_task(runs_of), OWN),
        Listed(of_all(lambda found: runs_of(contents.tasks_on_page(found)[0])[0])),
    ],
)
def test_a_line_is_all_that_a_new_table_needs(places, tmp_path, monkeypatch, listed):
    monkeypatch.setattr(contents, "REPORT", (*REPORT, listed))
    models = find_evaluated(places)
    write_evaluation(tmp_path / "r.html", models, base="before")
    page = (tmp_path / "r.html").read_text("utf-8")
    if listed.section:
        before, after = page.split(f'aria-label="{MARK}"')
        assert "all of them" in after
        last = before.rpartition("<details")[2]
        folded = 'class="fold"' in last and "</details>" not in last
        assert folded == (listed.section not in (FIRST, OWN))
        assert ("</section>" not in before) == (listed.section == FIRST)
    else:
        assert MARK not in page
    files = tmp_path / "r-tables"
    assert "all of them,2" in (files / "runs-of-a-task.csv").read_text("utf-8-sig")
    assert (files / "runs-of-a-task.tex").is_file()
    found = findings(models, "before")
    for first in (True, False):
        with redirect_stdout(io.StringIO()) as printed:
            if first:
                print_answer(found)
            else:
                print_tables(contents.printed_tables(found, first=False))
        here = listed.terminal and first == (listed.section == FIRST)
        assert (MARK in printed.getvalue()) == here
