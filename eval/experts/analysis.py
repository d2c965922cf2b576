"""What the predictions are worth: rows of Figure 1 with the dummies beside them, and differences on common ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sozo.data.rubrics import Criterion
from sozo.eval.experts.alphas import Difference, Value, difference, pooled, within
from sozo.eval.experts.asks import Votes
from sozo.eval.experts.dummies import others_median, own_median, shifted
from sozo.eval.experts.histories import Condition, Pools, Rated
from sozo.eval.experts.votes import Prediction, predict
from sozo.scoring.statistics import holm

Predictions = Mapping[tuple[str, str], Prediction]  # by condition and rating


@dataclass(frozen=True, slots=True)
class Row:
    """One way of predicting the scores of one criterion."""

    criterion: str
    name: str  # a condition's, or a dummy's
    dummy: bool  # asks nobody
    within: Value
    pooled: Value
    n: int  # predictions
    of: int  # ratings
    exact: float | None  # share of predictions that are the expert's score
    within_one: float | None
    error: float | None  # mean absolute difference
    kept: float | None  # share of the votes that counted; None of a dummy
    unparseable: float | None  # share of the votes that could not be read


@dataclass(frozen=True, slots=True)
class Compared:
    """Two ways of predicting one criterion, on what both predict."""

    criterion: str
    first: str
    second: str
    within: Difference


@dataclass(frozen=True, slots=True)
class Result:
    """The tables of `sozo experts`."""

    rows: tuple[Row, ...]
    compared: tuple[Compared, ...]
    level: str
    min_confidence: int

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        return asdict(self)

    def row(self, criterion: str, name: str) -> Row | None:
        """The row of that name."""
        return next((row for row in self.rows if (row.criterion, row.name) == (criterion, name)), None)


def own_name(shots: int) -> str:
    """What the first dummy is called."""
    return f"own median {shots}"


OTHERS, SHIFTED = "others' median", "zero, shifted"


def predictions(votes: Votes, of: Sequence[Rated], conditions: Sequence[Condition], min_confidence: int) -> Predictions:
    """A prediction for each condition and rating."""
    keys = [(condition.name, rating.id) for condition in conditions for rating in of]
    return {key: predict(votes.by_rating.get(key, ()), min_confidence) for key in keys}


def analyse(
    ratings: Sequence[Rated],
    of: Sequence[Rated],
    conditions: Sequence[Condition],
    criteria: Sequence[Criterion],
    votes: Votes,
    predicted: Predictions,
    *,
    seeds: int,
    level: str,
    least: int,
    min_confidence: int,
) -> Result:
    """Alphas of every condition and dummy, and the differences that the paper's claim is about."""
    pools, rows, compared = Pools(ratings), list[Row](), list[Compared]()
    shots = sorted({condition.shots for condition in conditions if condition.shots})
    for criterion in criteria:
        part = [rating for rating in of if rating.criterion == criterion.name]
        if not part:
            continue
        scores: dict[str, Mapping[str, int]] = {}
        for condition in conditions:
            given = [(rating.id, predicted[condition.name, rating.id].score) for rating in part]
            scores[condition.name] = {name: score for name, score in given if score is not None}
        dummies: dict[str, Mapping[str, int]] = {own_name(n): own_median(part, pools, n) for n in shots or (1,)}
        dummies[OTHERS] = others_median(part, pools)
        if scores.get("zero"):
            dummies[SHIFTED] = shifted(part, scores["zero"], {criterion.name: (criterion.lowest, criterion.highest)})
        for name, given_scores in (scores | dummies).items():
            shares = (None, None) if name in dummies else _shares(votes, predicted, part, name, seeds)
            rows.append(_row(criterion.name, name, name in dummies, part, given_scores, shares, level, least))
        for n in shots:
            for first, second in ((f"same {n}", f"diff {n}"), (f"same {n}", "zero"), (f"same {n}", own_name(n))):
                every = scores | dummies
                if first in every and second in every:
                    gap = difference(part, every[first], every[second], level, least)
                    compared.append(Compared(criterion.name, first, second, gap))
    corrected = holm([one.within.p for one in compared])
    compared = [replace(o, within=replace(o.within, p_holm=p)) for o, p in zip(compared, corrected, strict=True)]
    return Result(tuple(rows), tuple(compared), level, min_confidence)


def _row(
    criterion: str,
    name: str,
    dummy: bool,
    part: Sequence[Rated],
    predicted: Mapping[str, int],
    shares: tuple[float | None, float | None],
    level: str,
    least: int,
) -> Row:
    gaps = np.array([abs(rating.score - predicted[rating.id]) for rating in part if rating.id in predicted])
    exact, near, error = (float(np.mean(values)) if len(gaps) else None for values in (gaps == 0, gaps <= 1, gaps))
    alphas = (within(part, predicted, level, least), pooled(part, predicted, level, least))
    return Row(criterion, name, dummy, *alphas, len(gaps), len(part), exact, near, error, *shares)


def _shares(
    votes: Votes, predicted: Predictions, part: Sequence[Rated], condition: str, seeds: int
) -> tuple[float, float]:
    """Of all votes that were to be asked, those that counted, and those that could not be read."""
    of = len(part) * seeds
    kept = sum(predicted[condition, rating.id].kept for rating in part)
    unread = sum(vote is None for rating in part for vote in votes.by_rating.get((condition, rating.id), ()))
    return kept / of, unread / of
