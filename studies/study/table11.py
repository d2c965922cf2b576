"""The paper's Table 11 of a study: a row per training method, from its table of answers, and what is measured of it.

Different words grow with the number of usable answers, and training changes that number. So each row also gives unique
words at equal sample size: what its smallest row's number of usable answers would show.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.published import load
from sozo.data.record import read_json
from sozo.scoring.measure import DIFFERENCE, MEAN, Estimate, Measure
from sozo.scoring.numbers import COUNT, SHARE
from sozo.scoring.second_encoder import GainParts, SecondEncoder, SeenLists, gain
from sozo.scoring.statistics.hill import hill_number
from sozo.scoring.table import Cell
from sozo.tasks.dat.instruments import DIVERSITY
from sozo.tasks.dat.summary import DatSummary, summary_of
from sozo.tasks.dat.table import read_lists, read_table, usable_rows, usable_scores
from sozo.tasks.dat.view import INSTRUMENTS, instrument_cell
from sozo.tasks.dat.words import KEEP, REFUSE

FIGURES = ("usable", "score", "std", "all_different_words")  # of a row in the paper
_CURVE_POINTS = 40


@dataclass(frozen=True, slots=True)
class Table11Row:
    """One row; its values are called as in `metrics.json`."""

    summary: DatSummary  # usable answers, mean, standard deviation, different words; its source is the row's name
    # Usable lists where one with a word twice is refused, and where it is kept, if its words have vectors.
    usable_by_repeated_words: Mapping[str, int]
    # (answers, expected different words) for growing samples, up to all usable ones
    rarefaction: tuple[tuple[int, float], ...] = ()
    # The paper's figures for this model and method (of 131,072 answers, with its encoder), called as in `DatSummary`.
    paper: Mapping[str, float] | None = None
    # Of the words in `Table11.equal_size` usable answers; None with fewer: how many different ones are expected, and
    # effective numbers of the orders 0, 1 and 2.
    different_words: float | None = None
    hill_at_equal_size: Mapping[str, float] | None = None
    # Over the row's base, in standard deviations of the base's scores: by its own encoder, by the second one, its parts.
    gain: Estimate | None = None
    second_gain: Estimate | None = None
    second_parts: GainParts | None = None

    @property
    def usable(self) -> Estimate:
        """Usable share of the answers that came."""
        return Estimate(self.summary.usable_share, n=self.summary.came)

    @property
    def mean(self) -> Estimate:
        """Score of the usable answers."""
        return Estimate(self.summary.score, *(self.summary.ci95 or ()))


@dataclass(frozen=True, slots=True)
class Table11:
    """The rows in order; `equal_size` is the smallest number of usable answers of a row that counts and has any, or 0."""

    rows: tuple[Table11Row, ...]
    equal_size: int
    paper_model: str | None = None
    second_encoder: str | None = None  # its name
    second_encoder_revision: str | None = None


@dataclass(frozen=True, slots=True)
class RowMeasure:
    """What is measured of a row: a column of a study's table."""

    measure: Measure  # how a number is written
    path: str  # of a row's attribute, or an instrument's name
    kind: str = MEAN  # or DIFFERENCE, if it is one itself

    def cell(self, row: Table11Row) -> Cell:
        """What a row has, with an interval over its answers where one is known; empty where nobody measured it."""
        if self.path in INSTRUMENTS:
            return instrument_cell(row.summary.instruments, self.path)
        found: Any = row
        for name in self.path.split("."):
            found = getattr(found, name, None)
        of = getattr(found, "n", None) if self.measure.share else None
        return Cell(found, self.measure, self.kind, of)


