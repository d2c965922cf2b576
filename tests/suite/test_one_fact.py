"""One fact, one shape: every row of the findings is the same number, rounded alike, wherever it is shown."""

import csv
import io
import json
import math
import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from frozen_runs import NOUNS, SECOND, change_config, dat, jcq, sipen

from pages import cells_of, english_text
from sozo.eval.deliver.model_card import _results
from sozo.eval.deliver.wandb_results import _values
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings, first_measures, frame
from sozo.eval.report.answer import row_name
from sozo.eval.report.contents import printed_tables
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.report.labels import english, measure_label
from sozo.eval.terminal import print_answer, print_run, print_tables
from sozo.scoring.measure import LEVEL
from sozo.scoring.second_encoder import SecondEncoder
from sozo.tasks import task_types
from sozo.tasks.view import CARD, FAILURES, PAGE, TERMINAL, WANDB

COLUMNS = """
model base task measure kind unit value low high level p p_corrected n base_n of counted model_value base_value effect
by seeds target state first_screen caveats reason
"""
GAINS = (
    "gain_own",
    "gain_second",
    "gain_shuffled",
    "gain_pairing",
    "known_pairs",
)  # of a gain's parts; files have all
ARROWS = {"higher": "▲ ", "lower": "▼ "}
TEX = {
    r"\par\scriptsize\hspace{0pt}": " ",
    r"\allowbreak{}": "",
    "$-$": "−",
    "{[}": "[",
    r"\%": "%",
    "--": "–",
}
TEX |= {
    r"$^{\uparrow}$": "▲ ",
    r"$^{\downarrow}$": "▼ ",
    r"\_": "_",
    r"\textasciitilde ": "~",
}


def whole(folder):
    """A base; a method of three seeds, trained on DAT; a model by another judge; drawn lists. Controls, and a trial."""
    made = []
    for k, name in enumerate(("base", "tuned@1", "tuned@2", "tuned@3")):
        goal = ["dat"] if k else None
        options = {
            "n": 50 + 4 * k,
            "words": 64 - 6 * k,
            "best_of": 1 + 2 * (k > 0) + k % 2,
            "bad": 3 + k,
        }
        made.append(dat(folder / name / "dat", name, k, **options, trained_on=goal))
        made.append(jcq(folder / name / "jcq", name, k, 0.3 * k, trained_on=goal))
        made.append(
            sipen(folder / name / "sipen", name, k, 0.95 - 0.1 * k, trained_on=goal)
        )
    made.append(dat(folder / "other" / "dat", "other", 9, n=48, words=40, best_of=4))
    made.append(jcq(folder / "other" / "jcq", "other", 9, 0.8, judge="judge-b"))
    made.append(dat(folder / "random" / "dat", "random", 8, n=55, model="random"))
    return made, [str(folder)], "base"


def noise(folder):
    """The same answers judged three times, so that the judge's noise is in the interval, and another model's."""
    made = [jcq(folder / f"one{k}", "one", 1, 0.3, judged=k) for k in range(3)]
    made.append(jcq(folder / "other", "other", 5, 1.0))
    return made, [f"{run.folder.name}={run.folder}" for run in made], "one0"


def hotter(folder):
    """A base at three temperatures, and a model above their curve."""
    made = []
    drawn = {"base": (34, 1.0), "cool": (20, 0.5), "warm": (64, 1.5)}
    for k, (name, (words, temperature)) in enumerate(drawn.items()):
        place = folder / name / "dat"
        made.append(dat(place, name, k, words=words, model="org/base"))
        change_config(place, "loaded", decoder={"temperature": temperature})
    made.append(dat(folder / "far" / "dat", "far", 8, words=40, best_of=6))
    return made, [str(folder)], "base"


def alone(folder):
    """Nothing to compare with: means only."""
    return (
        [dat(folder / "m" / "dat", "m", 1), jcq(folder / "m" / "jcq", "m", 1, 0.5)],
        [str(folder)],
        None,
    )


