"""DAT results: the row of Table 11 (paper, section 5.2) of a table of answers, and finished runs that hold one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.data.schema import ERROR, Reason
from sozo.scoring.measure import LEVEL, Estimate, Measure, t_interval
from sozo.scoring.parse import reasons_in
from sozo.scoring.second_encoder import SecondEncoder, SeenLists
from sozo.scoring.statistics import mean_interval
from sozo.scoring.statistics.hill import (
    different_words,
    hill_interval,
    hill_ratio,
    log_hill_variance,
)
from sozo.tasks.dat.table import read_lists, read_table, usable_scores
from sozo.tasks.dat.words import PROMPTS
from sozo.tasks.run_result import RunResult, ScoredAnswer

if TYPE_CHECKING:
    import pyarrow as pa


DIFFERENT_WORDS = Measure(
    "dat/different_words", 0, unit="words", per_item=False, compared=False, ratio=True
)


@dataclass(frozen=True, slots=True)
class DatSummary:
    """One row of Table 11 (paper, section 5.2): mean and deviation are over the usable answers only."""

    source: str  # who wrote the answers
    num_answers: int  # all answers, usable or not
    usable: int  # answers with a score. `score`, `std` and `ci95` always stand beside `usable` of `num_answers`.
    # DAT score in [0, 2] (times 100 under Olson's protocol); None without a usable answer
    score: float | None
    # Sample standard deviation (ddof = 1); None with fewer than two usable answers
    std: float | None
    # Student's 95% interval of the mean over the usable answers
    ci95: tuple[float, float] | None
    all_different_words: int  # distinct words in usable answers (all ten of each, under Olson's protocol too)
    reasons: dict[str, int]  # unusable answers by reason, every reason named
    # `sozo.tasks.dat.instruments`; what was measured
    instruments: dict[str, float] = field(default_factory=dict)

    @property
    def came(self) -> int:
        """Answers that came: what a server never answered is not unusable."""
        return self.num_answers - self.reasons.get(ERROR, 0)

    @property
    def usable_share(self) -> float | None:
        """Usable share of the answers that came, in [0, 1]; None of no answers."""
        return self.usable / self.came if self.came else None

    @property
    def digits(self) -> int:
        """Decimals of its scores: four, or two for Olson's, which are 0 to 200."""
        return 2 if (self.score or 0.0) > 2 else 4

    def metrics(self) -> dict[str, Any]:
        """The content of `metrics.json`."""
        low, high = self.ci95 or (None, None)
        total = self.num_answers
        usable = mean_interval(
            np.repeat([1.0, 0.0], [self.usable, self.came - self.usable]), share=True
        )
        measures = {
            "dat": Estimate(self.score, low, high, self.usable).to_json()
            | {"of": total},
            "dat/usable": usable.to_json() | {"of": total},
        }
        return {
            "source": self.source,
            "num_items": 1,
            "num_answers": total,
            "usable": self.usable,
            "reasons": self.reasons,
            "measures": measures,
            "std": self.std,
            "all_different_words": self.all_different_words,
            "instruments": self.instruments,
        }

    @classmethod
    def from_metrics(cls, metrics: Mapping[str, Any]) -> Self:
        """The summary whose `metrics` these are."""
        score = metrics["measures"]["dat"]
        return cls(
            source=metrics["source"],
            num_answers=metrics["num_answers"],
            usable=metrics["usable"],
            score=score["value"],
            std=metrics["std"],
            ci95=None if score["low"] is None else (score["low"], score["high"]),
            all_different_words=metrics["all_different_words"],
            reasons=metrics["reasons"],
            instruments=metrics["instruments"],
        )


def summarise(
    answers: Path,
    *,
    source: str | None = None,
    num_usable: int | None = None,
    language: str = "ja",
) -> DatSummary:
    """The row of Table 11 of a table on disk, called `source` (None: by the sources of the answers).

    With `num_usable`, rows count up to the usable answer of this number.
    """
    return summary_of(read_table(answers, num_usable), source, language)


def summary_of(
    table: "pa.Table", source: str | None = None, language: str = "ja"
) -> DatSummary:
    """The row of Table 11 of a table in memory; a UserError where an answer has neither score nor reason, or both."""
    import pyarrow.compute as pc

    scored, with_reason = table["score"].is_valid(), table["reason"].is_valid()
    for row in table.filter(pc.equal(scored, with_reason)).slice(0, 1).to_pylist():
        state = "neither a score nor" if row["score"] is None else "both a score and"
        raise UserError(
            f"answer {row['id']} has {state} a reason; score the table first: sozo score"
        )
    usable = table.filter(scored)
    scores, n = usable["score"].to_numpy().astype(np.float64), len(usable)
    mean = float(scores.mean()) if n else None
    std = float(scores.std(ddof=1)) if n > 1 else None
    reasons = dict.fromkeys(map(str, reasons_in(language)), 0)
    reasons |= {
        row["values"]: row["counts"]
        for row in pc.value_counts(table["reason"].drop_null()).to_pylist()
    }
    return DatSummary(
        source=", ".join(table["source"].unique().to_pylist())
        if source is None
        else source,
        num_answers=len(table),
        usable=n,
        score=mean,
        std=std,
        ci95=t_interval(mean, std, n),
        all_different_words=pc.count_distinct(pc.list_flatten(usable["words"])).as_py(),
        reasons=reasons,
    )


