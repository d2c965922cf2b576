"""Two raters of the same answers: r over systems, over answers and within systems, by questions (Tables 8, 23, 24, Figure 1)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from sozo.data.markdown import plain
from sozo.data.published import correlations, load_text
from sozo.scoring.embeddings.prompts import split_prompt
from sozo.scoring.statistics import holm
from sozo.studies.correlation import OVER, WITHIN, by_systems, pearson
from sozo.studies.ratings import UNIT

PEOPLE, ALL_TASKS, MEAN = "people", "All", "mean"
DRAWS, SEED = 1000, 0  # of Figure 1
HIGH = 0.5  # a correlation that invites to trust a judge
_ANSWERS = "over answers"
_PAPER_NAMES = {"openai:text-embedding-3-large": "OpenAI text-embedding-3-large"}
Cells = list[dict[str, Any]]


def scores_of(ratings: pd.DataFrame) -> pd.DataFrame:
    """A rater's scores, or several raters' mean scores: a row for each unit, a column for each criterion."""
    return ratings.pivot_table(
        index=UNIT, columns="criterion", values="score", sort=False
    )


def compare(
    ours: pd.DataFrame, theirs: pd.DataFrame, kinds: Mapping[Any, str], task: str = ""
) -> Cells:
    """Correlations of two raters' `scores_of` the same answers, by kind of item and criterion, `All` and `mean` last.

    The paper's r is that of people with the judge of `task`. A criterion of each is compared whatever it is called. A
    mean is of all criteria, or there is none. `kinds` are those of the units, in order. Where each answer is of a model
    or a question of its own, r over answers has the interval of independent pairs, else that over questions.
    """
    names = [name for name in theirs if name in ours]
    if ours.shape[1] == theirs.shape[1] == 1:
        names = [*theirs]
        ours = ours.set_axis(names, axis="columns")
    units = [unit for unit in kinds if unit in ours.index]
    both = [side.reindex(units)[names] for side in (ours, theirs)]
    if len(names) > 1:
        both = [s.assign(**{MEAN: s.mean(axis="columns", skipna=False)}) for s in both]
    of_kinds = pd.Series([kinds[unit] for unit in units], dtype=object)
    cells: Cells = []
    for kind in (*of_kinds[of_kinds != ""].unique(), ALL_TASKS):
        here = (of_kinds == kind).to_numpy() | (kind == ALL_TASKS)
        for criterion in both[0]:
            people, judge = (side[criterion][here] for side in both)
            rated = people.dropna().index
            common = judge[rated].dropna().index
            systems, items = (common.get_level_values(name) for name in UNIT[:2])
            sides = judge[common].to_numpy(), people[common].to_numpy()
            ways = by_systems(*sides, systems, items)
            shared = any(1 < of.nunique() < len(common) for of in (systems, items))
            if not shared:
                ways[_ANSWERS] = pearson(*sides, unit="answers")
            names_of = {"task": kind, "criterion": criterion}
            cell = names_of | asdict(ways.pop(_ANSWERS)) | {"of": len(rated)}
            cells.append(cell | {name: asdict(way) for name, way in ways.items()})
    completed(cells, task, PEOPLE)
    for cell in cells if len(names) < theirs.shape[1] else ():
        if cell["criterion"] == MEAN:  # the paper's is that of all criteria
            cell["paper"] = None
    return cells


def completed(cells: Cells, first: str = "", second: str = "") -> Cells:
    """The cells with their p-values corrected together, and the paper's r of two tasks, or of a task and people."""
    paper = {
        (row.get("task", "").lower(), row.get("criterion", "")): float(row["pearson"])
        for row in correlations(first, second)
    }
    corrected = holm([cell["p"] for cell in cells])
    for cell, p_holm in zip(cells, corrected, strict=True):
        known = paper.get((cell["task"].lower(), cell["criterion"]))
        cell |= {"p_holm": p_holm, "paper": known}
    return cells


