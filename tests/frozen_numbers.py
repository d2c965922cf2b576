"""Where `freeze.py` finds its numbers: below the printers, and in each thing that is printed (`frozen_prints.py`).

What is read here below the printers are today's classes: who replaces them mends these few functions, and no row.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from os import environ
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from fakes import FakeNouns
from frozen_prints import (
    PARTS,
    as_number,
    leaves,
    numbers_in,
    of_csv,
    of_json,
    of_latex,
    of_page,
    of_tables,
    terminal,
    weighted,
)
from frozen_runs import NOUNS, OWN, SECOND, Report, reports, sheet
from sampling_worker import dat_by
from sozo.eval.compare import Compared, Difference, compare, compare_models
from sozo.eval.deliver.model_card import _results
from sozo.eval.deliver.wandb_results import _values
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.findings import Findings, compared_measures, findings
from sozo.eval.people import PeopleOptions, score_people
from sozo.eval.report.answer import first_screen
from sozo.eval.report.differences import differences
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.second_encoder import PARTS as PARTS_OF_GAIN
from sozo.eval.second_encoder import SecondGains
from sozo.eval.seeds import Method
from sozo.eval.terminal import print_answer, print_run, print_tables
from sozo.scoring.measure import Estimate
from sozo.scoring.second_encoder import SecondEncoder, gain
from sozo.scoring.statistics import compare_independent, compare_paired, mean_interval
from sozo.scoring.statistics.comparison import effect_independent, effect_paired
from sozo.scoring.statistics.hill import hill_interval, hill_number, hill_ratio
from sozo.scoring.statistics.proportions import grouped_share, holm, mcnemar, wilson
from sozo.scoring.statistics.reliability import cronbach_alpha
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.tasks import task_types
from sozo.tasks.dat.scorer import DatScorer

Row = tuple[Any, ...]  # report, where, model, base, task, measure, what, by, value


def rows(folder: Path) -> Iterator[Row]:
    """Every row of every report."""
    for names in statistics():
        yield ("statistics", "statistics", "", "", "", *names)
    second = patch("sozo.scoring.second_encoder.make_encoder", lambda name, **_: SECOND)
    wide = patch.dict(environ, {"COLUMNS": "5000"})
    with second, wide:
        for name, make in reports(folder).items():
            report = make()
            for row in of_report(report, folder / f"{name}-page"):
                yield name, *row
    for row in people(folder):
        yield "people", *row


def of_report(report: Report, place: Path) -> Iterator[Row]:
    models = find_evaluated(report.places)
    second = SecondEncoder("second", NOUNS) if report.second else None
    found = findings(models, report.base, second)
    yield from estimates(models)
    compared = compare_models(models, report.base)
    yield from of_compared(compared)
    yield from gains(compared, second)
    yield from outcomes(found)
    for run in report.runs:
        yield from run_numbers(run)
    write_evaluation(place / "r.html", models, base=report.base, second_encoder=second)
    yield from of_json(json.loads((place / "r.json").read_text("utf-8")))
    for file in sorted((place / "r-tables").iterdir()):
        yield from of_csv(file) if file.suffix == ".csv" else of_latex(file)
    yield from of_page((place / "r.html").read_text("utf-8"))
    yield from terminal(lambda: (print_answer(first_screen(found)), print_tables(differences(found))))


# Below the printers.


def parts(result: Estimate | None, name: str) -> Iterator[tuple[str, Any]]:
    """The numbers of an estimate by their names here, its value under `name`."""
    known = result or Estimate()
    if known.value is not None:
        yield name, known.value
    for what in ("low", "high", "n", "p", "base_n"):
        if (value := getattr(known, what)) is not None:
            yield PARTS[what], value
    if known.value is None:
        yield "state", "no number"
    elif known.low is None:
        yield "state", "no interval"


def estimates(models: Sequence[Evaluated]) -> Iterator[Row]:
    """Means, and what an item and a model have, of all runs of a model."""
    for model in models:
        for run in model.runs.values():
            task = run.task
            for measure in {measure.name: measure for measure in measures_of(run)}.values():
                names = (model.name, "", task, measure.name)
                for what, value in parts(run.estimate(measure), "mean"):
                    yield "estimate", *names, what, run.scorer or "", value
                values = run.by_answer(measure).tolist()
                yield "answers", *names, "n", "", len(values)
                yield "answers", *names, "weighted sum", "", weighted(values)
                if measure.per_item:
                    by_item = [value for value in run.by_item(measure).values() if value is not None]
                    yield "items", *names, "n", "", len(by_item)
                    yield "items", *names, "weighted sum", "", weighted(by_item)
            for what, n in zip(("cut off", "N"), run.cut_off(), strict=True):
                yield "estimate", model.name, "", task, "cut off", what, "", n


def measures_of(run) -> Iterable[Any]:
    kind = task_types()[run.task]
    return (*kind.measures, *(m for m in compared_measures(kind) if m.name != "dat/different_words"))


def of_compared(compared: Compared) -> Iterator[Row]:
    """Each model against its base, methods over their seeds, and first measures at another level."""
    for (base, method), task in product(compared.pairs, task_types().values()):
        for measure in compared_measures(task):
            names = (base.name, task.name, measure.name)
            for before, after in alone(base, method):
                if found := compare(before, after, measure):
                    for what, value in of_difference(found):
                        yield "difference", after.name, before.name, *names[1:], what, "", value
            if method.several and (found := compare(base, method, measure)) and found.seeds:
                for what, value in of_difference(found):
                    yield "over seeds", method.name, *names, what, found.seeds, value
            if measure == task.measures[0] and (found := compare(base, method, measure, 0.99)):
                for what, value in of_difference(found):
                    yield "at 99%", method.name, *names, what, "", value


def alone(base: Method, method: Method) -> Iterator[tuple[Method, Method]]:
    """A base and a method, training by training."""
    for seed, model in method.runs.items():
        before = base.at(seed)
        yield Method(before.name, {"": before}), Method(model.name, {"": model})


def of_difference(found: Difference) -> Iterator[tuple[str, Any]]:
    yield from parts(found.estimate, "difference")
    for what in ("of", "effect"):
        if (value := getattr(found, what)) is not None:
            yield PARTS[what], value


def gains(compared: Compared, second: SecondEncoder | None) -> Iterator[Row]:
    """Of each training by the runs' own encoder and by the second one, at 95%."""
    seers = SecondGains(second) if second else None
    tasks = [task for task in task_types().values() if task.second]
    for (base, method), task in product(compared.pairs if seers else (), tasks):
        for before, after in alone(base, method):
            if (found := seers.gains(before, after, task)) is None:
                continue
            names = (after.name, before.name, task.name)
            for name, part in PARTS_OF_GAIN.items():
                for what, value in parts(found.estimate(name), "difference"):
                    yield "gain", *names, part or "own encoder", what, seers.name, value
            yield "gain", *names, "known_pairs", "share", seers.name, found.known_pairs


