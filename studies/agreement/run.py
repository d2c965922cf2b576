"""What `sozo agreement` does with rated answers: how far their raters agree (Tables 1 and 2 of PBIG-DATA), as a page."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sozo.data.errors import UserError
from sozo.data.foreign import brief
from sozo.data.markdown import bullets, plain
from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.statistics.reliability import icc
from sozo.scoring.table import Cell
from sozo.studies.correlate.people import with_people
from sozo.studies.pages import PageFolder, PageRow, page_table
from sozo.studies.rater_agreement import LEVELS, krippendorff_alpha
from sozo.studies.rating.rated import rated_parts
from sozo.studies.ratings import UNIT, Judges, is_file, read_places, records, said_of
from sozo.studies.rubric import RatingRubric, load_rubric

VALUES = "agreement.json"
_READ = 5  # answers on which raters differ
PEOPLE, AGAIN = "people", "the same judge again"
JUDGES, TWO = "judges", "each two"
_PAIR = ["spearman", "exact", "difference", "apart"]
ALPHA = Measure("alpha", 2)
_ABOUT = """\
- *Alpha* is Krippendorff's ({level}): 1 is full agreement, 0 what scores dealt at random have, below 0 systematic
disagreement. Krippendorff calls data reliable from 0.8 on, and enough for tentative conclusions from 0.667 on. Cite it for
how reliable ratings are. Its interval (95%, a jackknife over answers, from 10 on) is for these raters and other answers.
- *ICC* is ICC(2,1), the absolute agreement of single scores on a scale of equal steps, over the answers that all rated.
Cite it where one rater's scores are used. ICC(2,k) is that of the k raters' mean: cite it where scores are averaged.
- *Spearman* says whether two raters rank answers alike, however strict each is; of several it is the mean over pairs.
Cite it for a judge of whom only the order counts.
- *Equal scores* is how often two raters give an answer the same score.
- *Second less first* is the mean score of the second rater less that of the first, on the answers that both scored.

