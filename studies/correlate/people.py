"""Two raters of the same answers: r over systems, over answers and within systems, by questions (Tables 8, 23, 24, Figure 1)."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from sozo.data.markdown import plain
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import Cell
from sozo.studies.correlate.across import ALL_TASKS, Cells, completed
from sozo.studies.correlation import (
    ANSWERS,
    OVER,
    WITHIN,
    Correlation,
    by_systems,
    pearson,
)
from sozo.studies.ratings import UNIT, Judges, records

PEOPLE, MEAN = "people", "mean"
DRAWS, SEED = 1000, 0  # of Figure 1


def scores_of(ratings: pd.DataFrame) -> pd.DataFrame:
    """A rater's scores, or several raters' mean scores: a row for each unit, a column for each criterion."""
    return ratings.pivot_table(
        index=UNIT, columns="criterion", values="score", sort=False
    )


def compare(
    ours: pd.DataFrame,
    theirs: pd.DataFrame,
    kind_of: pd.Series,
    kinds: Iterable[str] = (),
    task: str = "",
) -> Cells:
    """Correlations of two raters' `scores_of` the same answers, by kind of item and criterion, `All` and `mean` last.

    The paper's r is that of people with the judge of `task`. A criterion of each is compared whatever it is called. A
    mean is of all criteria, or there is none. `kind_of` says of which of the `kinds` a unit is.
    Where each answer is of a model or a question of its own, r over answers has the interval of independent pairs.
    """
    names = [name for name in theirs if name in ours]
    if ours.shape[1] == theirs.shape[1] == 1:
        names = [*theirs]
        ours = ours.set_axis(names, axis="columns")
    kind_of = kind_of[kind_of.index.isin(ours.index)]
    both = [side.reindex(kind_of.index)[names] for side in (ours, theirs)]
    if len(names) > 1:
        both = [s.assign(**{MEAN: s.mean(axis="columns", skipna=False)}) for s in both]
    cells: Cells = []
    here = [kind for kind in kinds if kind and kind_of.eq(kind).any()]
    for kind, criterion in product((*here, ALL_TASKS), both[0]):
        chosen = kind_of.eq(kind) | (kind == ALL_TASKS)
        x, y = (side[criterion][chosen] for side in both)
        rated = x.dropna().index
        common = y[rated].dropna().index
        systems, items = (common.get_level_values(name) for name in UNIT[:2])
        sides = y[common].to_numpy(), x[common].to_numpy()
        ways = by_systems(*sides, systems, items)
        if not any(1 < of.nunique() < len(common) for of in (systems, items)):
            ways[ANSWERS] = pearson(*sides, unit="answers")
        if not any(systems):
            reason = "no column says which system"
            unknown = Correlation(None, None, None, None, len(rated), reason)
            ways |= dict.fromkeys((OVER, WITHIN), unknown)
        cell = {"task": kind, "criterion": criterion, **asdict(ways.pop(ANSWERS))}
        cell |= {name: asdict(way) for name, way in ways.items()}
        cells.append(cell | {"of": len(rated)})
    completed(cells, task, PEOPLE)
    for cell in cells if len(names) < theirs.shape[1] else ():
        if cell["criterion"] == MEAN:  # the paper's is that of all criteria
            cell["paper"] = None
    return cells


def with_people(table: pd.DataFrame, judges: Judges) -> list[dict[str, Any]]:
    """Pearson's r over systems of people with each judge of the table, as `sozo report --paper` reads it."""
    people, rows = scores_of(table[~table.rater.isin([*judges])]), []
    for judge, settings in judges.items() if len(people) else ():
        theirs = scores_of(table[table.rater == judge])
        names = {"evaluation": f"judge {settings.get('model')}", "reference": "human"}
        for cell in compare(people, theirs, pd.Series("", theirs.index))[-1:]:
            r = cell[OVER]
            rows.append(names | {"models": r["n"], "pearson": r["r"]})
    return rows


def verdicts(cells: Cells) -> Iterable[str]:
    """To cite: whether two raters are shown to agree on the answers of one system, over all kinds of items."""
    for cell in cells:
        over, within = cell[OVER], cell[WITHIN]
        if cell["task"] != ALL_TASKS or within["r"] is None:
            continue
        shows = "which does not show that they agree on which of one system's answers is better"
        if within["low"] is None:
            shows = f"of which nothing is known: {within['reason']}"
        elif within["low"] > 0:
            shows = "so to some degree they agree on which of one system's answers is better"
        text = f"{plain(cell['criterion'])}: r is {shown(within).line} within systems ({within['n']} answers), {shows}."
        if over["r"]:
            text += f" It is {shown(over).line} over systems, which says only how far they order systems alike."
        yield text


def shown(way: Mapping[str, Any]) -> Cell:
    """An r with its interval, or why there is none."""
    r = Estimate(way["r"], way["low"], way["high"])
    return Cell(r, Measure("r", 3), why=way["reason"] or "")


def by_item(scores: pd.DataFrame) -> pd.Series:
    """A rater's mean score over criteria and answers, by question and system."""
    return scores.mean(axis="columns").groupby(["item", "system"]).mean()


def places_of(by_rater: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Table 23, a row for each rater and system: `mean`, `n` questions with a score, and `place`.

    Equal means share the better place; a system without a score has no row.
    """
    parts = []
    for rater, scores in by_rater.items():
        part = by_item(scores).groupby("system").agg(mean="mean", n="count").dropna()
        # Means that differ by no more than the order of a sum are equal.
        place = part["mean"].round(12).rank(ascending=False, method="min").astype(int)
        part = part.assign(place=place, rater=rater)
        parts.append(part.sort_values("place", kind="stable"))
    return pd.concat(parts).reset_index()


def curve(ours: pd.DataFrame, theirs: pd.DataFrame) -> list[dict[str, Any]]:
    """Figure 1: mean correlation over systems by the number of questions, over random subsets without replacement.

    Questions count that all systems of both have a score of in both. One shuffle of them, of DRAWS, gives a subset of
    every size, its first so many. A subset in which all systems have the same mean has no correlation (`undefined`).
    """
    both = pd.concat([by_item(ours), by_item(theirs)], axis=1, keys=["x", "y"])
    whole = both.dropna().unstack().dropna()
    points, n = list[dict[str, Any]](), len(whole)
    rng = np.random.default_rng(SEED)
    orders = np.stack([rng.permutation(n) for _ in range(DRAWS)])
    for size in range(1, n + 1) if len(whole.columns) > 4 else ():
        subsets = orders[:, :size] if size < n else np.arange(n)[None]
        # Means over questions: a row for each system, a column for each subset.
        x, y = (whole[side].to_numpy()[subsets].mean(axis=1).T for side in "xy")
        good = (np.ptp(x, axis=0) > 1e-12) & (np.ptp(y, axis=0) > 1e-12)
        r = pd.DataFrame(x[:, good]).corrwith(pd.DataFrame(y[:, good])).clip(-1, 1)
        point = {"questions": size, "mean": r.mean(), "low": r.quantile(0.025)}
        point |= {"high": r.quantile(0.975), "undefined": len(good) - len(r)}
        points.append(point)
    return records(pd.DataFrame(points))