def outcomes(found: Findings) -> Iterator[Row]:
    """What the first screen rests on: simultaneous intervals, with the judge's noise; states and targets."""
    for row in (row for row in found.rows if row.first):
        names = (row.model, row.base, row.task, row.measure.name)
        for what, value in parts(row.estimate, "difference"):
            yield "outcome", *names, what, "", value
        for what, value in {"level": row.estimate.level, "p": row.p_corrected, "effect": row.effect}.items():
            if value is not None:
                yield "outcome", *names, f"{what} of the outcome", "", value
        yield "words", *names, "state", "", f"{row.state}; target: {row.target}"


def statistics() -> Iterator[Row]:
    """The functions themselves, on numbers that stand here: measure, what, by, value."""
    a = [0.12, 0.5, 0.33, 0.91, 0.47, 0.66, 0.18, 0.74, 0.59, 0.28, 0.83, 0.4]
    b = [0.22, 0.41, 0.63, 0.95, 0.71, 0.69, 0.35, 0.7, 0.88, 0.31, 0.9, 0.62, 0.55]
    ones = [1.0] * 9 + [0.0] * 4
    kinds = dict(enumerate("xxxxyyyyzzzz"))
    side, other = dict(enumerate(a)), dict(enumerate(b[:11]))
    lists = [[f"w{(3 * i + j * j) % 17}" for j in range(4)] for i in range(9)]
    more = [[f"w{(5 * i + 2 * j) % 23}" for j in range(4)] for i in range(7)]
    found = {
        "mean": mean_interval(a),
        "mean at 90%": mean_interval(a, level=0.9),
        "mean of strata": mean_interval(a, strata=list(kinds.values())),
        "mean of a share": mean_interval(ones, share=True),
        "mean of whole scores": mean_interval([1.0, 2.0, 5.0]),
        "paired": compare_paired(side, other),
        "paired, strata": compare_paired(side, other, strata=kinds),
        "paired share": compare_paired(dict(enumerate(ones)), dict(enumerate(ones[::-1])), share=True),
        "independent": compare_independent(a, b),
        "independent at 97.5%": compare_independent(a, b, level=0.975),
        "independent share": compare_independent(ones, ones[3:], share=True),
        "seeds": over_seeds(dict(enumerate(a[:5]))),
        "seeds, paired": difference(dict(enumerate(a[:4])), dict(enumerate(b[:5]))),
        "seeds, not paired": difference(dict(enumerate(a[:4])), {k + 9: v for k, v in enumerate(b[:5])}),
        "alpha": cronbach_alpha([[x, y, x * y] for x, y in zip(a, b, strict=False)]),
        "words": hill_interval(lists),
        "words at 5": hill_interval(lists, 5),
        "perplexity": hill_interval(lists, order=1),
        "ratio of words": hill_ratio(lists, more),
        "ratio of perplexities": hill_ratio(lists, more, order=1),
    }
    found["gain"] = gain(np.array(a), np.array(b))
    for name, result in found.items():
        compared = any(word in name for word in ("paired", "independent", "gain"))
        for what, value in parts(result, "difference" if compared and "seeds" not in name else "mean"):
            yield name, what, "", value
    effects = {
        "paired": effect_paired(side, other),
        "paired share": effect_paired(dict(enumerate(ones)), dict(enumerate(ones[::-1]))),
        "independent": effect_independent(a, b),
        "independent share": effect_independent(ones, ones[3:]),
    }
    for name, value in effects.items():
        yield name, "effect", "", value
    share = grouped_share([(2, 3), (0, 2), (3, 3), (1, 2), (0, 1)])
    numbers = {"value": share.value, "n": share.n, "low": share.low, "high": share.high, "mcnemar": mcnemar(2, 9)}
    numbers |= {f"wilson {k}": end for k, end in enumerate(wilson(7, 23))}
    numbers |= {f"holm {k}": p for k, p in enumerate(holm([0.01, 0.04, None, 0.03])) if p is not None}
    numbers |= {f"hill {k}": hill_number([5, 3, 3, 1, 1], 6, 4, order=k) for k in range(3)}
    for what, value in numbers.items():
        yield "proportions", what, "", value


