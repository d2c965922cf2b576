"""A row of the findings is the same number in the page's tables, in their files, and in what a single run says.

What every printer says of thirteen reports is frozen (tests/frozen); here the numbers are worked out from the rows.
"""

import csv
import io
import json
import re
from contextlib import redirect_stdout
from types import SimpleNamespace

import numpy as np
import pytest

from fakes import FakeEncoder
from pages import cells_of
from sipen_runs import run_of, truthful
from sozo.data.jumandic import load_nouns
from sozo.eval.deliver.model_card import _results
from sozo.eval.deliver.wandb_results import _values
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings, frame
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.report.labels import english, measure_label
from sozo.eval.run import TaskRun
from sozo.eval.terminal import print_run
from sozo.scoring.second_encoder import SecondEncoder
from sozo.tasks import finished_run, task_types
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.view import CARD, TERMINAL, WANDB
from whole_runs import dat_run, jcq_run

GAINS = "gain_own gain_second gain_shuffled gain_pairing known_pairs".split()  # noqa: SIM905
ARROWS = {"higher": "▲ ", "lower": "▼ "}
QUESTIONS = [question.id for question in trial_questions()]


def runs(folder):
    """A base; a method of three seeds; a model by another judge."""
    for k, name in enumerate(("base", "tuned@1", "tuned@2", "tuned@3")):
        dat_run(folder / name / "dat", name, k, bad=3 + k)
        jcq_run(folder / name / "jcq", name, answer_of(k), scores_of(k))
        run_of(folder / name, mistaken if k else truthful, source=name)
    dat_run(folder / "other" / "dat", "other", 9, n=48)
    jcq_run(folder / "other" / "jcq", "other", answer_of(4), scores_of(4), "judge-b")


def answer_of(k):
    return lambda question: f"{question.id}に{k}番の答え"


def scores_of(k):
    """One to five, by the question's number; of each seventh question none."""

    def scores(question):
        at = QUESTIONS.index(question.id)
        return None if at % 7 == k else (1 + (at + k) % 4, 2 + k % 3, 1 + at % 5, 3)

    return scores


def mistaken(item):
    """About each fifth premise nothing that is an answer."""
    return "わからない" if item.premise_id[-2:-1] in "37" else truthful(item)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What was written of a report: title -> model -> heading -> text."""
    folder, nouns = tmp_path_factory.mktemp("one"), load_nouns()
    runs(folder / "runs")
    vectors = np.random.default_rng(0).standard_normal((len(nouns), 16))
    encoder = FakeEncoder(dict(zip(nouns, vectors, strict=True)), "second")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sozo.scoring.second_encoder.make_encoder", lambda name, **_: encoder
        )
        models, second = (
            find_evaluated([str(folder / "runs")]),
            SecondEncoder("second", nouns),
        )
        found = findings(models, "base", second)
        write_evaluation(folder / "r.html", models, base="base", second_encoder=second)
    page = (folder / "r.html").read_text("utf-8")
    files = folder / "r-tables"
    others = ("findings", "compared_models")
    names = [
        path.stem
        for path in files.glob("*.csv")
        if path.stem not in others and not path.stem.endswith("-paper")
    ]
    return SimpleNamespace(
        found=found,
        json=json.loads((folder / "r.json").read_text("utf-8")),
        findings_csv=read_csv(files / "findings.csv"),
        page={name: by_model(cells_of(table_of(page, name))) for name in names},
        csv={name: by_model(read_csv(files / f"{name}.csv")) for name in names},
    )


# What a row says, worked out here: a number in the unit of its measure, and its interval.


def said(value, row, kind=None, apart=False):
    """A value in the row's unit, as people read it; what is `apart` from 0 is not written as 0."""
    kind, measure = kind or row.kind, row.measure
    digits, unit = measure.digits, " sd" * (measure.unit == "sd")
    if kind == "ratio":
        value, digits, unit = 100 * (value - 1), 1, "%"
    elif measure.share:
        value, digits, unit = 100 * value, 1, "%" if kind == "mean" else " points"
    while apart and round(value, digits) == 0:
        digits += 1
    value = round(value, digits) + 0.0
    sign = "−" if value < 0 else "" if kind == "mean" else "+"
    return f"{sign}{abs(value):,.{digits}f}{unit}"


def bare(value, row):
    apart = row.state in ("higher", "lower")
    return re.sub(r"(%| points| sd)$", "", said(value, row, apart=apart))


def number(row):
    """The row's number; how many of how many, if it is a count; a dash if it has none."""
    known = row.estimate
    if known.value is None:
        return "–"
    if row.of is not None and not known.n and not row.measure.share:
        return f"{known.value:,.0f} of {row.of:,}"
    ends = ""
    if known.low is not None:
        ends = f" [{bare(known.low, row)}, {bare(known.high, row)}]"
    return said(known.value, row) + ends


def starts(text, wanted):
    """Whether a cell is this, or begins with it."""
    return text == wanted or text.startswith(f"{wanted} ")


# Where it was written.


