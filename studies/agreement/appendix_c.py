"""What appendix C says of evaluations: Table 23 (ranks), Table 24 (agreement with people) and Figure 1 (the curve).

An evaluation (an encoder, people, a judge) is a table of models x items, float64, NaN where there is no score.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from sozo.data.errors import UserError
from sozo.scoring.final_text import final_text
from sozo.scoring.judges.protocol import Judge, JudgeSettings, Rubric, ToJudge
from sozo.scoring.judges.run import NOT_ASKED, JudgeSession, Judging
from sozo.scoring.statistics import holm
from sozo.studies.correlation import pearson
from sozo.studies.ratings import Rating
from sozo.tasks import task_type
from sozo.tasks.run_result import RunResult

MIN_MODELS = 3
DRAWS, SEED = 1000, 0  # of Figure 1
NO_ANSWER = (
    "no_rewrite"  # nothing to judge (empty, or half a reasoning block): never asked
)
Evaluations = dict[str, pd.DataFrame]  # by name
Runs = Mapping[str, RunResult]  # by model


@dataclass(frozen=True, slots=True)
class Placed:
    """A model in one evaluation."""

    mean: float | None = None  # None without a score, and so is `place`
    stories: int = 0  # that have a score
    place: int | None = None  # from 1


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Correlation with people over random subsets of so many stories."""

    stories: int  # size of the subsets
    mean: float | None  # mean correlation; None if no subset has one
    low: float | None  # 2.5th percentile
    high: (
        float | None
    )  # 97.5th percentile. At the number of all stories there is one subset, so both are the mean.
    subsets: int  # how many subsets have a correlation
    undefined: int  # how many have none (all models with the same mean); they are left out of the three numbers


@dataclass(frozen=True, slots=True)
class Agreement:
    """Pearson's correlation of the models' mean scores in two evaluations, over the stories that both have whole."""

    evaluation: str  # the one that is tested
    reference: str  # what it is tested against: people
    models: int  # that both have
    stories: (
        int  # on which all those models have a score in both: the means are over these
    )
    pearson: float | None = (
        None  # None with fewer than three models, no story, or the same mean for all models
    )
    p: float | None = None  # two-sided, of no correlation
    ci95: tuple[float, float] | None = (
        None  # Fisher's; None with fewer than four models. Eleven still make it wide.
    )
    reason: str | None = None  # why there is no correlation, or why it says little
    p_holm: float | None = (
        None  # p corrected for the number of evaluations compared with this reference
    )
    curve: tuple[
        CurvePoint, ...
    ] = ()  # Figure 1; empty without a correlation, or against the second reference


@dataclass(frozen=True, slots=True)
class Graded:
    """What a judge says of answers."""

    scores: pd.DataFrame  # models x items: mean over the criteria and an item's answers, divided by the highest score
    statuses: dict[
        str, Counter[str]
    ]  # model -> status -> answers; `no_rewrite` with nothing to judge
    judging: Judging  # of what there was something to ask about: tokens, cost, why it stopped

    def to_json(self) -> dict[str, Any]:
        """For a results file; the judgements themselves are in the ledger."""
        names = (
            "prompt_tokens",
            "completion_tokens",
            "cost",
            "unknown_cost",
            "stopped",
        )
        statuses = {
            model: dict(sorted(count.items())) for model, count in self.statuses.items()
        }
        return {
            "statuses": statuses,
            **{name: getattr(self.judging, name) for name in names},
        }


@dataclass(frozen=True, slots=True)
class AppendixC:
    """The result of `sozo agreement`."""

    tables: Evaluations  # encoders, people, a judge
    ranked: dict[str, dict[str, Placed]]  # Table 23: model -> evaluation -> its place
    # Table 24 and Figure 1: each other evaluation against people, then encoders against the judge; only the latter
    # without people; empty without either.
    compared: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        """For a results file, with every score by evaluation, model and story."""
        ranked = []
        for model, row in self.ranked.items():
            ranked.append(
                {
                    "model": model,
                    "by_evaluation": {
                        name: asdict(placed) for name, placed in row.items()
                    },
                }
            )
        scores: dict[str, Any] = {}
        for name, table in self.tables.items():
            scores[name] = {
                model: row.dropna().to_dict() for model, row in table.iterrows()
            }
        compared = [asdict(row) for row in self.compared]
        return {
            "draws": DRAWS,
            "seed": SEED,
            "ranked": ranked,
            "compared": compared,
            "scores": scores,
        }