With fewer than {least} answers that two people rated there is no alpha (`--least`). People beside a judge, and a judge that
was asked again, count with their means. agreement.json has all four levels. Raters that agree can all be wrong.
"""


def agree_raters(
    places: Sequence[str],
    output: Path,
    task: str | None = None,
    rubric: str | None = None,
    key: Path | None = None,
    level: str = "ordinal",
    least: int = 10,
) -> PageFolder:
    """Agreement of people whose ratings are files among the `places`, and of judges whose runs are folders among them.

    `rubric` is the name or the file of what people rated by. The folder `output` gets `agreement.md` and
    `agreement.json`, which holds all levels, and every pair.
    """
    scale = load_rubric(rubric) if rubric else None
    ratings, judges = read_places(places, task, rubric=scale, key=key, judgings=True)
    said, for_paper = said_of(ratings, judges), with_people(ratings, judges)
    ratings = ratings.dropna(subset="score")
    if judges:  # kinds of items are no domains
        ratings = ratings.assign(domain="")
    if not ratings.duplicated([*UNIT, "criterion"]).any():
        raise UserError(
            f"{', '.join(places)}: no answer was rated twice; give several raters or judgings of the same answers"
        )
    facts = {"level": level, "least": least}
    settings = {"judges": judges, "rubric": scale and asdict(scale), **facts}
    folder = PageFolder(output, settings, "agreement", ratings.to_csv())
    folder.start({}, {})
    found, most = compared(ratings, judges, scale, least), apart(ratings)
    values = {"scores": len(ratings), "cells": found, "compared": for_paper}
    folder.add(VALUES, facts | values | {"apart": records(most)})
    parts = ["# How far raters agree\n", bullets(said), *_sets(found, level)]
    parts.append("## Where raters differ most\n")
    parts.append(bullets(_read(row, ratings) for row in most.head(_READ).itertuples()))
    parts += ["## What the numbers are\n", _ABOUT.format(**facts)]
    parts += rated_parts([Path(one) for one in places if is_file(one)], key, folder)
    return folder.publish("\n".join(parts), facts | {"cells": len(found)})


def _sets(found: Sequence[Mapping[str, Any]], level: str) -> Iterator[str]:
    """A table for each set of raters."""
    tables: dict[str, list[PageRow]] = {}
    quoted = []
    for row in found:
        what, between, known = row["what"], row["between"], row["alphas"][level]
        criterion, pairs, two = row["criterion"], row["pairs"], len(between) == 2
        alpha, single = (
            Cell(Estimate(own[name], own["low"], own["high"]), ALPHA)
            for own, name in ((known, "alpha"), (row["icc"], "value"))
        )
        shown: dict[str, Any] = {
            "Criterion": criterion,
            "Domain": row["domain"] or None,
            "Raters": ", ".join(between) if two else len(between),
            "Alpha": alpha,
            "ICC": single,
            "Spearman": Cell(pairs["spearman"], ALPHA),
            "Equal scores": Cell(pairs["exact"], SHARE),
            "Answers": known["units"],
            "No interval of alpha": known["reason"],
        }
        if two:
            shown["Second less first"] = Cell(pairs["difference"], ALPHA, DIFFERENCE)
        if what.startswith(PEOPLE):
            who = " and ".join(between) if what != PEOPLE else f"{len(between)} people"
            name = f"{criterion} {row['domain']}".strip()
            cited, r, k = "", row["icc"]["value"] or 0, len(between)
            if r > 0:  # the mean's by Spearman and Brown's formula
                mean = Cell(k * r / (1 + (k - 1) * r), ALPHA).text
                cited = f", ICC(2,1) = {single.line} and ICC(2,{k}) = {mean} ({row['icc']['n']} answers that all rated)"
            quoted.append(
                f"{plain(f'{name}: {who}')}, {known['units']} answers, alpha ({level}) = {alpha.line}{cited}."
            )
        title = f"{what}: {between[0]}" if what == AGAIN else what
        tables.setdefault(title, []).append(shown)
    yield "To cite:\n\n" + bullets(quoted) if quoted else ""
    for title, rows in tables.items():
        yield from (f"## {plain(title[:1].upper() + title[1:])}\n", page_table(rows))


def _read(answer: Any, ratings: pd.DataFrame) -> str:
    """An answer to be read, with what every rater gave."""
    of = (ratings[UNIT] == [getattr(answer, name) for name in UNIT]).all(axis=1)
    own = ratings[of]
    scores = "; ".join(
        f"{criterion}: "
        + ", ".join(f"{row.rater} {row.score:g}" for row in part.itertuples())
        for criterion, part in own.groupby("criterion", sort=False)
    )
    name = " ".join(filter(None, (answer.system, answer.item, answer.answer)))
    return plain(f"{name} ({scores}) {brief(' '.join(own.text.max().split()), 300)}")


def compared(
    ratings: pd.DataFrame,
    judges: Judges,
    rubric: RatingRubric | None,
    least: int,
) -> list[dict[str, Any]]:
    """How far each of the `sets_of` raters agrees, by criterion and domain: what `agreement` says of it.

    Alpha of people needs `least` answers that two rated. Each two raters are compared over all domains together.
    """
    rated = ratings.criterion.unique()
    names = [c.name for c in rubric.criteria if c.name in rated] if rubric else rated
    found, parts = [], dict([*ratings.groupby("domain", sort=False)])
    if len(parts) > 1:
        parts["all"] = ratings
    for name, (domain, part) in product(names, parts.items()):
        own = part[part.criterion == name]
        wide = own.pivot(index=UNIT, columns="rater", values="score")
        for what, scores in sets_of(wide[own.rater.unique()], judges):
            if what != TWO or domain == [*parts][-1]:
                facts = {"what": what, "between": [*scores]}
                facts |= {"criterion": name, "domain": domain}
                most = least if what == PEOPLE else 1
                found.append(facts | agreement(scores, most))
    return found


def sets_of(scores: pd.DataFrame, judges: Judges) -> Iterator[tuple[str, pd.DataFrame]]:
    """Who is compared with whom, of raters with a column of `scores` each: all people, one judge's judgings, and so on.

    Judgings are one judge's if they share model, prompt and settings but for the seed. Beside others a judge that was
    asked again has the mean of its scores, and people together have theirs.
    """
    people = scores[[rater for rater in scores if rater not in judges]]
    if people.shape[1] > 1:
        yield PEOPLE, people
    judgings = dict[str, list[str]]()
    for rater in scores.columns.difference(people.columns, sort=False):
        judgings.setdefault(json.dumps(judges[rater]), []).append(rater)
    means = people.copy()
    for own in judgings.values():
        name, judge = own[0], judges[own[0]]
        if len(own) > 1:
            yield AGAIN, scores[own]
            name = f"{judge.get('model')} ({judge.get('prompt')})"
        means[name] = scores[own].mean(axis="columns")
    others = [*means][people.shape[1] :]
    if len(others) > 1:
        yield JUDGES, means[others]
    together = means.assign(**{PEOPLE: people.mean(axis="columns")})
    for name in others if not people.empty else ():
        yield f"{PEOPLE} | judge", together[[PEOPLE, name]]
    for a, b in combinations(means, 2) if means.shape[1] > 2 else ():
        yield TWO, means[[a, b]]


def agreement(scores: pd.DataFrame, least: int) -> dict[str, Any]:
    """Agreement of raters, the columns of `scores`, on its rows, NaN where a rater gave none.

    Alpha needs `least` rows that two rated, and so does each pair of raters; in `pairs` are means over these. ICC(2,1)
    is over the rows that all rated.
    """
    from scipy.stats import spearmanr

    pairs = []
    for both in map(list, combinations(scores, 2)):
        a, b = scores[both].dropna().to_numpy(float).T
        if len(a) >= least:
            gap = b - a
            one_score = not np.ptp(a) or not np.ptp(b)
            pairs.append(
                {
                    "spearman": None if one_score else spearmanr(a, b).statistic,
                    "exact": (np.abs(gap) <= 1e-9).mean(),
                    # Which of several would be the second?
                    "difference": gap.mean() if len(scores.columns) == 2 else None,
                    "apart": abs(gap.mean()),
                }
            )
    means = pd.DataFrame(pairs, columns=_PAIR, dtype=float).mean()
    matrix = scores.to_numpy(float).T
    alphas = {name: krippendorff_alpha(matrix, name, least) for name in LEVELS}
    return {
        "alphas": {name: asdict(alpha) for name, alpha in alphas.items()},
        "icc": icc(scores.dropna()).to_json(),
        "pairs": {"pairs": len(pairs)} | records(means.to_frame().T)[0],
    }


def apart(ratings: pd.DataFrame) -> pd.DataFrame:
    """The answers with the range of their raters' scores, its mean over criteria, those first on which it is largest."""
    ranges = ratings.groupby([*UNIT, "criterion"], sort=False).score.agg(np.ptp)
    means = ranges.groupby(UNIT, sort=False).mean().rename("range")
    return means[means > 0].sort_values(ascending=False, kind="stable").reset_index()
