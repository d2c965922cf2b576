"""Finished DAT runs: a table of responses (Table 11), or the benchmark's trials (Table 6)."""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from data.prompts import prompt
from data.schema import iter_tables
from rewards.finished import Finished
from rewards.measure import Estimate, Measure
from rewards.tasks.dat.summary import DatSummary, valid_scores

if TYPE_CHECKING:
    import pyarrow as pa


class FinishedDat(Finished):
    """A table of DAT responses. That of a fixed number holds more of them than the benchmark's trials."""

    kinds = ("trials", "responses")

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

    def estimate(self, measure: Measure) -> Estimate:
        """The mean with its normal interval, of the valid ones among all; the valid share without one."""
        row = self.summary
        if measure.short == "valid":
            return Estimate(row.valid_rate, None, None, row.num_responses, row.num_responses)
        low, high = row.ci95 or (None, None)
        return Estimate(row.mean, low, high, row.valid, row.num_responses)