_SD = Measure("deviations", 2, unit="sd")
# By the names that claims, files and pages call them, in the order of the page.
MEASURES = {
    "answers": RowMeasure(COUNT, "summary.num_answers"),
    "usable": RowMeasure(SHARE, "usable"),
    "score": RowMeasure(Measure("score"), "mean"),
    "std": RowMeasure(Measure("std"), "summary.std"),
    "all different words": RowMeasure(COUNT, "summary.all_different_words"),
    "different words": RowMeasure(COUNT, "different_words"),
    "pairing": RowMeasure(INSTRUMENTS["pairing"], "pairing"),
    "glued words": RowMeasure(INSTRUMENTS["glued_share"], "glued_share"),
    "gain": RowMeasure(_SD, "gain", DIFFERENCE),
    "second encoder": RowMeasure(_SD, "second_gain", DIFFERENCE),
    "second encoder pairing": RowMeasure(_SD, "second_parts.pairing", DIFFERENCE),
}


def table11(
    folders: Mapping[str, Path],
    paper_model: str | None = None,
    beside: Collection[str] = (),
    bases: Mapping[str, str] | None = None,
    second: SecondEncoder | None = None,
) -> Table11:
    """The table of runs' folders (or folders of parts) by row names, with the gain of every row that has a base.

    Names in `data.published.METHODS` get the paper's figures of `paper_model` beside them, a model of `dat_training`
    (`Swallow-8B`). Rows `beside` leave the others as they are: they have no different words where they have too few
    usable answers.
    """
    paper = _published(paper_model) if paper_model else {}
    read = [_read(name, path) for name, path in folders.items()]
    # A row with no usable answer at all has no words to compare: it must not pull the others down to nothing.
    usable = {row.summary.source: row.summary.usable for row, _ in read}
    counting = [n for name, n in usable.items() if n and name not in beside]
    size = min(counting or filter(None, usable.values()), default=0)

    @cache  # a base has many rows
    def seen(name: str) -> SeenLists | None:
        if second is None:
            return None
        return SeenLists.from_lists(second, *read_lists(folders[name]))

    rows = []
    for row, occurrences in read:
        name, n = row.summary.source, row.summary.usable
        sizes = {*map(int, np.linspace(1, n, _CURVE_POINTS).round()), min(n, size)}
        curve = [(m, hill_number(occurrences, n, m)) for m in sorted(sizes) if n]
        row = replace(row, rarefaction=tuple(curve), paper=paper.get(name))
        if n and n >= size:
            orders = enumerate(("different", *DIVERSITY))
            hill = {of: hill_number(occurrences, n, size, order=k) for k, of in orders}
            different = hill["different"]
            row = replace(row, different_words=different, hill_at_equal_size=hill)
        if base := (bases or {}).get(name):
            own = gain(usable_scores(folders[base]), usable_scores(folders[name]))
            before, after = seen(base), seen(name)
            parts = after.over(before) if before and after else None
            by_second = parts.total if parts else None
            row = replace(row, gain=own, second_gain=by_second, second_parts=parts)
        rows.append(row)
    names = (second.encoder.name, second.encoder.revision) if second else ()
    return Table11(tuple(rows), size, paper_model, *names)


def _published(model: str) -> dict[str, Mapping[str, float]]:
    """The paper's figures of a model by method."""
    rows = load("dat_training")
    known = sorted({row["model"] for row in rows if row["model"]})
    if model not in known:
        raise UserError(
            f"the paper's Table 11 has no model {model!r}; it has {', '.join(known)}"
        )
    return {
        row["method"]: {name: row[name] for name in FIGURES}
        for row in rows
        if row["model"] in (model, None)
    }


def _read(name: str, path: Path) -> tuple[Table11Row, np.ndarray]:
    """A row, and of each word in how many usable answers it stands, shape (words,)."""
    table = read_table(path)
    lists = usable_rows(table)["words"].to_pylist()
    different = [dict.fromkeys(words) for words in lists]
    once = sum(len(words) == len(set(words)) for words in lists)
    # The instruments need the scorer: they are what the run's own metrics.json has.
    metrics = path / "metrics.json"
    stored = read_json(metrics).get("instruments", {}) if metrics.is_file() else {}
    summary = replace(summary_of(table, name), instruments=stored)
    kept = summary.usable + summary.reasons.get("repeated_word", 0)
    row = Table11Row(summary, {REFUSE: once, KEEP: kept})
    occurrences = Counter(chain.from_iterable(different))
    return row, np.array(list(occurrences.values()))