@pytest.fixture(scope="module", params=[whole, noise, hotter, alone])
def report(request, tmp_path_factory):
    """All that was printed of a report, in texts and tables: title -> model -> heading -> text."""
    folder = tmp_path_factory.mktemp("one")
    made, places, base = request.param(folder / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sozo.scoring.second_encoder.make_encoder", lambda name, **_: SECOND
        )
        patch.setenv("COLUMNS", "5000")
        patch.setattr(
            "sozo.eval.report.exports.Typeset.most", 999
        )  # columns of a page in LaTeX: all
        models, second = find_evaluated(places), SecondEncoder("second", NOUNS)
        found = findings(models, base, second)
        write_evaluation(folder / "r.html", models, base=base, second_encoder=second)
        screen = printed(
            lambda: (
                print_answer(found),
                print_tables(printed_tables(found, first=False)),
            )
        )
        runs = {run.folder: printed(lambda run=run: print_run(run)) for run in made}
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
        runs=made,
        run_texts=runs,
        json=json.loads((folder / "r.json").read_text("utf-8")),
        findings_csv=read_csv(files / "findings.csv"),
        compared=read_csv(files / "compared_models.csv")
        if (files / "compared_models.csv").is_file()
        else [],
        page={name: by_model(cells_of(table_of(page, name))) for name in names},
        csv={name: by_model(read_csv(files / f"{name}.csv")) for name in names},
        latex={
            name: of_latex(file.read_text("utf-8"))
            for name in names
            if (file := files / f"{name}.tex").is_file()
        },
        terminal=of_terminal(screen),
        lines=[line for line in screen.splitlines() if line.strip()],
        facts=facts_of(page),
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


def number(row, *, interval=True):
    """The row's number; how many of how many, if it is a count; a dash if it has none."""
    known = row.estimate
    if known.value is None:
        return "–"
    if row.of is not None and not known.n and not row.measure.share:
        return f"{known.value:,.0f} of {row.of:,}"
    ends = (
        f" [{bare(known.low, row)}, {bare(known.high, row)}]"
        if interval and known.low is not None
        else ""
    )
    return said(known.value, row) + ends


def starts(text, row, **options):
    """Whether a cell begins with the row's number, an arrow before it where the row's interval leaves out 0."""
    wanted = ARROWS.get(row.state, "") + number(row, **options)
    return text == wanted or text.startswith(f"{wanted} ")


# Where it was printed.


def printed(show):
    from contextlib import redirect_stdout

    with redirect_stdout(io.StringIO()) as out:
        show()
    return out.getvalue()