def score_table(scores: Mapping[str, Mapping[str, float | None]]) -> pd.DataFrame:
    """The evaluation of each model's scores by item; None is no score, and an item without any is left out.

    >>> score_table({"A": {"1": 1.0, "2": 0.5}, "B": {"1": 0.0, "3": None}}).values.tolist()
    [[1.0, 0.5], [0.0, nan]]
    """
    return pd.DataFrame(scores, dtype=float).T.dropna(axis="columns", how="all")


def people_table(rankings: Iterable[Rating]) -> pd.DataFrame:
    """People's evaluation, each score the mean over the raters, models and items in the order of the rankings."""
    frame = pd.DataFrame(list(rankings))
    means = frame.groupby(["model", "item"]).score.mean().unstack()
    return means.loc[frame.model.unique(), frame.item.unique()]


def rank_models(evaluations: Evaluations) -> dict[str, dict[str, Placed]]:
    """Table 23: model -> evaluation -> its place there, in the first's order. Equal means share the better place.

    >>> tables = {"e": score_table({"A": {"1": 0.2}, "B": {"1": 0.6}}), "human": score_table({"A": {"1": 1.0}})}
    >>> {model: [placed.place for placed in row.values()] for model, row in rank_models(tables).items()}
    {'B': [1, None], 'A': [2, 1]}
    """
    ranked: dict[str, dict[str, Placed]] = {
        model: {} for table in evaluations.values() for model in table.index
    }
    for name, table in evaluations.items():
        means = table.mean(axis="columns").dropna()
        # Means that differ by no more than the order of a sum are equal.
        places = means.round(12).rank(ascending=False, method="min")
        for model, row in ranked.items():
            row[name] = Placed()
            if model in means:
                row[name] = Placed(
                    float(means[model]),
                    int(table.loc[model].count()),
                    int(places[model]),
                )
    first = next(iter(evaluations), None)
    return (
        dict(sorted(ranked.items(), key=lambda row: row[1][first].place or math.inf))
        if first
        else {}
    )


def agreement(evaluations: Evaluations, name: str, reference: str) -> Agreement:
    """How far an evaluation agrees with the one called `reference` over models: a cell of Table 24.

    >>> scores = score_table({"A": {"1": 0.5}, "B": {"1": 0.3}, "C": {"1": 0.1}})
    >>> people = score_table({"A": {"1": 1.0}, "B": {"1": 0.0}, "C": {"1": 0.5}})
    >>> round(agreement({"encoder": scores, "human": people}, "encoder", "human").pearson, 3)
    0.5
    """
    ours, theirs = aligned(evaluations[name], evaluations[reference])
    result = Agreement(name, reference, *ours.shape)
    if not result.stories:
        return replace(result, reason="no story has scores of all models in both")
    correlation = pearson(
        ours.mean(axis=1), theirs.mean(axis=1), unit="models", names=(name, reference)
    )
    ci95 = (
        None
        if correlation.low is None or correlation.high is None
        else (correlation.low, correlation.high)
    )
    reason = correlation.note or correlation.reason
    return replace(
        result, pearson=correlation.r, p=correlation.p, ci95=ci95, reason=reason
    )


