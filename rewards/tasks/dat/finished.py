"""Finished DAT runs: a table of responses (Table 11), or the benchmark's trials (Table 6)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from data.prompts import prompt
from data.schema import iter_tables
from rewards.finished import Finished
from rewards.measure import Estimate, Measure
from rewards.tasks.dat.summary import DatSummary


class FinishedDat(Finished):
    """A table of DAT responses."""

    @property
    def kind(self) -> str:
        """The benchmark's trials stand beside a larger table of the same model."""
        return "trials" if self.settings.get("trials") else "responses"

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The one prompt."""
        return {"": prompt("dat")}

    @cached_property
    def summary(self) -> DatSummary:
        """The row of Table 11."""
        return DatSummary.from_json(self.metrics)

    def by_answer(self, measure: Measure) -> np.ndarray:
        """Scores of the valid responses that count, float32, shape (valid,); or 1 for each valid response, else 0."""
        if measure.short == "valid":
            return np.repeat([1.0, 0.0], [self.summary.valid, self.summary.num_responses - self.summary.valid])
        parts = [table["score"].drop_null().to_numpy() for table in iter_tables(self.folder, ("score",))]
        scores = np.concatenate([np.zeros(0, np.float32), *parts]).astype(np.float32)
        return scores[: self.summary.valid]

    def estimate(self, measure: Measure) -> Estimate:
        """The mean with its normal interval, of the valid ones among all; the valid share without one."""
        row = self.summary
        if measure.short == "valid":
            return Estimate(row.valid_rate, None, None, row.num_responses, row.num_responses)
        return Estimate(row.mean, *(row.ci95 or (None, None)), row.valid, row.num_responses)