def verdicts(cells: Cells) -> Iterable[str]:
    """Where two raters agree on systems, over all kinds of items, and are not shown to agree on the answers of one."""
    for cell in cells:
        if cell["task"] != ALL_TASKS:
            continue
        over, within = cell[OVER], cell[WITHIN]
        high = max((cell, over), key=lambda way: way["r"] or -1)
        if (
            (high["r"] or 0) < HIGH
            or within["r"] is None
            or (within["low"] or 0) > 0
            or within["r"] >= high["r"]
        ):
            continue
        ends = (
            f" [{within['low']:.2f}, {within['high']:.2f}]"
            if within["low"] is not None
            else ""
        )
        name = plain(f"{cell['task']}, {cell['criterion']}")
        yield (
            f"{name}: r is {high['r']:.2f} {'over systems' if high is over else 'over answers'} and "
            f"{within['r']:.2f}{ends} within systems. They agree on which system is better; that they agree on which of "
            "one system's answers is better is not shown. Cite the second number where single answers are judged."
        )


def printed(rater: str) -> float | None:
    """The r with people that the paper prints of an encoder; it says nothing of prompts."""
    rows = load_text("sat_embedding_human_correlation")
    known = {row["embedding_model"]: float(row["pearson"]) for row in rows}
    return known.get(_PAPER_NAMES.get(rater, split_prompt(rater)[0]))


def places_of(by_rater: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Table 23: each system's mean, questions with a score and place by every rater, in the first one's order.

    Equal means share the better place; without a score there is neither.
    """
    by_item = {
        rater: scores.mean(axis="columns").groupby(["system", "item"]).mean()
        for rater, scores in by_rater.items()
    }
    groups = {
        rater: one.groupby("system", sort=False) for rater, one in by_item.items()
    }
    means = pd.DataFrame({rater: group.mean() for rater, group in groups.items()})
    # Means that differ by no more than the order of a sum are equal.
    ranks = means.round(12).rank(ascending=False, method="min")
    rows = []
    for system in ranks.sort_values(ranks.columns[0], kind="stable").index:
        row: dict[str, Any] = {"system": system}
        for rater, group in groups.items():
            row[rater] = {"mean": None, "n": 0, "place": None}
            if not math.isnan(mean := means.at[system, rater]):
                n, place = int(group.size()[system]), int(ranks.at[system, rater])
                row[rater] = {"mean": float(mean), "n": n, "place": place}
        rows.append(row)
    return rows


def curve(ours: pd.DataFrame, theirs: pd.DataFrame) -> list[dict[str, Any]]:
    """Figure 1: mean correlation over systems by the number of questions, over random subsets without replacement.

    Questions count that all systems of both have a score of in both. One shuffle of them, of DRAWS, gives a subset of
    every size, its first so many. A subset in which all systems have the same mean has no correlation (`undefined`).
    """
    sides = [
        side.mean(axis="columns")
        .groupby(["system", "item"], sort=False)
        .mean()
        .unstack()
        for side in (ours, theirs)
    ]
    systems, items = (
        getattr(sides[0], axis).intersection(getattr(sides[1], axis), sort=False)
        for axis in ("index", "columns")
    )
    sides = [side.loc[systems, items] for side in sides]
    whole = (sides[0].notna() & sides[1].notna()).all()
    a, b = (side.loc[:, whole].to_numpy() for side in sides)
    points, n = [], a.shape[1]
    rng = np.random.default_rng(SEED)
    orders = np.stack([rng.permutation(n) for _ in range(DRAWS)])
    for size in range(1, n + 1) if len(systems) > 2 else ():
        subsets = orders[:, :size] if size < n else np.arange(n)[None]
        # The mean over axis 2 of (systems, subsets, size) for each side.
        x, y = (side[:, subsets].mean(axis=2).T for side in (a, b))
        good = (np.ptp(x, axis=1) > 1e-12) & (np.ptp(y, axis=1) > 1e-12)
        x, y = (s[good] - s[good].mean(axis=1, keepdims=True) for s in (x, y))
        norms = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
        r = np.clip((x * y).sum(axis=1) / norms, -1, 1)
        low, high = np.percentile(r, [2.5, 97.5]).tolist() if len(r) else (None, None)
        mean = float(r.mean()) if len(r) else None
        point = {"questions": size, "mean": mean, "low": low, "high": high}
        points.append(point | {"undefined": len(good) - len(r)})
    return points
