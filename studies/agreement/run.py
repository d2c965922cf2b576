"""What `sozo agreement` does with rated answers: how far their raters agree (Tables 1 and 2 of PBIG-DATA), as a page."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.foreign import brief
from sozo.data.markdown import bullets, plain
from sozo.data.settings import hint
from sozo.data.sheet import KINDS
from sozo.eval.evaluated import find_evaluated, named
from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.numbers import SHARE, n_of
from sozo.scoring.table import Cell
from sozo.studies.agreement.raters import (
    AGAIN,
    PEOPLE,
    WORDINGS,
    Judges,
    apart,
    by_domain,
    compared,
    habits,
    out_of_stage,
    records,
)
from sozo.studies.pages import PageFolder, PageRow, PageRun, page_table
from sozo.studies.rater_agreement import LEVELS
from sozo.studies.rating.rated import rated_parts
from sozo.studies.ratings import (
    UNIT,
    about_runs,
    rated_runs,
    read_ratings,
    runs_of,
)
from sozo.studies.rubric import RatingRubric, load_rubric

VALUES = "agreement.json"
MOST_SCORES = 50  # on a scale: pairs of scores are counted item by item
_SHOWN = 20  # of a list, the rest is in agreement.json
_READ = 5  # answers on which raters differ
ALPHA = Measure("alpha", 2)
_ABOUT = """\
- *Alpha* is Krippendorff's ({level}): 1 is full agreement, 0 what scores dealt at random have, below 0 systematic
disagreement; from 0.8 on he takes data for reliable, from 0.667 on for tentative conclusions. Cite it for how reliable
ratings are. Its interval (95%, a jackknife over answers, from 10 on) is for these raters and other answers.
- *ICC* is ICC(2,1), the absolute agreement of single scores on a scale of equal steps, over the answers that all rated.
Cite it where scores are averaged.
- *Spearman* says whether two raters rank answers alike, however strict each is; of several it is the mean over pairs.
Cite it for a judge of whom only the order counts.

