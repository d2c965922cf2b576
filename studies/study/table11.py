"""The paper's Table 11 of a study: a row per training method, from its table of answers, beside the paper's figures.

Different words grow with the number of usable answers, and training changes that number. So each row also gives unique
words at equal sample size: what its smallest row's number of usable answers would show.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from sozo.data.errors import UserError
from sozo.data.published import load
from sozo.data.record import read_json
from sozo.scoring.measure import Estimate
from sozo.scoring.second_encoder import GainParts, SecondEncoder, SeenLists, gain
from sozo.scoring.statistics.hill import hill_number
from sozo.tasks.dat.summary import DatSummary, summary_of
from sozo.tasks.dat.table import read_lists, read_table, usable_rows, usable_scores

_CURVE_POINTS = 40


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """The paper's figures of one row (of 131,072 answers, with its encoder)."""

    usable: int
    score: float
    std: float
    all_different_words: int


@dataclass(frozen=True, slots=True)
class HillNumbers:
    """Effective numbers of words of the orders 0, 1 and 2, each at most the one before (`hill_number`)."""

    different: float
    perplexity: float
    inverse_simpson: float


@dataclass(frozen=True, slots=True)
class Table11Row:
    """One row."""

    summary: DatSummary  # usable answers, mean, standard deviation, different words; its source is the row's name
    curve: tuple[
        tuple[int, float], ...
    ]  # (answers, expected different words) for growing samples, up to all usable ones
    published: PublishedFigures | None  # the paper's figures for this model and method
    repeated: int = 0  # usable lists with a word twice
    # Over the base, by the row's own encoder and by the second encoder; None where there is none (`with_gains`).
    gains: tuple[Estimate | None, Estimate | None] = (None, None)
    parts: GainParts | None = None  # of the second encoder's gain
    hill: HillNumbers | None = (
        None  # of the words in `Table11.equal_size` usable answers; None where there is none
    )

    @property
    def equal_size_words(self) -> float | None:
        """Expected different words in `Table11.equal_size` usable answers; None where there is none."""
        return self.hill.different if self.hill else None


@dataclass(frozen=True, slots=True)
class Table11:
    """The rows in order; `equal_size` is the smallest number of usable answers of a row that counts and has any, or 0."""

    rows: tuple[Table11Row, ...]
    equal_size: int
    paper_model: str | None
    second_encoder: str | None = None  # the second encoder's name
    second_encoder_revision: str | None = None


def table11(
    folders: Mapping[str, Path],
    paper_model: str | None = None,
    beside: Collection[str] = (),
) -> Table11:
    """The table of runs' folders (or folders of parts) by row names: memory holds one part and word counts.

    Names in `data.published.METHODS` get the paper's figures of `paper_model` beside them, a model of `dat_training`
    (`Swallow-8B`). Rows `beside` leave the others as they are: they have no different words where they have too few
    usable answers.
    """
    paper: dict[str, PublishedFigures] = {}
    if paper_model is not None:
        published = load("dat_training")
        names = PublishedFigures.__dataclass_fields__
        known = sorted({row["model"] for row in published if row["model"]})
        if paper_model not in known:
            raise UserError(
                f"the paper's Table 11 has no model {paper_model!r}; it has {', '.join(known)}"
            )
        shown = [row for row in published if row["model"] in (paper_model, None)]
        paper = {
            row["method"]: PublishedFigures(**{name: row[name] for name in names})
            for row in shown
        }
    # A row with no usable answer at all has no words to compare: it must not pull the others down to nothing.
    counted = [_read(name, path) for name, path in folders.items()]
    usable = {one.source: one.usable for one, *_ in counted if one.usable}
    counting = [n for name, n in usable.items() if name not in beside]
    equal_size = min(counting or usable.values(), default=0)
    rows = []
    for summary, occurrences, repeated in counted:
        n = summary.usable
        sizes = (
            sorted(
                {int(m) for m in np.linspace(1, n, _CURVE_POINTS).round()}
                | {min(n, equal_size)}
            )
            if n
            else []
        )
        curve = tuple((m, hill_number(occurrences, n, m)) for m in sizes)
        hill = (
            HillNumbers(
                *(hill_number(occurrences, n, equal_size, order=k) for k in range(3))
            )
            if n and n >= equal_size
            else None
        )
        rows.append(
            Table11Row(summary, curve, paper.get(summary.source), repeated, hill=hill)
        )
    return Table11(tuple(rows), equal_size, paper_model)


def _read(name: str, path: Path) -> tuple[DatSummary, np.ndarray, int]:
    """A row's summary, of each word in how many usable answers it stands, shape (words,), and how many say one twice."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = read_table(path)
    lists = usable_rows(table)["words"].combine_chunks()
    pairs = pa.table(
        {"response": pc.list_parent_indices(lists), "word": pc.list_flatten(lists)}
    )
    once = pairs.group_by(["response", "word"]).aggregate(
        []
    )  # a word counts once for each answer
    occurrences = pc.value_counts(once["word"]).field("counts").to_numpy()
    said, different = (
        np.bincount(column["response"].to_numpy()) for column in (pairs, once)
    )
    # The instruments need the scorer: they are what the run's own metrics.json has.
    metrics = path / "metrics.json"
    stored = read_json(metrics).get("instruments", {}) if metrics.is_file() else {}
    summary = replace(summary_of(table, name), instruments=stored)
    return summary, occurrences, int((said != different).sum())


def with_gains(
    table: Table11,
    folders: Mapping[str, Path],
    second_encoder: SecondEncoder | None,
    bases: Mapping[str, str] | None = None,
) -> Table11:
    """The table with `gains` in every row that has a base in `bases`, both by their names as in `folders`.

    Without `bases` each row's is the row `base`, or else the first one.
    """
    if bases is None:
        base = "base" if "base" in folders else next(iter(folders))
        bases = {name: base for name in folders if name != base}

    @cache  # a base has many rows
    def seen(name: str) -> SeenLists | None:
        return (
            SeenLists.from_lists(second_encoder, *read_lists(folders[name]))
            if second_encoder
            else None
        )

    scores = cache(lambda name: usable_scores(folders[name]))

    def gained(row: Table11Row) -> Table11Row:
        name = row.summary.source
        if name not in bases:
            return row
        base = bases[name]
        before = seen(base)
        after = seen(name)
        parts = after.over(before) if before and after else None
        own = gain(scores(base), scores(name))
        return replace(row, gains=(own, parts.total if parts else None), parts=parts)

    encoder = second_encoder.encoder if second_encoder else None
    return replace(
        table,
        rows=tuple(gained(row) for row in table.rows),
        second_encoder=encoder.name if encoder else None,
        second_encoder_revision=encoder.revision if encoder else None,
    )