def aligned(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Both evaluations' scores of the models they share, on the items where all of these have one in both."""
    models = [model for model in ours.index if model in theirs.index]
    items = [item for item in ours.columns if item in theirs.columns]
    ours, theirs = ours.loc[models, items], theirs.loc[models, items]
    scored = (ours.notna() & theirs.notna()).all()
    return ours.loc[:, scored].to_numpy(), theirs.loc[:, scored].to_numpy()


def agreement_curve(ours: np.ndarray, theirs: np.ndarray) -> tuple[CurvePoint, ...]:
    """Figure 1: correlation by the number of stories, over random subsets without replacement.

    `ours` and `theirs` are as of `aligned`, shape (models, stories), with three models and one story or more. One
    shuffle of the stories, of DRAWS, gives a subset of every size, its first so many.
    """
    n = ours.shape[1]
    rng = np.random.default_rng(SEED)
    orders = np.stack([rng.permutation(n) for _ in range(DRAWS)])
    points = []
    for size in range(1, n + 1):
        subsets = orders[:, :size] if size < n else np.arange(n)[None]
        # The mean over axis 2 of (models, subsets, size) for each evaluation.
        correlations = _pearson_rows(
            ours[:, subsets].mean(axis=2).T, theirs[:, subsets].mean(axis=2).T
        )
        defined = correlations[~np.isnan(correlations)]
        mean = low = high = None
        if len(defined):
            mean, (low, high) = (
                float(defined.mean()),
                np.percentile(defined, [2.5, 97.5]).tolist(),
            )
        points.append(
            CurvePoint(
                size, mean, low, high, len(defined), len(correlations) - len(defined)
            )
        )
    return tuple(points)


def _pearson_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson's correlation of each row of `a` with that of `b`; NaN where all numbers of a row are the same."""
    defined = differ(a) & differ(b)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norms = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    correlations = np.full(len(a), np.nan)
    correlations[defined] = (a * b).sum(axis=1)[defined] / norms[defined]
    return np.clip(correlations, -1, 1)


def differ(values: np.ndarray) -> Any:
    """Whether the numbers of each row differ by more than rounding does."""
    return np.ptp(values, axis=-1) > 1e-12


def appendix_c(
    encoders: Sequence[tuple[str, pd.DataFrame]],
    people: Evaluations,
    judge: Evaluations,
) -> AppendixC:
    """Ranks, agreement and curves of some evaluations of the same rewrites; `people` and `judge` are one each, or none.

    >>> scores = score_table({"A": {"1": 0.5}, "B": {"1": 0.3}, "C": {"1": 0.1}})
    >>> result = appendix_c([("encoder", scores)], {"human": scores}, {})
    >>> [(row.evaluation, round(row.pearson, 3)) for row in result.compared]
    [('encoder', 1.0)]
    """
    tables: Evaluations = {}
    for name, table in (*encoders, *people.items(), *judge.items()):
        if name in tables:
            raise UserError(
                f"two evaluations are called {name}; leave one out, or give it by another path"
            )
        tables[name] = table
    compared: list[Agreement] = []
    for reference in (*people, *judge):
        with_curves = not compared
        rows = [
            agreement(tables, name, reference)
            for name in tables
            if name not in (reference, *people)
        ]
        for row, p in zip(rows, holm([row.p for row in rows]), strict=True):
            has_curve = with_curves and row.pearson is not None
            curve = (
                agreement_curve(*aligned(tables[row.evaluation], tables[reference]))
                if has_curve
                else ()
            )
            compared.append(replace(row, p_holm=p, curve=curve))
    return AppendixC(tables, rank_models(tables), tuple(compared))


def rubric_of(run: RunResult) -> Rubric | None:
    """By which a judge can grade a run's answers beside the task's own scores; None where a judge's are its scores."""
    rubrics = () if "judge" in run.settings else task_type(run.task).rubrics
    return next(iter(rubrics), None)


def _to_judge(run: RunResult) -> Iterator[ToJudge]:
    """What is judged is what was scored: a judge that reads the reasoning too judges something else."""
    for answer in run.scored:
        text, asked = (
            final_text(answer.text) or "",
            run.items[answer.item].get("story", run.prompts[answer.item]),
        )
        yield ToJudge(
            answer.id, answer.item, asked, text if any(map(str.isalnum, text)) else ""
        )


def grade_answers(
    judge: Judge, rubric: Rubric, runs: Runs, settings: JudgeSettings, ledger: Path
) -> Graded:
    """Ask for the grade of every answer that the ledger has no judgement of; equal answers are asked about once."""
    answers = [
        (model, replace(a, id=f"{model}/{a.id}"))
        for model, run in runs.items()
        for a in _to_judge(run)
    ]
    to_ask = [answer for _, answer in answers if answer.answer]
    judging = JudgeSession(judge, settings).judge_answers(rubric, to_ask, ledger)
    judgements = iter(judging.judgements)
    statuses = {model: Counter[str]() for model in runs}
    grades: dict[str, dict[str, list[float]]] = {model: {} for model in runs}
    for model, answer in answers:
        if not answer.answer:
            statuses[model][NO_ANSWER] += 1
            continue
        judgement = next(judgements)
        statuses[model][str(judgement.status) if judgement else NOT_ASKED] += 1
        if judgement and judgement.scores:
            of_item = grades[model].setdefault(answer.question_id, [])
            of_item.append(fmean(judgement.scores.values()) / rubric.highest)
    scores = {
        model: {item: fmean(of_item) for item, of_item in by_item.items()}
        for model, by_item in grades.items()
    }
    return Graded(score_table(scores), statuses, judging)