def run_numbers(run: Any) -> Iterator[Row]:
    """A finished run: its `metrics.json`, its row in the terminal, W&B's numbers, the model card's."""
    task = run.task.name
    model = run.folder.parent.name if run.folder.name == task else run.folder.name
    for path, value in leaves(run.metrics):
        yield "metrics", model, "", task, path, "value", "", value
    for name, value in _values(run).items():
        if not isinstance(value, str):
            yield "wandb", model, "", task, name, "value", "", value
    for result in _results(run):
        for metric in result["metrics"]:
            for path, value in leaves({"value": metric["value"], **metric.get("args", {})}):
                yield "card", model, "", task, metric["type"], path, "", value
    for where, _, _, _, measure, *others in terminal(lambda: print_run(run)):
        yield where, model, "", task, measure, *others


# People's sheets.


def people(folder: Path) -> Iterator[Row]:
    """A sheet of people's lists, with percentiles among a sample's scores, and without."""
    text, sample = sheet()
    file, norms = folder / "people.csv", folder / "norms.csv"
    file.write_text(text, "utf-8")
    norms.write_text(sample, "utf-8")
    for task, options in {"with norms": PeopleOptions(norms=str(norms)), "alone": PeopleOptions()}.items():
        output = folder / f"people {task}"
        score_people(dat_by(DatScorer(FakeNouns(NOUNS), OWN)), file, output, options)
        with (output / "scores.csv").open(encoding="utf-8-sig", newline="") as lines:
            for row in csv.DictReader(lines):
                for heading, cell in row.items():
                    if heading.startswith("sozo_") and (value := as_number(cell)) is not None:
                        name = f"{row['participant']}, {row['trial']}"
                        yield "people", name, "", task, heading.removeprefix("sozo_"), "value", "", value
        for line in (output / "people.md").read_text("utf-8").splitlines():
            if (printed := numbers_in(line)) and "sozo " not in line[:5]:
                start = line.strip("| ")[:20].partition("|")[0].strip()
                yield "people", start, "", task, "people.md", "printed", "", printed
        for title, (headings, *lines) in of_tables((output / "people.html").read_text("utf-8")):
            for (name, _), *cells in lines:
                for (heading, _), (shown, value) in zip(headings[1:], cells, strict=True):
                    if value or numbers_in(shown):
                        names = ("people page", name.strip(), "", task, f"{title}: {heading.strip()}")
                        yield *names, "printed", "", value or numbers_in(shown)