*Second - first* is the difference of two means on the answers that both scored; between two wordings of one judge it
means something only beside *Asked again*, by how far a wording's mean moved when it was asked again. *Above own median*
is the Jaccard index of the answers that each of two people rates above the median of all their scores, beside what random
sets as large would have. Of people alpha needs {least} answers, and so do two of them. agreement.json has all four levels.
Raters that agree can all be wrong. People beside a judge, and a judge that was asked again, count with their means.
"""


def agree_raters(
    places: Sequence[str],
    output: Path,
    *,
    task: str | None = None,
    rubric: str | None = None,
    key: Path | None = None,
    level: str = "ordinal",
    least: int = 10,
) -> PageRun:
    """Agreement of people whose ratings are files among the `places`, and of judges whose runs are folders among them.

    `rubric` is the name or the file of what people rated by. The folder `output` gets `agreement.md` and
    `agreement.json`, which holds all levels, every pair and every score out of stage.
    """
    check_level(level)
    scale = load_rubric(rubric) if rubric else None
    ratings, judges = read_places(places, task, scale, key)
    for criterion, n in ratings.groupby("criterion").score.nunique().items():
        if n > MOST_SCORES:
            raise UserError(
                f"{places[0]}: {criterion} has {n} different scores; round them to {MOST_SCORES} or fewer"
            )
    if not ratings.duplicated([*UNIT, "criterion"]).any():
        raise UserError(
            f"{', '.join(places)}: no answer was rated twice; give several raters or judgings of the same answers"
        )
    settings = {
        "task": "agreement of raters",
        "ratings_sha256": hashlib.sha256(ratings.to_csv().encode()).hexdigest(),
        "judges": judges,
        "rubric": scale and [asdict(criterion) for criterion in scale.criteria],
        "level": level,
        "least": least,
    }
    folder = PageFolder(output, settings, "agreement", [VALUES])
    if finished := folder.finished():
        return finished
    folder.start({}, {"places": list(places)})
    found = compared(ratings, judges, scale, level, least)
    violations = out_of_stage(ratings, scale) if scale else None
    values: dict[str, Any] = {
        "level": level,
        "least": least,
        "scores": len(ratings),
        "cells": found,
        "out_of_stage": None if violations is None else records(violations),
        "raters": records(habits(ratings)),
        "apart": records(apart(ratings)),
    }
    folder.add(VALUES, values)
    parts = ["# How far raters agree\n", "## What was rated\n"]
    parts.append(page_table([_counts(*part) for part in by_domain(ratings).items()]))
    parts += [_ABOUT.format(level=level, least=least), *_sets(found, level)]
    if violations is not None and scale:
        parts += ["## Stages\n", *_stages(violations, len(ratings))]
        rated = {*ratings.criterion}
        unrated = [c.name for c in scale.criteria if c.name not in rated]
        parts += [f"Nobody rated {', '.join(unrated)}.\n"] if unrated else []
    parts += ["## Where raters differ most\n", bullets(_apart(ratings))]
    raters = [
        {
            name.capitalize(): Cell(v, ALPHA) if isinstance(v, float) else v
            for name, v in row.items()
        }
        for row in values["raters"]
    ]
    parts += ["## Raters\n", page_table(raters)]
    parts += rated_parts([Path(one) for one in places if is_file(one)], key, folder)
    return folder.publish("\n".join(parts), {"level": level, "cells": len(found)})


def check_level(level: str) -> None:
    """Raise UserError if there is no such level of measurement."""
    if level not in LEVELS:
        raise UserError(
            f"--level must be one of {', '.join(LEVELS)}, not {level}{hint(level, LEVELS)}"
        )


def read_places(
    places: Sequence[str],
    task: str | None,
    rubric: RatingRubric | None,
    key: Path | None,
) -> tuple[pd.DataFrame, Judges]:
    """The ratings of files, and of runs in folders (DIR, NAME=DIR) what judges gave, each judging called by its place."""
    files = [Path(place) for place in places if is_file(place)]
    folders = [place for place in places if not is_file(place)]
    people = read_ratings(files, rubric, key) if files else pd.DataFrame()
    tables, judges = list[pd.DataFrame](), dict[str, Any]()
    for place in folders:
        name, path = named(place)
        rated, own = rated_runs(runs_of(find_evaluated([path]), task))
        called = dict.fromkeys(own, name or place)
        if len(own) > 1 or len(folders) == 1:
            called = {judge: f"{name} {judge}" if name else judge for judge in own}
        if twice := judges.keys() & called.values():
            raise UserError(
                f"{twice.pop()} comes twice; name each folder once: NAME=DIR"
            )
        judges |= {called[judge]: settings for judge, settings in own.items()}
        tables.append(rated.assign(rater=rated.rater.map(called), domain=""))
    if not tables:
        return people, judges
    judged = pd.concat(tables, ignore_index=True).dropna(subset="score")
    other = judged[judged.text != judged.groupby(UNIT).text.transform("first")]
    for row in other.itertuples():
        raise UserError(
            f"{row.where}: the answer {row.answer} of {row.system} has another text than before; give the same answers"
        )
    if files:
        people = about_runs(people, judged)[0].assign(domain="")
    return pd.concat([people, judged], ignore_index=True), judges


def is_file(place: str) -> bool:
    """Whether a place is a file of ratings, and no folder of runs."""
    path = Path(place)
    return path.is_file() or path.suffix.lower() in (*KINDS, ".jsonl")


def _sets(found: Sequence[Mapping[str, Any]], level: str) -> Iterator[str]:
    """A table for each set of raters, and of a judge's wordings how far they are apart beside asking again."""
    tables: dict[str, list[PageRow]] = {}
    again: dict[str, float] = {}
    quoted = []
    for row in found:
        criterion, what, between = row["criterion"], row["what"], row["between"]
        known, pairs = row["alphas"][level], row["pairs"]
        gap, without = pairs["difference"], row["without"]
        ends = known["alpha"], known["low"], known["high"]
        icc = [row["icc"][end] for end in ("value", "low", "high")]
        shown: dict[str, Any] = {
            "Criterion": criterion + (f" without {without}" if without else ""),
            "Domain": row["domain"] or None,
            "Raters": ", ".join(between) if len(between) == 2 else len(between),
            "Alpha": Cell(Estimate(*ends), ALPHA),
            "ICC": Cell(Estimate(*icc), ALPHA),
            "Spearman": Cell(pairs["spearman"], ALPHA),
            "Same score": Cell(pairs["exact"], SHARE),
            "At most 1 apart": Cell(pairs["within_one"], SHARE),
            "Answers": known["units"],
            "Scores": known["scores"],
            "Why not": known["reason"] or "",
        }
        if what == PEOPLE or what.endswith("judge"):
            who = (
                f"{known['raters']} {what}" if what == PEOPLE else " and ".join(between)
            )
            numbers = f"alpha ({level}) = {shown['Alpha'].line}, ICC(2,1) = {shown['ICC'].line}"
            name = f"{shown['Criterion']} {row['domain']}".strip()
            quoted.append(
                f"{plain(f'{name}: {who}')}, {known['units']} answers, {numbers}."
            )
        if len(between) == 2:
            shown["Second - first"] = Cell(gap, ALPHA, DIFFERENCE)
        elif what == PEOPLE:
            shown["Above own median"] = Cell(pairs["jaccard"], ALPHA)
            shown["By chance"] = Cell(pairs["by_chance"], ALPHA)
        if what == AGAIN:
            again[criterion] = max(pairs["apart"] or 0, again.get(criterion, 0))
        if what == WORDINGS:
            shown["Asked again"] = Cell(again.get(criterion), ALPHA)
        title = what if what not in (AGAIN, WORDINGS) else f"{what}: {between[0]}"
        tables.setdefault(title, []).append(shown)
    yield "To cite:\n\n" + bullets(quoted) if quoted else ""
    for title, rows in tables.items():
        every = dict.fromkeys(heading for row in rows for heading in row)
        filled = [{heading: row.get(heading) for heading in every} for row in rows]
        yield from (f"## {plain(title[:1].upper() + title[1:])}\n", page_table(filled))


