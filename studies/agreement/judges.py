"""How far judges of the same answers agree with each other, and one judge with itself when asked again."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sozo.data.errors import UserError
from sozo.data.markdown import bullets, plain
from sozo.data.run_folder import first_difference
from sozo.eval.evaluated import find_evaluated
from sozo.scoring.measure import DIFFERENCE, Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.table import Cell
from sozo.studies.agreement.appendix_c import rubric_of
from sozo.studies.agreement.ratings import VALUES, alpha_columns, check_level
from sozo.studies.pages import PageFolder, PageRow, PageRun, page_table
from sozo.studies.rater_agreement import Alpha, krippendorff_alpha
from sozo.tasks import task_type
from sozo.tasks.run_result import RunResult

_ABOUT = """\
Krippendorff's alpha ({level}), and the shares of answers that got the same score and scores at most 1 apart (of
several judgings the mean over pairs). *Second - first* is the difference of two means on the answers that both scored.
Judgings are one judge's if they share model, prompt and settings but for the seed. Judges that agree can still both be
wrong: only people's ratings tell (`sozo correlate --ratings`).
"""


@dataclass(frozen=True)
class Judged:
    """One judging of some answers: a place on the command line."""

    name: str
    task: str
    judge: dict[str, Any]  # what decides its replies but for the seed: the judge
    criteria: tuple[str, ...]
    scores: dict[
        tuple[str, str, str], float
    ]  # of (what was asked, the answer, criterion)

    @property
    def judge_name(self) -> str:
        """The judge, for people."""
        return f"{self.judge.get('model')} ({self.judge.get('prompt')})"


@dataclass(frozen=True, slots=True)
class SameAnswers:
    """How two or more judgings agree on one criterion; shares are means over pairs of judgings."""

    criterion: str
    alpha: Alpha
    exact: (
        float | None
    )  # share of answers with the same score; None where no answer has two
    within_one: float | None
    difference: (
        float | None
    )  # the second's mean minus the first's on what both scored, of two


@dataclass(frozen=True, slots=True)
class JudgesAgreement:
    """Rows of one table, and between whom."""

    between: tuple[str, ...]
    rows: tuple[SameAnswers, ...]


def find_judged(places: Sequence[str], wanted: str | None) -> list[Judged]:
    """What each place holds of a task whose answers a judge scored; none if a place's runs are of other tasks."""
    judged: list[Judged] = []
    for place in places:
        runs = [
            run
            for model in find_evaluated([place])
            for run in (*model.runs.values(), *model.judged.values())
        ]
        if wanted is None and any(map(rubric_of, runs)):
            return []
        runs = [
            run
            for run in runs
            if "judge" in run.settings and _criteria(run) and wanted in (None, run.task)
        ]
        if not runs:
            return []
        tasks = sorted(
            {run.task for run in runs} | {judging.task for judging in judged}
        )
        if len(tasks) > 1:
            raise UserError(
                f"there are runs of {', '.join(tasks)}; say which: --task NAME"
            )
        judged.append(_judged(place, runs))
    return judged


def _judged(place: str, runs: Sequence[RunResult]) -> Judged:
    judge, criteria = _judge(runs[0]), _criteria(runs[0])
    scores: dict[tuple[str, str, str], float] = {}
    for run in runs:
        if difference := first_difference(judge, _judge(run)):
            raise UserError(
                f"{place}: holds runs of several judges ({difference[0]} differs); name each one's folder"
            )
        for answer in run.answers():
            for criterion in criteria:
                if (score := answer.values.get(f"{run.task}/{criterion}")) is not None:
                    scores[run.prompts[answer.item], answer.text, criterion] = score
    return Judged(place.partition("=")[0], runs[0].task, judge, criteria, scores)


def _criteria(run: RunResult) -> tuple[str, ...]:
    """What a judge scores the task's answers by."""
    return tuple(
        dict.fromkeys(
            name for rubric in task_type(run.task).rubrics for name in rubric.criteria
        )
    )


def _judge(run: RunResult) -> dict[str, Any]:
    judge = {
        name: value
        for name, value in run.settings["judge"].items()
        if name not in ("max_tokens", "server")
    }
    if isinstance(body := judge.get("extra_body"), dict):
        judge["extra_body"] = {
            name: value for name, value in body.items() if name != "seed"
        }
    return judge


