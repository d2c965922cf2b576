"""What files of `sozo rate` say: how often each model was chosen, and how each rater went about it."""

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd

from sozo.data.errors import require
from sozo.data.jsonl import read_objects
from sozo.data.sheet import read_sheet
from sozo.scoring.measure import MEAN, Estimate, Measure, t_interval
from sozo.scoring.numbers import SHARE
from sozo.scoring.table import Cell
from sozo.studies.pages import PageRow, page_table

_NUMBERS = ["score", "again", "check", "shown", "of", "place", "seconds", "letters"]
_LETTERS = 40  # a second: faster than anybody reads
_STRENGTH = Measure("strength", 2)
_ABOUT = """\
*Chosen* is the share of its duels that a model won. The interval (95%) is for other raters and other questions. *Strength*
is Bradley-Terry's: of two models the first is chosen with the odds exp(difference); a model that won or lost all has none.
"""


def rated_parts(files: Sequence[Path], key: Path | None) -> list[str]:
    """What an agreement's page says of those files that a page of `sozo rate` wrote; nothing without one."""
    sheets = [read_sheet(file).cells for file in files if file.suffix == ".csv"]
    pages = [cells for cells in sheets if {*_NUMBERS} <= {*cells.columns}]
    if not pages:
        return []
    table = pd.concat(pages, ignore_index=True)
    table[_NUMBERS] = table[_NUMBERS].apply(pd.to_numeric)
    if key:
        systems = {row["answer"]: row["system"] for _, row in read_objects(key)}
        table["system"] = table.answer.map(systems)
    parts = ["## How raters went about it\n", page_table(went_about(table))]
    scores = table.dropna(subset="score")
    shown = scores.groupby(["rater", "shown", "criterion"]).answer.transform("size")
    for criterion, duels in scores[shown == 2].groupby("criterion", sort=False):
        parts += [f"## Duels: {criterion}\n", _ABOUT, page_table(duel_rows(duels))]
    return parts


def went_about(table: pd.DataFrame) -> list[PageRow]:
    """A row for each rater: what he judged, how far he agrees with himself, and what is to be told of him."""
    trials = table.drop_duplicates(["rater", "shown"])
    both = table.merge(table, on=["rater", "answer", "criterion"])
    again = both[both.again_x.notna() & both.score_y.notna()]
    counts = {
        "Judged": trials,
        "First place chosen": table[(table.score == 1) & (table.place == 1)],
        "Too fast": trials[trials.letters > _LETTERS * trials.seconds],
        "Asked again": again,
        "Said otherwise": again[again.again_x != again.score_y],
        "Text not followed": table[table.check == 0],
    }
    rows: list[PageRow] = []
    for rater, own in trials.groupby("rater", sort=False):
        n = {name: int((part.rater == rater).sum()) for name, part in counts.items()}
        told = {
            "did not finish": n["Judged"] < own.of.max(),
            "contradicts the own choices": 3 * n["Said otherwise"] > n["Asked again"],
            "is faster than one can read": 2 * n["Too fast"] > n["Judged"],
            "did not follow a text": n["Text not followed"],
        }
        told_of = ", ".join(what for what, so in told.items() if so)
        judged = Cell(n["Judged"], of=int(own.of.max()))
        rows.append({"Rater": rater, **n, "Judged": judged, "Told": told_of})
    return rows


def duel_rows(duels: pd.DataFrame) -> list[PageRow]:
    """A row for each model, the one that was chosen most often first: its share of duels, and its strength."""
    require("choix", "Bradley-Terry strengths")
    from choix import ilsr_pairwise_dense

    means = duels.groupby("system").score.mean().sort_values(ascending=False)
    met = duels.merge(duels, on=["rater", "shown"])
    won = met[met.score_x > met.score_y]
    wins = pd.crosstab(won.system_x, won.system_y)
    strengths = pd.Series(dtype=float)
    with suppress(ValueError):  # of models that won or lost all
        square = wins.reindex(index=means.index, columns=means.index, fill_value=0)
        found = ilsr_pairwise_dense(square.to_numpy(float))
        strengths = pd.Series(found, means.index)
    return [
        {
            "Model": name,
            "Chosen": Cell(over_both(duels[duels.system == name]), SHARE),
            "Strength": Cell(strengths.get(name), _STRENGTH),
        }
        for name in means.index
    ]


def over_both(own: pd.DataFrame) -> Estimate:
    """The mean score, with an interval over raters and questions: by an error that is clustered by both.

    Cameron, Gelbach and Miller (2011), but never less than by one of them; Student's t of the fewer.
    """
    mean = float(own.score.mean())
    clusters = own.rater, own.item, [own.rater, own.item]
    sums = [(own.score - mean).groupby(by).sum() for by in clusters]
    rater, item, cell = (float((each**2).sum()) for each in sums)
    n = min(map(len, sums))
    error = math.sqrt(max(rater, item, rater + item - cell)) / len(own)
    ends = t_interval(mean, error * n / math.sqrt(max(1, n - 1)), n)
    low, high = ends or (None, None)
    return SHARE.inside(Estimate(mean, low, high, n=len(own)), MEAN)
