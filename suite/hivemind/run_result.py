"""Finished runs of hivemind: beside the answers, mean vectors by which two models are compared."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np

from sozo.scoring.distance import cosines_of_means
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import number
from sozo.scoring.statistics import mean_interval
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult

# Similarities of answers, cut to one length and as they are, each by the first encoder and by the second.
FORMS = (
    "hivemind",
    "hivemind/second encoder",
    "hivemind/uncut",
    "hivemind/uncut, second encoder",
)
MEANS = "means.npz"


class HivemindRunResult(RunResult):
    """Answers with their similarities."""

    same = ("items_sha256", "hivemind_length")

    @cached_property
    def means(self) -> Mapping[str, np.ndarray]:
        """Name in FORMS -> mean unit vectors, float64 of shape (prompts, dimensions)."""
        with np.load(self.folder / MEANS, allow_pickle=False) as file:
            return {name: file[name].astype(np.float64) for name in file.files}

    def cell(self, measure: Measure) -> Cell:
        """The mean, and below it the similarity of the run's answers to different prompts."""
        cell = super().cell(measure)
        return (
            cell
            if cell.value is None
            else replace(cell, below=self.between(self, measure).below)
        )

    def between(self, other: Self, measure: Measure) -> Cell:
        """Mean similarity of these answers to the other's to the same prompt, and below it that to other prompts."""
        if measure.name not in self.means or measure.name not in other.means:
            return Cell()
        one, two = self.means[measure.name], other.means[measure.name]
        both = np.flatnonzero(one.any(axis=1) & two.any(axis=1))
        if not both.size:
            return Cell(why="no values")
        same, apart = cosines_of_means(one[both], two[both])
        mean = mean_interval(same)
        below = translatable("other prompts {value}", value=number(apart, measure))
        return Cell(mean, measure, of=len(self.prompts), below=(below,))
