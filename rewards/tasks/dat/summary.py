"""DAT results: the row of the paper's Table 11 (valid responses, mean, standard deviation, unique words) of a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from data.errors import UserError
from data.schema import Reason, iter_tables

if TYPE_CHECKING:
    import pyarrow as pa

    from rewards.nouns import NounChecker

_COLUMNS = ("id", "source", "words", "score", "reason")
_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class DatSummary:
    """One row of Table 11 (paper, section 5.2): mean and deviation are over the valid responses only."""

    source: str  # who wrote the responses
    num_responses: int  # all responses, valid or not
    valid: int  # responses with a score. `mean`, `std` and `ci95` always stand beside `valid` of `num_responses`.
    mean: float | None  # mean DAT score in [0, 2] (times 100 under Olson's protocol); None without a valid response
    std: float | None  # sample standard deviation (ddof = 1); None with fewer than two valid responses
    ci95: tuple[float, float] | None  # normal 95% interval of the mean: mean -+ 1.96 std / sqrt(valid)
    unique_words: int  # distinct words in valid responses (all ten of each, under Olson's protocol too)
    reasons: dict[str, int]  # invalid responses by reason, every reason named
    proper_noun_words: int | None = None  # words of valid responses, each time; None if nobody looked
    wikipedia_words: int | None = None  # words with an entry acquired from Wikipedia

    @property
    def valid_rate(self) -> float | None:
        """Valid share of all responses, in [0, 1]; None of no responses."""
        return self.valid / self.num_responses if self.num_responses else None

    def to_json(self) -> dict[str, Any]:
        """For `metrics.json`: all fields and the valid rate."""
        return {**asdict(self), "ci95": list(self.ci95) if self.ci95 else None, "valid_rate": self.valid_rate}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DatSummary:
        """The summary that `to_json` wrote; what stands beside it in `metrics.json` is left alone."""
        own = {field.name: values[field.name] for field in fields(cls)}
        return cls(**{**own, "ci95": tuple(own["ci95"]) if own["ci95"] else None})


class DatAccumulator:
    """Takes a table in pieces and keeps only counts, so a million responses need no more memory than a thousand.

    Mean and squared deviations are merged piece by piece in float64 (Chan et al., 1983): the order of the pieces does
    not matter beyond rounding.
    """

    def __init__(self) -> None:
        self._total = self._valid = 0
        self._mean = self._squares = 0.0
        self._reasons: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self._sources: dict[str, None] = {}

    def add(self, table: pa.Table) -> None:
        """Add a part of a response table (columns id, source, words, score, reason; see `data.schema.iter_tables`)."""
        import pyarrow.compute as pc

        is_valid = pc.is_valid(table["score"])
        unscored = pc.invert(pc.xor(is_valid, pc.is_valid(table["reason"])))
        for row in table.filter(unscored).slice(0, 1).to_pylist():
            state = "neither a score nor" if row["score"] is None else "both a score and"
            raise UserError(f"response {row['id']} has {state} a reason; score the table first: python -m eval score")
        valid = table.filter(is_valid)
        self._add_scores(len(table), valid["score"].to_numpy().astype(np.float64))
        for column, counts in (
            (table["reason"].drop_null(), self._reasons),
            (pc.list_flatten(valid["words"]), self._words),
        ):
            values, numbers = pc.value_counts(column).flatten()
            counts.update(dict(zip(values.to_pylist(), numbers.to_pylist(), strict=True)))
        self._sources.update(dict.fromkeys(pc.unique(table["source"]).to_pylist()))

    def _add_scores(self, total: int, scores: np.ndarray) -> None:
        self._total += total
        n = len(scores)
        if not n:
            return
        mean = float(scores.mean())
        difference = mean - self._mean
        both = self._valid + n
        self._squares += float(((scores - mean) ** 2).sum()) + difference**2 * self._valid * n / both
        self._mean += difference * n / both
        self._valid = both

    def summary(self, source: str | None = None, checker: NounChecker | None = None) -> DatSummary:
        """The row of everything added so far.

        Args:
            source: Name of the row; None takes the sources of the responses.
            checker: Counts proper nouns and Wikipedia words; give the one that scored the responses.
        """
        std = math.sqrt(self._squares / (self._valid - 1)) if self._valid > 1 else None
        margin = None if std is None else _Z95 * std / math.sqrt(self._valid)
        proper, wikipedia = _kinds(self._words, checker) if checker else (None, None)
        return DatSummary(
            source=", ".join(self._sources) if source is None else source,
            num_responses=self._total,
            valid=self._valid,
            mean=self._mean if self._valid else None,
            std=std,
            ci95=None if margin is None else (self._mean - margin, self._mean + margin),
            unique_words=len(self._words),
            reasons={str(reason): self._reasons[reason] for reason in Reason},
            proper_noun_words=proper,
            wikipedia_words=wikipedia,
        )


def summarise(
    responses: Path, *, source: str | None = None, checker: NounChecker | None = None, trials: int | None = None
) -> DatSummary:
    """The row of Table 11 of a table on disk (a part, a folder of parts or a run's folder).

    Args:
        responses: Where the table is.
        source: Name of the row; None takes the sources of the responses.
        checker: Counts proper nouns and Wikipedia words; give the one that scored the responses.
        trials: Take the rows up to the valid response of this number.
    """
    accumulator = DatAccumulator()
    tables = iter_tables(responses, _COLUMNS)
    for table in tables if trials is None else until_valid(tables, trials):
        accumulator.add(table)
    return accumulator.summary(source, checker)


def until_valid(tables: Iterator[pa.Table], trials: int) -> Iterator[pa.Table]:
    """The rows up to the valid response of this number: those of a run of trials that count (column score)."""
    for table in tables:
        valid = np.flatnonzero(table["score"].is_valid().to_numpy())
        if len(valid) >= trials:
            yield table.slice(0, int(valid[trials - 1]) + 1)
            return
        trials -= len(valid)
        yield table


def valid_scores(path: Path) -> np.ndarray:
    """Scores of the valid responses of a table on disk, float32, shape (valid,), for a histogram."""
    parts = [table["score"].drop_null().to_numpy() for table in iter_tables(path, ("score",))]
    return np.concatenate([np.zeros(0, np.float32), *parts]).astype(np.float32)


def _kinds(words: Counter[str], checker: NounChecker) -> tuple[int, int]:
    """How many word occurrences are proper nouns, and how many come from Wikipedia."""
    order: Sequence[str] = list(words)
    verdicts = list(zip(order, checker.check(order), strict=True))
    return sum(words[w] for w, v in verdicts if v.proper), sum(words[w] for w, v in verdicts if v.wikipedia)