def _counts(domain: str, ratings: pd.DataFrame) -> PageRow:
    answers = len(ratings.drop_duplicates(UNIT))
    return {
        "Domain": domain or None,
        "Raters": ratings.rater.nunique(),
        "Patents": ratings.patent[ratings.patent != ""].nunique() or None,
        "Answers": answers,
        "Scores": len(ratings),
        "Scores per answer": Cell(len(ratings) / answers, Measure("each", 1)),
    }


def _stages(violations: pd.DataFrame, scores: int) -> Iterator[str]:
    if violations.empty:
        yield "Every score keeps to the rubric's stages and groups.\n"
        return
    yield f"{n_of(len(violations), scores)} scores do not keep to the rubric's stages or groups. All count above.\n"
    counts = violations.value_counts(["criterion", "why"], sort=False)
    names = ("Criterion", "Why")
    yield page_table(
        [dict(zip(names, key, strict=True), Scores=n) for key, n in counts.items()]
    )
    yield "Each of them is in agreement.json.\n"


def _apart(ratings: pd.DataFrame) -> Iterator[str]:
    """The answers to read, each with what every rater gave."""
    for answer in apart(ratings).head(_READ).itertuples():
        of = (ratings[UNIT] == [getattr(answer, name) for name in UNIT]).all(axis=1)
        own = ratings[of]
        scores = "; ".join(
            f"{criterion}: "
            + ", ".join(f"{row.rater} {row.score:g}" for row in part.itertuples())
            for criterion, part in own.groupby("criterion", sort=False)
        )
        name = " ".join(filter(None, (answer.system, answer.item, answer.answer)))
        text = brief(" ".join(own.text.max().split()), 300)
        yield plain(f"{name} ({scores}) {text}")
