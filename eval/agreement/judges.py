"""How far judges of the same answers agree with each other, and one judge with itself when asked again."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.run_folder import first_difference
from sozo.eval.evaluated import find_evaluated
from sozo.scoring.statistics.agreement import Alpha, krippendorff_alpha
from sozo.tasks import task_type
from sozo.tasks.finished import Finished

Scores = dict[tuple[str, str, str], float]  # of (what was asked, the answer, criterion)


@dataclass(frozen=True)
class Judged:
    """One judging of some answers: a place on the command line."""

    name: str
    task: str
    judge: dict[str, Any]  # what decides its replies but for the seed: the judge
    criteria: tuple[str, ...]
    scores: Scores

    @property
    def judge_name(self) -> str:
        """The judge, for people."""
        return f"{self.judge.get('model')} ({self.judge.get('prompt')})"


@dataclass(frozen=True, slots=True)
class SameAnswers:
    """How two or more judgings agree on one criterion; shares are means over pairs of judgings."""

    criterion: str
    alpha: Alpha
    exact: float | None  # share of answers with the same score; None where no answer has two
    within_one: float | None
    difference: float | None  # the second's mean minus the first's on what both scored, of two


@dataclass(frozen=True, slots=True)
class Agreements:
    """Rows of one table, and between whom."""

    between: tuple[str, ...]
    rows: tuple[SameAnswers, ...]

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        return asdict(self)


def find_judged(places: Sequence[str], benchmark: str | None) -> list[Judged]:
    """What each place holds of a task whose answers a judge scored; none if a place's runs are of other tasks."""
    judged: list[Judged] = []
    for place in places:
        runs = [run for model in find_evaluated([place]) for run in model.runs.values()]
        if benchmark is None and any(run.rubric is not None for run in runs):
            return []
        runs = [run for run in runs if "judge" in run.settings and _criteria(run) and benchmark in (None, run.task)]
        if not runs:
            return []
        tasks = sorted({run.task for run in runs} | {one.task for one in judged})
        if len(tasks) > 1:
            raise UserError(f"there are runs of {', '.join(tasks)}; say which: --benchmark NAME")
        judged.append(_judged(place, runs))
    return judged


def _judged(place: str, runs: Sequence[Finished]) -> Judged:
    judge, criteria = _judge(runs[0]), _criteria(runs[0])
    scores: Scores = {}
    for run in runs:
        if difference := first_difference(judge, _judge(run)):
            raise UserError(f"{place}: holds runs of several judges ({difference[0]} differs); name each one's folder")
        for answer in run.answers():
            for criterion in criteria:
                if (score := answer.values.get(f"{run.task}/{criterion}")) is not None:
                    scores[run.prompts[answer.item], answer.text, criterion] = score
    return Judged(place.partition("=")[0], runs[0].task, judge, criteria, scores)


def _criteria(run: Finished) -> tuple[str, ...]:
    """What a judge scores the task's answers by."""
    return tuple(dict.fromkeys(name for rubric in task_type(run.task).rubrics for name in rubric.criteria))


def _judge(run: Finished) -> dict[str, Any]:
    judge = {name: value for name, value in run.settings["judge"].items() if name not in ("max_tokens", "server")}
    if isinstance(body := judge.get("extra_body"), dict):
        judge["extra_body"] = {name: value for name, value in body.items() if name != "seed"}
    return judge


def by_judge(judged: Sequence[Judged]) -> list[list[Judged]]:
    """The judgings of each judge, in the order of the first ones."""
    groups: list[list[Judged]] = []
    for one in judged:
        same = next((group for group in groups if group[0].judge == one.judge), None)
        if same is None:
            groups.append(same := [])
        same.append(one)
    return groups


def retests(judged: Sequence[Judged], level: str) -> list[Agreements]:
    """For each judge that was asked more than once, how far it agrees with itself."""
    groups = [{one.name: one.scores for one in group} for group in by_judge(judged) if len(group) > 1]
    return [_agreements(group, judged[0].criteria, level) for group in groups]


def among_judges(judged: Sequence[Judged], level: str) -> list[Agreements]:
    """How far all judges agree, and each two of more than two; a judge's score is the mean over its judgings."""
    judges = {group[0].judge_name if len(group) > 1 else group[0].name: _means(group) for group in by_judge(judged)}
    if len(judges) < 2:
        return []
    pairs = list(combinations(judges, 2)) if len(judges) > 2 else []
    several = [judges, *({name: judges[name] for name in pair} for pair in pairs)]
    return [_agreements(some, judged[0].criteria, level) for some in several]


def _means(group: Sequence[Judged]) -> Scores:
    given: dict[tuple[str, str, str], list[float]] = {}
    for one in group:
        for key, score in one.scores.items():
            given.setdefault(key, []).append(score)
    return {key: sum(scores) / len(scores) for key, scores in given.items()}


def _agreements(scores: Mapping[str, Scores], criteria: Sequence[str], level: str) -> Agreements:
    answers = list(dict.fromkeys(key[:2] for of_one in scores.values() for key in of_one))
    rows = []
    for criterion in criteria:
        lines = [[of_one.get((*answer, criterion), np.nan) for answer in answers] for of_one in scores.values()]
        rows.append(same_answers(criterion, np.array(lines, np.float64).reshape(len(scores), len(answers)), level))
    return Agreements(tuple(scores), tuple(rows))


def same_answers(criterion: str, scores: np.ndarray, level: str = "ordinal") -> SameAnswers:
    """Agreement of judgings of the same answers, scores of shape (judgings, answers) with NaN where there is none.

    >>> same_answers("fluency", np.array([[1.0, 2, 3, 4], [1, 3, 5, np.nan]])).within_one
    0.6666666666666666
    """
    apart = [b - a for a, b in combinations(scores, 2)]
    apart = [gaps[~np.isnan(gaps)] for gaps in apart]
    apart = [gaps for gaps in apart if len(gaps)]
    exact, within = (
        float(np.mean([(np.abs(gaps) <= most + 1e-9).mean() for gaps in apart])) if apart else None for most in (0, 1)
    )
    difference = float(apart[0].mean()) if len(scores) == 2 and apart else None
    return SameAnswers(criterion, krippendorff_alpha(scores, level), exact, within, difference)