def agree_judges(
    judged: Sequence[Judged], output: Path, *, level: str = "ordinal"
) -> PageRun:
    """Agreement of one judge's repeated judgings, and of several judges, on the same answers (`find_judged`)."""
    check_level(level)
    if len(judged) < 2:
        raise UserError(
            "agreement of judges needs two judgings of the same answers; give two folders or more"
        )
    names = [judging.name for judging in judged]
    if len(set(names)) < len(names):
        raise UserError(f"{names[0]} comes twice; name each folder once: NAME=DIR")
    # A row for each question, answer and criterion.
    scores = pd.DataFrame(
        {judging.name: pd.Series(judging.scores) for judging in judged}
    )
    if scores.count(axis="columns").max() < 2:
        raise UserError(
            f"{', '.join(names)}: no answer was judged twice; give judgings of the same answers"
        )
    digests = {
        j.name: hashlib.sha256(repr(sorted(j.scores.items())).encode()).hexdigest()
        for j in judged
    }
    settings = {
        "task": "agreement of judges",
        "judged": digests,
        "judges": [j.judge for j in judged],
        "level": level,
    }
    folder = PageFolder(output, settings, "agreement", [VALUES])
    if finished := folder.finished():
        return finished
    folder.start({}, {})
    again, judges = compare_judgings(judged, scores, level)
    values = {
        "level": level,
        "retests": [asdict(pair) for pair in again],
        "judges": [asdict(pair) for pair in judges],
    }
    folder.add(VALUES, values)
    parts = [f"# How far judges of the same {judged[0].task.upper()} answers agree\n"]
    counts = {name: len(scores[name].dropna().groupby(level=[0, 1])) for name in names}
    parts.append(
        bullets(
            f"{plain(j.name)}: {plain(j.judge_name)}, {counts[j.name]:,} answers"
            for j in judged
        )
    )
    parts.append(_ABOUT.format(level=level))
    for heading, tables in (
        ("The same judge again", again),
        ("Different judges", judges),
    ):
        for pair in tables:
            rows = [_row(row, two=len(pair.between) == 2) for row in pair.rows]
            parts += [
                f"## {heading}: {plain(', '.join(pair.between))}\n",
                page_table(rows),
            ]
    return folder.publish("\n".join(parts), values)


def compare_judgings(
    judged: Sequence[Judged], scores: pd.DataFrame, level: str
) -> tuple[list[JudgesAgreement], list[JudgesAgreement]]:
    """How far each judge that was asked more than once agrees with itself, and how far different judges agree.

    Of different judges there are all together, and each two of more than two; a judge's score is the mean over its
    judgings. `scores` has a column for each of `judged`.
    """
    by_judge: dict[str, list[Judged]] = {}
    for judging in judged:
        by_judge.setdefault(json.dumps(judging.judge, sort_keys=True), []).append(
            judging
        )
    again, means = [], pd.DataFrame(index=scores.index)
    for judgings in by_judge.values():
        own = scores[[judging.name for judging in judgings]]
        if len(judgings) > 1:
            again.append(_agreement(own, judged[0].criteria, level))
        means[judgings[0].judge_name if len(judgings) > 1 else judgings[0].name] = (
            own.mean(axis="columns")
        )
    sets = [
        *([tuple(means)] if len(by_judge) > 1 else ()),
        *(combinations(means, 2) if len(by_judge) > 2 else ()),
    ]
    return again, [
        _agreement(means[list(names)], judged[0].criteria, level) for names in sets
    ]


def _agreement(
    scores: pd.DataFrame, criteria: Sequence[str], level: str
) -> JudgesAgreement:
    of_criterion = scores.index.get_level_values(2)
    rows = [
        same_answers(name, scores[of_criterion == name].to_numpy().T, level)
        for name in criteria
    ]
    return JudgesAgreement(tuple(scores), tuple(rows))


def same_answers(
    criterion: str, scores: np.ndarray, level: str = "ordinal"
) -> SameAnswers:
    """Agreement of judgings of the same answers, scores of shape (judgings, answers) with NaN where there is none.

    >>> same_answers("fluency", np.array([[1.0, 2, 3, 4], [1, 3, 5, np.nan]])).within_one
    0.6666666666666666
    """
    alpha = krippendorff_alpha(scores, level)
    gaps = [
        (second - first)[~np.isnan(second - first)]
        for first, second in combinations(scores, 2)
    ]
    gaps = [gap for gap in gaps if len(gap)]
    if not gaps:
        return SameAnswers(criterion, alpha, None, None, None)
    exact, within_one = (
        float(np.mean([(np.abs(gap) <= most + 1e-9).mean() for gap in gaps]))
        for most in (0, 1)
    )
    return SameAnswers(
        criterion,
        alpha,
        exact,
        within_one,
        float(gaps[0].mean()) if len(scores) == 2 else None,
    )


def _row(row: SameAnswers, two: bool) -> PageRow:
    alpha = alpha_columns(row.alpha, "Answers")
    gap = (
        {"Second - first": Cell(row.difference, Measure("gap", 2), DIFFERENCE)}
        if two
        else {}
    )
    shares = {
        "Same score": Cell(row.exact, SHARE),
        "At most 1 apart": Cell(row.within_one, SHARE),
    }
    return {"Criterion": row.criterion, **alpha, **shares, **gap}
