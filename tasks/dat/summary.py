"""DAT results: the row of Table 11 (paper, section 5.2) of a table of responses, and finished runs that hold one."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.data.schema import Reason, iter_tables
from sozo.scoring.embeddings import DEFAULT_ENCODER
from sozo.scoring.measure import Estimate, Measure, Summary, t_interval
from sozo.tasks.finished import Finished

if TYPE_CHECKING:
    import pyarrow as pa

    from sozo.scoring.guard import Guard


@dataclass(frozen=True, slots=True)
class DatSummary(Summary):
    """One row of Table 11 (paper, section 5.2): mean and deviation are over the valid responses only."""

    source: str  # who wrote the responses
    num_responses: int  # all responses, valid or not
    valid: int  # responses with a score. `mean`, `std` and `ci95` always stand beside `valid` of `num_responses`.
    mean: float | None  # mean DAT score in [0, 2] (times 100 under Olson's protocol); None without a valid response
    std: float | None  # sample standard deviation (ddof = 1); None with fewer than two valid responses
    ci95: tuple[float, float] | None  # normal 95% interval of the mean: mean -+ 1.96 std / sqrt(valid)
    unique_words: int  # distinct words in valid responses (all ten of each, under Olson's protocol too)
    reasons: dict[str, int]  # invalid responses by reason, every reason named
    instruments: dict[str, float] = field(default_factory=dict)  # `sozo.tasks.dat.instruments`; what was measured

    @property
    def valid_rate(self) -> float | None:
        """Valid share of all responses, in [0, 1]; None of no responses."""
        return self.valid / self.num_responses if self.num_responses else None

    @property
    def digits(self) -> int:
        """Decimals of its scores: four, or two for Olson's, which are 0 to 200."""
        return 2 if (self.mean or 0.0) > 2 else 4

    def to_json(self) -> dict[str, Any]:
        return Summary.to_json(self) | {"valid_rate": self.valid_rate}


class DatAccumulator:
    """Takes a table in pieces and keeps only counts, so a million responses need no more memory than a thousand.

    Mean and squared deviations are merged in float64 (Chan et al., 1983): the order matters only in rounding.
    """

    def __init__(self) -> None:
        self._total = self._valid = 0
        self._mean = self._squares = 0.0
        self._reasons: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self._sources: dict[str, None] = {}

    def add(self, table: "pa.Table") -> None:
        """Add a part of a response table (columns id, source, words, score, reason; see `data.schema.iter_tables`)."""
        import pyarrow.compute as pc

        is_valid = pc.is_valid(table["score"])
        unscored = pc.invert(pc.xor(is_valid, pc.is_valid(table["reason"])))
        for row in table.filter(unscored).slice(0, 1).to_pylist():
            state = "neither a score nor" if row["score"] is None else "both a score and"
            raise UserError(f"response {row['id']} has {state} a reason; score the table first: sozo score")
        valid = table.filter(is_valid)
        self._total += len(table)
        scores = valid["score"].to_numpy().astype(np.float64)
        if n := len(scores):
            mean, count = float(scores.mean()), self._valid + n
            difference = mean - self._mean
            self._squares += float(((scores - mean) ** 2).sum()) + difference**2 * self._valid * n / count
            self._mean += difference * n / count
            self._valid = count
        words = pc.list_flatten(valid["words"])
        for column, counts in ((table["reason"].drop_null(), self._reasons), (words, self._words)):
            values, numbers = pc.value_counts(column).flatten()
            counts.update(dict(zip(values.to_pylist(), numbers.to_pylist(), strict=True)))
        self._sources.update(dict.fromkeys(pc.unique(table["source"]).to_pylist()))

    def summary(self, source: str | None = None) -> DatSummary:
        """The row of everything added so far, called `source` (None: by the sources of the responses)."""
        std = math.sqrt(self._squares / (self._valid - 1)) if self._valid > 1 else None
        return DatSummary(
            source=", ".join(self._sources) if source is None else source,
            num_responses=self._total,
            valid=self._valid,
            mean=self._mean if self._valid else None,
            std=std,
            ci95=t_interval(self._mean, std, self._valid),
            unique_words=len(self._words),
            reasons={str(reason): self._reasons[reason] for reason in Reason},
        )


def summarise(responses: Path, *, source: str | None = None, trials: int | None = None) -> DatSummary:
    """The row of Table 11 of a table on disk (a part, a folder of parts or a run's folder).

    Its name is `source`; None takes the sources of the responses. With `trials`, rows count up to the valid response of
    this number.
    """
    accumulator = DatAccumulator()
    for table in counted_tables(responses, trials):
        accumulator.add(table)
    return accumulator.summary(source)


def counted_tables(responses: Path, trials: int | None) -> Iterator["pa.Table"]:
    """A table on disk in pieces; of a run of trials only the rows up to the valid response of this number."""
    for table in iter_tables(responses, ("id", "source", "words", "score", "reason")):
        if trials is not None:
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


def valid_lists(path: Path, trials: int | None = None) -> list[list[str]]:
    """The words of the valid responses of a table on disk; of a run of trials, of those that count."""
    import pyarrow.compute as pc

    parts = (table.filter(pc.is_valid(table["score"])) for table in counted_tables(path, trials))
    return [words for part in parts for words in part["words"].to_pylist()]


class FinishedDat(Finished):
    """A table of DAT responses. That of a fixed number holds more of them than the benchmark's trials."""

    kinds = ("trials", "responses")

    @property
    def kind(self) -> str:
        """The benchmark's trials stand beside a larger table of the same model."""
        return "trials" if self.settings.get("trials") else "responses"

    @cached_property
    def prompts(self) -> dict[str, str]:
        return {"": prompt("dat")}

    @cached_property
    def summary(self) -> DatSummary:
        """The row of Table 11."""
        return DatSummary.from_json(self.metrics)

    def shown(self, measure: Measure) -> Measure:
        """Two decimals for Olson's scores (0 to 200)."""
        return replace(measure, digits=self.summary.digits)

    def table(self) -> "pa.Table":
        """Read in columns: a million responses become no Python objects."""
        import pyarrow as pa

        table = pa.concat_tables(iter_tables(self.folder, ("id", "text", "score", "reason")))
        return table.append_column("item", pa.repeat(pa.scalar(""), table.num_rows))

    def by_answer(self, measure: Measure) -> np.ndarray:
        """Scores of the valid responses that count, float32, shape (valid,); or 1 for each valid response, else 0."""
        if measure.short == "valid":
            return np.repeat([1.0, 0.0], [self.summary.valid, self.summary.num_responses - self.summary.valid])
        return valid_scores(self.folder)[: self.summary.valid]

    def dealt(self, texts: Sequence[str], random: np.random.Generator) -> tuple[list[str], np.ndarray]:
        from sozo.tasks.dat.deal import dealt_badly

        return dealt_badly(texts, self.scale.get("embedding_model", DEFAULT_ENCODER), random)

    def guarded(self, guard: "Guard") -> np.ndarray | None:
        """None under Olson's protocol: English words, of which seven count."""
        if self.settings.get("olson"):
            return None
        return guard.scores(valid_lists(self.folder, self.settings.get("trials")))

    def estimate(self, measure: Measure) -> Estimate:
        """The mean with its normal interval, of the valid ones among all; the valid share without one."""
        row = self.summary
        if measure.short == "valid":
            return Estimate(row.valid_rate, None, None, row.num_responses, row.num_responses)
        low, high = row.ci95 or (None, None)
        return Estimate(row.mean, low, high, row.valid, row.num_responses)
