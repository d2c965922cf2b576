"""The paper's Table 11 of a study: a row per training method, from its table of responses, beside the paper's figures.

Unique words grow with the number of valid responses, and training changes that number. So each row also gives unique
words at equal sample size: what its smallest row's number of valid responses would show (`rarefaction`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data.errors import UserError
from data.published import load
from rewards.tasks.dat.rarefaction import expected_unique_words
from rewards.tasks.dat.summary import DatAccumulator, DatSummary, counted_tables

if TYPE_CHECKING:
    import pyarrow as pa

_CURVE_POINTS = 40


@dataclass(frozen=True, slots=True)
class Published:
    """The paper's figures of one row (of 131,072 responses, with its encoder)."""

    valid: int
    mean: float
    std: float
    unique_words: int


@dataclass(frozen=True, slots=True)
class Table11Row:
    """One row."""

    summary: DatSummary  # valid responses, mean, standard deviation, unique words; its source is the row's name
    equal_size_words: float | None  # expected unique words in `Table11.equal_size` valid responses; None with none
    curve: tuple[tuple[int, float], ...]  # (responses, expected unique words) for growing samples, up to all valid ones
    published: Published | None  # the paper's figures for this model and method


@dataclass(frozen=True, slots=True)
class Table11:
    """The rows in order; `equal_size` is the smallest number of valid responses of a row that has any (0: none has)."""

    rows: tuple[Table11Row, ...]
    equal_size: int
    paper_model: str | None


def table11(
    folders: Mapping[str, Path], paper_model: str | None = None, trials: Mapping[str, int] | None = None
) -> Table11:
    """The table of some runs' folders (or folders of parts), read part by part: memory holds one part and word counts.

    Args:
        folders: Row name -> table. The paper's names (`data.published.METHODS`) get the paper's figures beside them.
        paper_model: A model of `data.published`'s `dat_training` (`Swallow-8B`); None for one the paper does not have.
        trials: Of rows that are runs of trials, how many: the rows up to the valid response of this number count.
    """
    paper = _paper_rows(paper_model)
    counted = [_read(name, path, (trials or {}).get(name)) for name, path in folders.items()]
    # A row with no valid response at all has no words to compare: it must not pull the others down to nothing.
    equal_size = min((summary.valid for summary, _ in counted if summary.valid), default=0)
    rows = []
    for summary, words in counted:
        n, counts = summary.valid, list(words.values())
        sizes = sorted({int(m) for m in np.linspace(1, n, _CURVE_POINTS).round()} | {equal_size}) if n else []
        curve = tuple((m, expected_unique_words(counts, n, m)) for m in sizes)
        at_equal_size = dict(curve).get(equal_size)
        rows.append(Table11Row(summary, at_equal_size, curve, paper.get(summary.source)))
    return Table11(tuple(rows), equal_size, paper_model)


def _read(name: str, path: Path, trials: int | None) -> tuple[DatSummary, Counter[str]]:
    accumulator, words = DatAccumulator(), Counter[str]()
    for part in counted_tables(path, trials):
        accumulator.add(part)
        words.update(_responses_by_word(part))
    return accumulator.summary(source=name), words


def _responses_by_word(part: pa.Table) -> dict[str, int]:
    """In how many valid responses of this part each word stands."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = part.filter(pc.is_valid(part["score"]))["words"].combine_chunks()
    pairs = pa.table({"response": pc.list_parent_indices(lists), "word": pc.list_flatten(lists)})
    once = pairs.group_by(["response", "word"]).aggregate([])  # a word counts once for each response
    values, numbers = pc.value_counts(once["word"]).flatten()
    return dict(zip(values.to_pylist(), numbers.to_pylist(), strict=True))


def _paper_rows(model: str | None) -> dict[str, Published]:
    if model is None:
        return {}
    rows = load("dat_training")
    known = sorted({row["model"] for row in rows if row["model"]})
    if model not in known:
        raise UserError(f"the paper's Table 11 has no model {model!r}; it has {', '.join(known)}")
    names = Published.__dataclass_fields__
    return {r["method"]: Published(**{n: r[n] for n in names}) for r in rows if r["model"] in (model, None)}
