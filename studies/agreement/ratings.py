"""What `sozo agreement FILE` does: how far the raters of a file agree (Tables 1 and 2 of the PBIG-DATA paper)."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.markdown import plain
from sozo.data.settings import hint
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import n_of
from sozo.scoring.table import Cell
from sozo.studies.agreement.raters import (
    RatersAgreement,
    by_domain,
    habits,
    out_of_stage,
    raters_agreement,
    records,
)
from sozo.studies.pages import PageFolder, PageRow, PageRun, page_table
from sozo.studies.rater_agreement import LEVELS, Alpha
from sozo.studies.ratings import read_any_ratings
from sozo.studies.rubric import load_rubric

VALUES = "agreement.json"
MOST_SCORES = 50  # on a scale: pairs of scores are counted item by item
_SHOWN = 20  # of a list, the rest is in agreement.json
ALPHA = Measure("alpha", 2)
_ABOUT_ALPHA = """\
Krippendorff's alpha ({level}): 1 is full agreement, 0 what scores dealt at random have, below 0 systematic
disagreement; from 0.8 on he takes data for reliable, from 0.667 on for tentative conclusions. The interval (95%) is for
these raters and other items. *Items* have two scores or more; agreement.json has all four levels.
"""
_ABOUT_PAIRS = """\
Means over the pairs of raters with {least} common items or more. *Above own median* is the Jaccard index of the items
that each of two rates above the median of all their scores; beside it what random sets as large would have.
"""


def agree_ratings(
    path: Path, output: Path, *, rubric: str | None = None, level: str, least: int
) -> PageRun:
    """Agreement of the raters of a file of ratings, by the rubric of that name or file, if it is given one.

    The folder `output` gets `agreement.md` and `agreement.json`, which holds all levels and every score out of stage.
    """
    check_level(level)
    scale = load_rubric(rubric) if rubric else None
    # Texts as Python has them: thousands are read one by one.
    ratings = pd.DataFrame(read_any_ratings(path, scale), dtype=object).astype(
        {"score": float}
    )
    for criterion, scores in ratings.groupby("criterion", sort=False).score:
        if (n := scores.nunique()) > MOST_SCORES:
            raise UserError(
                f"{path}: {criterion} has {n} different scores; round them to {MOST_SCORES} or fewer"
            )
    settings = {
        "task": "agreement of ratings",
        "ratings_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rubric": scale
        and {
            c.name: [c.lowest, c.highest, c.above, list(c.groups)]
            for c in scale.criteria
        },
        "level": level,
        "least": least,
    }
    folder = PageFolder(output, settings, "agreement", [VALUES])
    if finished := folder.finished():
        return finished
    folder.start({}, {"ratings": str(path)})
    agreements = raters_agreement(ratings, scale, level, least)
    violations = out_of_stage(ratings, scale) if scale else None
    of_raters = habits(ratings)
    page = _page(path.name, ratings, agreements, violations, of_raters, level, least)
    unrated = (
        [c.name for c in scale.criteria if c.name not in set(ratings.criterion)]
        if scale
        else []
    )
    if unrated:
        page += f"\nNobody rated {', '.join(unrated)}.\n"
    values = {
        "level": level,
        "least": least,
        "scores": len(ratings),
        "cells": [asdict(row) for row in agreements],
    }
    values["out_of_stage"] = None if violations is None else records(violations)
    folder.add(VALUES, {**values, "raters": records(of_raters)})
    alphas = []
    for row in agreements:
        names = {
            "criterion": row.criterion,
            "domain": row.domain,
            "without": row.without,
        }
        alphas.append({**names, **asdict(row.alphas[level])})
    count = None if violations is None else len(violations)
    return folder.publish(
        page, {"level": level, "alpha": alphas, "out_of_stage": count}
    )


def check_level(level: str) -> None:
    """Raise UserError if there is no such level of measurement."""
    if level not in LEVELS:
        raise UserError(
            f"--level must be one of {', '.join(LEVELS)}, not {level}{hint(level, LEVELS)}"
        )


def alpha_columns(result: Alpha, units: str) -> PageRow:
    """What a row says of an alpha: itself with its interval, what it rests on, and why something is missing."""
    alpha = Cell(Estimate(result.alpha, result.low, result.high), ALPHA)
    counts = {units: result.units, "Scores": result.scores, "Raters": result.raters}
    return {"Alpha": alpha, **counts, "Why not": result.reason or ""}


def _page(
    name: str,
    ratings: pd.DataFrame,
    agreements: Sequence[RatersAgreement],
    violations: pd.DataFrame | None,
    of_raters: pd.DataFrame,
    level: str,
    least: int,
) -> str:
    """The page of a file of ratings; `violations` is None without a rubric that could tell stages."""
    alphas, pairs = [], []
    for row in agreements:
        criterion = row.criterion + (
            "" if row.without is None else f" without {row.without}"
        )
        names = {"Criterion": criterion, "Domain": row.domain or None}
        alphas.append({**names, **alpha_columns(row.alphas[level], "Items")})
        if row.pairs.pairs:
            means = {
                "Alpha": row.pairs.alpha,
                "Above own median": row.pairs.jaccard,
                "By chance": row.pairs.by_chance,
            }
            cells = {heading: Cell(mean, ALPHA) for heading, mean in means.items()}
            pairs.append({**names, "Pairs": row.pairs.pairs, **cells})
    raters = []
    for habit in records(of_raters):
        mean, sd = Cell(habit["mean"], ALPHA), Cell(habit["sd"], ALPHA)
        names = {
            heading: habit[heading.lower()]
            for heading in ("Rater", "Domain", "Criterion", "Scores")
        }
        raters.append({**names, "Mean": mean, "Sd": sd})
    parts = [
        f"# How far raters agree: {plain(name)}\n",
        "## What was rated\n",
        page_table(
            [_counts(domain, part) for domain, part in by_domain(ratings).items()]
        ),
        "## Krippendorff's alpha\n",
        _ABOUT_ALPHA.format(level=level),
        page_table(alphas),
        "## Pairs of raters\n",
        _ABOUT_PAIRS.format(least=least),
        page_table(pairs) or f"No two raters have {least} items in common.\n",
    ]
    if violations is not None:
        parts += ["## Stages\n", _stages(violations, len(ratings))]
    return "\n".join([*parts, "## Raters\n", page_table(raters)])


def _counts(domain: str, ratings: pd.DataFrame) -> PageRow:
    items = len(ratings.drop_duplicates(["model", "item"]))
    return {
        "Domain": domain or None,
        "Raters": ratings.rater.nunique(),
        "Patents": ratings.patent[ratings.patent != ""].nunique() or None,
        "Items": items,
        "Scores": len(ratings),
        "Scores per item": Cell(len(ratings) / items, Measure("each", 1)),
    }


def _stages(violations: pd.DataFrame, scores: int) -> str:
    if violations.empty:
        return "Every score keeps to the rubric's stages and groups.\n"
    by_reason = violations.groupby(["criterion", "why"], sort=False).size().items()
    counts = [
        {"Criterion": criterion, "Why": why, "Scores": n}
        for (criterion, why), n in by_reason
    ]
    first = []
    for row in violations.head(_SHOWN).itertuples():
        names = {
            "Rater": row.rater,
            "Item": f"{row.model} {row.item}".strip(),
            "Criterion": row.criterion,
        }
        first.append({**names, "Score": f"{row.score:g}", "Why": row.why})
    count = f"{n_of(len(violations), scores)} scores do not keep to the rubric's stages or groups. All count above.\n"
    lines = [count, page_table(counts), page_table(first)]
    if len(violations) > _SHOWN:
        lines.append(f"{len(violations) - _SHOWN:,} more are in agreement.json.\n")
    return "\n".join(lines)
