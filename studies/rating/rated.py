"""What files of `sozo rate` say: how often each model was chosen, and how each rater went about it."""

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
from choix import ilsr_pairwise

from sozo.data.jsonl import read_objects
from sozo.data.sheet import read_sheet
from sozo.eval.report.labels import english
from sozo.eval.report.tables import DUELS, with_duels
from sozo.scoring.measure import MEAN, Estimate, t_interval
from sozo.scoring.numbers import SHARE, n_of
from sozo.scoring.table import Table, TableRow, markdown
from sozo.studies.pages import PageFolder, PageRow, page_table

_NUMBERS = ["score", "again", "check", "shown", "of", "place", "seconds", "letters"]
_LETTERS = 40  # a second: faster than anybody reads
_ABOUT = """\
What stands first is the share of its duels that a model won. The interval (95%) is for other raters and other questions.
*Strength* is Bradley-Terry's: of two models the first is chosen with the odds exp(difference); there is none where a model
won or lost all.
"""


def rated_parts(
    files: Sequence[Path], key: Path | None, folder: PageFolder
) -> list[str]:
    """What an agreement's page says of those files that a page of `sozo rate` wrote; nothing without one.

    What duels say is written into the `folder`, too, by model and question, for `sozo report`.
    """
    pages = [
        cells
        for file in files
        if file.suffix == ".csv" and "letters" in (cells := read_sheet(file).cells)
    ]
    if not pages:
        return []
    table = pd.concat(pages, ignore_index=True)
    table[_NUMBERS] = table[_NUMBERS].apply(pd.to_numeric)
    if key:
        table["system"] = table.answer.map(
            {row["answer"]: row["system"] for _, row in read_objects(key)}
        )
    parts = [
        "## How raters went about it\n",
        page_table([went_about(*each) for each in table.groupby("rater", sort=False)]),
    ]
    scores = table.dropna(subset="score")
    shown = scores.groupby(["rater", "shown", "criterion"]).answer.transform("size")
    if duels := duels_won(scores[shown == 2]):
        folder.add(DUELS, duels)
        rows = tuple(TableRow(system, ()) for system in duels)
        won = with_duels(Table("", ("model",), rows), [*duels.values()])
        parts += ["## Duels\n", _ABOUT, markdown(won, english)]
    return parts


def went_about(rater: str, own: pd.DataFrame) -> PageRow:
    """What a rater judged, how far he agrees with himself, and what is to be told of him."""
    trials = own.drop_duplicates("shown")
    both = own.merge(own, on=["answer", "criterion"]).dropna(
        subset=["again_x", "score_y"]
    )
    otherwise = len(both.query("again_x != score_y"))
    told = {
        "did not finish": len(trials) < own.of.max(),
        "contradicts the own choices": 3 * otherwise > len(both),
        "is faster than one can read": trials.eval(
            "letters > @_LETTERS * seconds"
        ).mean()
        > 0.5,
        "did not follow a text": 0 in own.check.to_numpy(),
    }
    return {
        "Rater": rater,
        "Judged": n_of(len(trials), own.of.max()),
        "First place chosen": len(own.query("score == 1 and place == 1")),
        "Said otherwise": n_of(otherwise, len(both)),
        "Told": ", ".join(what for what, so in told.items() if so),
    }


def duels_won(duels: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Of each model the shares of its duels that it won, and its strengths, as `DUELS` has them."""
    found = dict[str, dict[str, Any]]()
    for asked, own in duels.groupby("criterion", sort=False):
        number, systems = pd.factorize(own.system)
        own = own.assign(number=number)
        both = own.merge(own, on=["rater", "shown"]).query("score_x > score_y")
        strengths = [None] * len(systems)
        with suppress(ValueError, RuntimeError):  # where a model won or lost all
            won = both[["number_x", "number_y"]].to_numpy()
            strengths = ilsr_pairwise(len(systems), won).tolist()
        for system, strength in zip(systems, strengths, strict=True):
            values, part = found.setdefault(system, {}), own[own.system == system]
            values[f"chosen_{asked}"] = over_both(part).to_json()
            values[f"strength_{asked}"] = {"value": strength}
    return found


def over_both(own: pd.DataFrame) -> Estimate:
    """The mean score, with an interval over raters and questions: by an error that is clustered by both.

    Cameron, Gelbach and Miller (2011), but never less than by one of them; Student's t of the fewer.
    """
    mean = own.score.mean()
    clusters = own.rater, own.item, [own.rater, own.item]
    sums = [(own.score - mean).groupby(by).sum() for by in clusters]
    rater, item, cell = (each @ each for each in sums)
    n = min(map(len, sums))
    error = math.sqrt(max(rater, item, rater + item - cell)) / len(own)
    ends = t_interval(mean, error * n / math.sqrt(max(1, n - 1)), n)
    low, high = ends or (None, None)
    return SHARE.inside(Estimate(mean, low, high, n=len(own)), MEAN)