def read_csv(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def table_of(page, name):
    """The page's table above the link to its file."""
    return page.split(f'download="{name}.csv"')[0].rsplit("<table>", 1)[1]


def by_model(rows):
    headings, *lines = rows
    # Who reads a column by its heading reads that column.
    assert len(set(headings)) == len(headings)
    return {
        line[0].split()[0]: dict(zip(headings[1:], line[1:], strict=True))
        for line in lines
    }


# Which rows a table shows.


def tables_of_differences(row):
    if row.kind in ("difference", "ratio", "curve"):
        yield f"{row.task}-differences"
    if row.column in GAINS:
        yield f"{row.task}-gains-by-a-second-encoder"


def heading(row, table):
    return english(row.column if "gains" in table else measure_label(row.measure))


def is_shown(report, row):
    """Whether a table has a difference: of what is compared nowhere a line says why, and of a missing run nothing."""
    methods = {method.name: method for method in report.found.compared.methods}
    known = any(
        other.estimate.value is not None
        for other in report.found.rows
        if other.base and (other.task, other.column) == (row.task, row.column)
    )
    return known and all(
        methods[name].of_task(row.task) for name in (row.model, row.base)
    )


# The tests.


def test_files_and_the_data_frame_have_every_row_with_all_digits(report):
    rows = report.json["findings"]
    table = frame(report.found)
    headings, *lines = report.findings_csv
    assert headings == list(table.columns) == list(rows[0])
    assert len(lines) == len(table) == len(rows) == len(report.found.rows)
    for row, record, line in zip(report.found.rows, rows, lines, strict=True):
        known = row.estimate
        assert (record["model"], record["value"]) == (row.model, known.value)
        assert (record["low"], record["high"]) == (known.low, known.high)
        cells = dict(zip(headings, line, strict=True))
        for name in ("value", "low", "high", "p"):
            assert (float(cells[name]) if cells[name] else None) == record[name]


def exact(cells, label, row):
    """A table's CSV has all digits of a number."""
    known = row.estimate
    parts = {"": known.value, " low": known.low, " high": known.high}
    parts[" n"] = known.n or None
    for part, value in parts.items():
        cell = cells.get(label + part, "")
        assert (float(cell) if cell else None) == value, (label + part, row)


def test_differences_in_tables(report):
    visited = set()
    for row in (row for row in report.found.rows if row.base):
        for table in tables_of_differences(row):
            if not is_shown(report, row):
                continue
            label = heading(row, table)
            text = report.page[table][row.model][label]
            assert starts(text, ARROWS.get(row.state, "") + number(row)), (table, row)
            if row.estimate.value is None and "gains" not in table:
                assert english(row.estimate.reason) in text
            exact(report.csv[table][row.model], label, row)
            visited.add((table, row.model, label))
    held = {
        (name, model, label)
        for name in report.page
        if name.endswith(("-differences", "-gains-by-a-second-encoder"))
        for model, row in report.page[name].items()
        for label in row
    }
    assert held == visited  # and nothing that no row has


def test_a_runs_own_row_in_the_terminal_wandb_and_the_card(report, monkeypatch):
    """What a single run says is what its rows are."""
    monkeypatch.setenv("COLUMNS", "5000")
    places = set()
    for method in report.found.compared.methods:
        said_of = {}
        for row in report.found.rows:
            runs, known = method.of_task(row.task), row.estimate
            if row.model != method.name or row.base or known.value is None:
                continue
            if row.seeds:
                continue
            if not (shown := view_column(row, runs)):
                continue
            if row.task not in said_of:
                said_of[row.task] = told(*runs)
            values, card, lines = said_of[row.task]
            if shown & WANDB:
                parts = {"_ci95_low": known.low, "_ci95_high": known.high}
                parts |= {"": known.value, "_n": known.n or None}
                held = {part: values.get(row.column + part) for part in parts}
                assert held == parts, row
                places.add("wandb")
            if shown & CARD:
                metric = card[f"{row.task}_{row.column}"]
                parts = {"low": known.low, "high": known.high, "n": known.n or None}
                assert metric["value"] == known.value, row
                assert {part: metric["args"].get(part) for part in parts} == parts, row
                places.add("card")
            if shown & TERMINAL:
                wanted = f"{english(row.label)} {number(row)}"
                ends = (f"{wanted},", f"{wanted} ")
                assert any(one == wanted or one.startswith(ends) for one in lines), row
                places.add("terminal")
    assert places == {"wandb", "card", "terminal"}


def told(result):
    """What W&B, the card and the terminal say of a run."""
    finished = finished_run(result.folder)
    task = task_types()[finished.task]()
    run = TaskRun(task, result.folder, finished.metrics, True)
    with redirect_stdout(io.StringIO()) as out:
        print_run(run)
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    metrics = [metric for one in _results(run) for metric in one["metrics"]]
    return _values(run), {metric["type"]: metric for metric in metrics}, lines


def view_column(row, runs):
    """Where the task's view shows the row's column; nowhere what the first screen adds to its columns."""
    task = task_types()[row.task]
    columns = task.view.columns(task.measures, runs)
    return next((c.shown for c in columns if c.name == row.column), None)