def read_csv(path: Path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def table_of(page, name):
    """The page's table above the link to its file."""
    return page.split(f'download="{name}.csv"')[0].rsplit("<table>", 1)[1]


def by_model(rows):
    headings, *lines = rows
    assert len(set(headings)) == len(
        headings
    )  # who reads a column by its heading reads that column
    return {
        line[0].split()[0]: dict(zip(headings[1:], line[1:], strict=True))
        for line in lines
    }


def of_latex(text):
    for sign, plain in TEX.items():
        text = text.replace(sign, plain)
    rows = [
        line.removesuffix(r" \\").split(" & ")
        for line in text.splitlines()
        if line.endswith(r" \\")
    ]
    first, *lines = [[" ".join(cell.split()) for cell in row] for row in rows]
    return by_model(
        [first, *(line for line in lines if line != first)]
    )  # a long table says its headings again


def of_terminal(text):
    """The tables on a screen that is wide enough for each."""
    tables, rows, before, previous, columns = {}, None, "", "", []
    for line in text.splitlines():
        if set(line.strip()) == {"─"}:
            columns = [
                match.start() for match in re.finditer(r"\S+(?: \S+)*", previous)
            ]
            heads = [previous[a:b].strip() for a, b in pairwise([*columns, None])]
            rows = tables.setdefault(before.partition(" (")[0].strip(), {})
        elif rows is not None and line.strip():
            name, *cells = (line[a:b].strip() for a, b in pairwise([*columns, None]))
            if name and not name.startswith(
                ("against ", "mean over ", "this checkpoint")
            ):
                own = rows.setdefault(name, dict.fromkeys(heads[1:], ""))
            for head, cell in zip(heads[1:], cells, strict=True):
                own[head] = f"{own[head]} {cell}".strip()
        elif not line.strip() and rows:
            rows = None
        if line.strip():
            before, previous = previous, line
    return tables


def facts_of(page):
    """What the page's first screen says of each model."""
    first = (
        page.split('id="answer">', 1)[1].split("</section>", 1)[0].replace("<wbr>", "")
    )
    blocks = re.findall(
        r'<h3>(.*?)</h3>\s*<dl class="facts">(.*?)</dl>', first, re.DOTALL
    )
    return {
        english_text(name): english_text(block.replace("<br>", "; "))
        for name, block in blocks
    }


# Which rows a place shows.


def column_of(report, row):
    return next(
        (c for c in report.found.columns[row.task] if c.name == row.column), None
    )


def means_of(report, task, name):
    return [
        r
        for r in report.found.rows
        if r.task == task and r.column == name and not r.base
    ]


def tables_of_means(report, row):
    """Names of the tables that have a mean: those with its column, unless no model has a number in it."""
    column, names = column_of(report, row), []
    if all(
        other.estimate.value is None for other in means_of(report, row.task, row.column)
    ):
        return []
    task = task_types()[row.task]
    if column.shown & FAILURES:
        names.append(f"{row.task}-answers-without-a-score")
    elif column.shown & (TERMINAL | PAGE):
        names.append(f"{row.task}-all-columns")
    return [
        *names,
        *(
            table.name
            for table in task.view.tables(task.measures)
            if row.column in table.columns
        ),
    ]


def change_of(report, row):
    """The difference that stands below a mean."""
    column, base = column_of(report, row), report.found.compared.bases.get(row.model)
    found = (
        column.change
        and base
        and report.found.difference(row.model, base.name, column.change)
    )
    return found or None


def tables_of_differences(report, row):
    names = (
        [f"{row.task}-differences"]
        if row.kind in ("difference", "ratio", "curve")
        else []
    )
    return [
        *names,
        *([f"{row.task}-gains-by-a-second-encoder"] if row.column in GAINS else []),
    ]


def heading(row, table):
    return english(row.column if "gains" in table else measure_label(row.measure))


def shown_differences(report, row, table):
    """Whether a table has a difference: of what is compared nowhere a line says why, and of a missing run nothing."""
    others = [
        other
        for other in report.found.rows
        if other.base and (other.task, other.column) == (row.task, row.column)
    ]
    methods = {method.name: method for method in report.found.compared.methods}
    both = all(methods[name].of_task(row.task) for name in (row.model, row.base))
    told = both and (
        "gains" in table or not methods[row.model].reference
    )  # drawn lists have gains alone
    return told and any(other.estimate.value is not None for other in others)


# The tests.


def plain(row):
    known, level = row.estimate, row.estimate.level
    corrected = (
        None if known.p is None else min(1.0, known.p * (1 - LEVEL) / (1 - level))
    )
    numbers = (
        known.value,
        known.low,
        known.high,
        level if known.low is not None else None,
        known.p,
        corrected,
    )
    counts = (known.n or None, known.base_n, row.of, row.counted)
    sides = (
        row.value,
        row.base_value,
        row.effect,
        row.by,
        row.seeds or None,
        row.target,
        row.state,
        row.first,
    )
    unit = (
        ""
        if row.kind == "ratio"
        else "share"
        if row.measure.share
        else row.measure.unit
    )
    names = (row.model, row.base, row.task, row.measure.name, row.kind, unit)
    texts = ("; ".join(row.caveats), known.reason or "")
    return dict(
        zip(COLUMNS.split(), (*names, *numbers, *counts, *sides, *texts), strict=True)
    )


def test_files_and_the_data_frame_have_every_row_with_all_digits(report):
    rows = [plain(row) for row in report.found.rows]
    assert report.json["findings"] == rows
    table = frame(report.found)
    assert list(table.columns) == COLUMNS.split()
    headings, *lines = report.findings_csv
    assert headings == COLUMNS.split()
    assert len(table) == len(lines) == len(rows)
    for row, record, line in zip(rows, table.to_dict("records"), lines, strict=True):
        for (name, value), cell in zip(row.items(), line, strict=True):
            held = (
                None
                if isinstance(record[name], float) and math.isnan(record[name])
                else record[name]
            )
            assert held == value, (row, name)
            read = float(cell) if is_number(value) else cell
            assert read == (
                ""
                if value is None
                else str(value)
                if isinstance(value, bool)
                else value
            ), (row, name)


def is_number(value):
    return isinstance(value, float | int) and not isinstance(value, bool)


def test_means_in_tables(report):
    """The page, its CSV and its LaTeX: number and interval, n of N, and the difference below."""
    seen = set()
    for row in (row for row in report.found.rows if not row.base):
        label, change = english(column_of(report, row).label), change_of(report, row)
        for table in tables_of_means(report, row):
            files = report.csv[table][row.model]
            wanted = (ARROWS.get(change.state, "") if change else "") + number(row)
            for place in (report.page, report.latex)[: 1 + (table in report.latex)]:
                text = place[table][row.model][label]
                assert text == wanted or text.startswith(f"{wanted} "), (
                    table,
                    row,
                    text,
                )
                assert (
                    not change
                    or change.estimate.value is None
                    or number(change) in text
                ), (table, row, text)
            exact(files, label, row)
            if change and change.estimate.value is not None:
                exact(files, f"{label} {change.kind}", change, "_", counts=False)
            seen.add(table)
    assert len(seen) >= 3


def exact(files, label, row, mark=" ", *, counts=True):
    """A table's CSV has all digits of a number."""
    known = row.estimate
    parts = {"": known.value, f"{mark}low": known.low, f"{mark}high": known.high}
    parts |= (
        {
            f"{mark}n": known.n or None,
            f"{mark}of": None if row.kind == "ratio" else row.of,
        }
        if counts
        else {}
    )
    for part, value in parts.items():
        cell = files.get(label + part, "")
        assert (float(cell) if cell else None) == value, (label + part, row)


def test_differences_in_tables(report):
    visited = set()
    for row in (row for row in report.found.rows if row.base):
        for table in tables_of_differences(report, row):
            if not shown_differences(report, row, table):
                continue
            label = heading(row, table)
            title = english_title(report, row, table)
            for place in (
                report.page[table],
                report.terminal[title],
                report.latex[table],
            ):
                text = place[row.model][label]
                assert starts(text, row), (table, row, text)
                if row.estimate.value is None and "gains" not in table:
                    assert english(row.estimate.reason) in text
            exact(report.csv[table][row.model], label, row)
            visited.add((table, row.model, label))
    tables = [
        name
        for name in report.page
        if name.endswith(("-differences", "-gains-by-a-second-encoder"))
    ]
    held = {
        (name, model, label)
        for name in tables
        for model, row in report.page[name].items()
        for label in row
        if row[label] != "–"  # of a curve's own points nothing is said of it
    }
    assert held == visited  # and nothing that no row has


def english_title(report, row, table):
    form = "{}: gains by a second encoder" if "gains" in table else "{}: differences"
    return form.format(english(row.task))


def test_the_overview(report):
    several, visited = len(report.found.tasks) > 1, set()
    paired = bool(report.found.compared.pairs)
    for task in report.found.tasks.values():
        for measure in (*first_measures(task), *([task.second] if task.second else [])):
            label = english(measure_label(measure))
            label = f"{english(task.name)} {label}" if several else label
            for method in report.found.compared.methods:
                column = next(
                    (
                        c.name
                        for c in report.found.columns[task.name]
                        if c.change == measure
                    ),
                    "",
                )
                mean = report.found.mean(method.name, task.name, column)
                base = report.found.compared.bases.get(method.name)
                change = base and report.found.difference(
                    method.name, base.name, measure
                )
                if label not in report.page["overview"][method.name]:
                    assert is_full(report, measure) or (mean is None and change is None)
                    continue
                visited.add(label)
                for place in (
                    report.page["overview"],
                    report.terminal["At a glance"],
                    report.latex["overview"],
                ):
                    text = place[method.name][label]
                    told = change is not None and change.estimate.value is not None
                    arrow = ARROWS.get(change.state, "") if told else ""
                    if mean:
                        assert text.startswith(
                            arrow + number(mean, interval=not paired)
                        ), (label, method.name, text)
                    if told:
                        assert number(change) in text, (label, method.name, text)
                    elif change and mean:
                        assert f"not compared {english(change.estimate.reason)}" in text
                if mean:
                    known = mean.estimate.value
                    value = report.csv["overview"][method.name][label]
                    assert (float(value) if value else None) == known
                if mean and change and change.estimate.value is not None:
                    exact(
                        report.csv["overview"][method.name],
                        f"{label} {change.kind}",
                        change,
                        "_",
                        counts=False,
                    )
    assert visited == set(next(iter(report.page["overview"].values())))


def is_full(report, measure):
    """Whether all have a share in full, so that it has no column on the first screen."""
    values = [
        row.estimate.value
        for row in report.found.rows
        if not row.base and row.measure.name == measure.name
    ]
    return measure.share and set(values) <= {1.0, None}


def test_facts_of_the_first_screen(report):
    several = len(report.found.tasks) > 1
    for row in (row for row in report.found.rows if row.first):
        of_terminal = re.search(
            rf"^{row.model}: .*(?:\n  .*)*", "\n".join(report.lines), re.MULTILINE
        )[0]
        for text in (of_terminal, report.facts[row.model]):
            name, known = english(row_name(row, several)), row.estimate
            assert name in text, (row, text)
            if row.state == "not compared":
                assert re.search(
                    rf"{re.escape(name)}[^;]*\({re.escape(english(known.reason))}\)",
                    text,
                ), (row, text)
                continue
            value = "" if row.value is None else f" {said(row.value, row, 'mean')}"
            value += f" in {row.of:,} answers" if row.kind == "ratio" else ""
            assert f"{name}{value} ({number(row)}" in text, (row, text)


def test_the_papers_table_has_each_difference_of_the_first_screen(report):
    several, told = len(report.found.tasks) > 1, {}
    for line in report.compared[1:]:
        record = dict(zip(report.compared[0], line, strict=True))
        told[record["Measure"], record["from"]] = record
    rows = [
        row for row in report.found.rows if row.first and row.estimate.value is not None
    ]
    assert len(told) == len(rows)
    for row in rows:
        record = told[f"{row.model}: {english(row_name(row, several))}", row.base]
        parts = {
            "Model": row.value,
            "Base": row.base_value,
            "Difference": row.estimate.value,
        }
        parts |= {
            "Difference low": row.estimate.low,
            "Difference high": row.estimate.high,
        }
        for name, value in parts.items():
            cell = record.get(name, "")
            assert (float(cell) if cell else None) == value, (name, row)


def test_a_runs_own_row_in_the_terminal_wandb_and_the_card(report):
    """What single runs say is what the rows are; of several seeds the rows are their means."""
    places, of = set(), {}
    for run in report.runs:
        metrics = [metric for result in _results(run) for metric in result["metrics"]]
        lines = [
            " ".join(line.split()) for line in report.run_texts[run.folder].splitlines()
        ]
        of[run.folder] = (
            _values(run),
            {metric["type"]: metric for metric in metrics},
            lines,
        )
    for method in report.found.compared.methods:
        for row in (
            row
            for row in report.found.rows
            if row.model == method.name and not row.base
        ):
            runs, known = (
                [of[run.folder] for run in method.of_task(row.task)],
                row.estimate,
            )
            if not (shown := view_column(row, method)) or known.value is None:
                continue
            if shown & WANDB:
                values = [
                    values[row.column] for values, *_ in runs if row.column in values
                ]
                assert sum(values) / len(values) == pytest.approx(
                    known.value, rel=1e-12, abs=1e-15
                ), row
                places.add("wandb")
            if row.seeds:
                continue
            ((values, card, lines),) = runs
            if shown & WANDB:
                parts = {
                    "": known.value,
                    "_ci95_low": known.low,
                    "_ci95_high": known.high,
                    "_n": known.n or None,
                }
                assert {
                    part: values.get(row.column + part) for part in parts
                } == parts, row
            if shown & CARD:
                metric = card[f"{row.task}_{row.column}"]
                parts = {"low": known.low, "high": known.high, "n": known.n or None}
                assert metric["value"] == known.value, row
                assert {part: metric["args"].get(part) for part in parts} == parts, row
                places.add("card")
            if shown & TERMINAL:
                wanted = f"{english(row.label)} {number(row)}"
                assert any(
                    line == wanted or line.startswith((f"{wanted},", f"{wanted} "))
                    for line in lines
                ), wanted
                places.add("terminal")
    assert places == {"wandb", "card", "terminal"}


def view_column(row, method):
    """Where the task's view shows the row's column; nowhere what the first screen adds to its columns."""
    task, runs = task_types()[row.task], method.of_task(row.task)
    return next(
        (
            c.shown
            for c in task.view.columns(task.measures, runs)
            if c.name == row.column
        ),
        None,
    )