class DatRunResult(RunResult):
    """A table of DAT answers. That of a fixed number holds more of them than the benchmark's trials."""

    kinds = ("trials", "answers")
    papers = ("pkshatech/GLuCoSE-base-ja-v2",)
    wrong_form = (str(Reason.FORMAT),)

    @property
    def kind(self) -> str:
        """The benchmark's trials stand beside a larger table of the same model."""
        return "trials" if self.metrics.get("trials") else "answers"

    @property
    def language(self) -> str:
        return self.settings.get("language", "ja")

    @cached_property
    def items(self) -> dict[str, dict[str, Any]]:
        return {"": {"id": "", "prompt": prompt(PROMPTS[self.language])}}

    @cached_property
    def summary(self) -> DatSummary:
        """The row of Table 11."""
        return DatSummary.from_metrics(self.metrics)

    def adapt(self, measure: Measure) -> Measure:
        """Two decimals for Olson's scores (0 to 200)."""
        if measure.name != self.main.name:
            return measure
        return replace(
            measure,
            digits=self.summary.digits,
            scale=(0, 200 if self.settings.get("olson") else 2),
        )

    def answers(self, places: Sequence[int] | None = None) -> Iterator[ScoredAnswer]:
        """Those that count: of bare parts, which have no metrics, all."""
        return islice(super().answers(places), self.metrics.get("num_answers"))

    def value(self, answer: ScoredAnswer, measure: Measure) -> float | None:
        """Of the share of usable answers 1 or 0, as of any answer that came."""
        if measure.short == "usable":
            return None if answer.reason == ERROR else float(answer.reason is None)
        return super().value(answer, measure)

    def texts(self, reason: str) -> list[str]:
        """The answers that count and are unusable for this reason."""
        import pyarrow.compute as pc

        rows = self.table().slice(0, self.summary.num_answers)
        return rows.filter(pc.equal(rows["reason"], reason))["text"].to_pylist()

    def by_answer(self, measure: Measure) -> np.ndarray:
        """Scores of the usable answers that count, float32, shape (usable,); or 1 for each usable answer, else 0."""
        if measure.short == "usable":
            return np.repeat(
                [1.0, 0.0],
                [self.summary.usable, self.summary.came - self.summary.usable],
            )
        return usable_scores(self.folder)[: self.summary.usable]

    @cached_property
    def lists(self) -> np.ndarray:
        """The words of each usable answer that counts, as numbers of the run's own: int32, shape (usable, 10)."""
        return read_lists(self.folder, self.metrics.get("trials"))[1]

    def against(self, base: Self, measure: Measure, level: float = LEVEL) -> Estimate:
        """Of different words the ratio at equal n."""
        if measure.name != DIFFERENT_WORDS.name:
            return super().against(base, measure, level)
        return hill_ratio(base.lists, self.lists, level=level)

    @classmethod
    def shared(
        cls, pairs: Sequence[tuple[Self, Self]], measure: Measure, *, one_base: bool
    ) -> tuple[float, int] | None:
        if measure.name != DIFFERENT_WORDS.name:
            return super().shared(pairs, measure, one_base=one_base)
        base = pairs[0][0].lists
        n = min(len(run.lists) for pair in pairs for run in pair)
        return (log_hill_variance(base, n), len(base)) if one_base else None

    def sides(self, base: Self, measure: Measure) -> tuple[float | None, float | None]:
        if measure.name != DIFFERENT_WORDS.name:
            return super().sides(base, measure)
        n = min(len(base.lists), len(self.lists))
        ours, theirs = (hill_interval(run.lists, n).value for run in (self, base))
        return ours, theirs

    def in_plane(
        self, up: Measure, across: Measure, size: int
    ) -> dict[Any, tuple[float, float]]:
        """Of different words the jackknife's values of each usable answer, in `size` of them."""
        words = different_words(self.lists, size).tolist()
        heights = self.by_answer(up).tolist()
        return dict(enumerate(zip(words, heights, strict=True)))

    def counts(self, measure: Measure) -> tuple[int, int]:
        """Of the answers that count; a table may hold more of them, and is large."""
        n = self.summary.usable if measure.name == self.main.name else self.summary.came
        return n, self.summary.num_answers

    def seen_by(self, second: SecondEncoder) -> SeenLists | None:
        """None under Olson's protocol: English words, of which seven count."""
        if self.settings.get("olson"):
            return None
        return SeenLists.from_lists(
            second.for_language(self.language),
            *read_lists(self.folder, self.metrics.get("trials")),
        )
