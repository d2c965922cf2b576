"""Finished runs of hivemind: beside the answers, mean vectors by which two models are compared; how it is shown."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from sozo.data.record import write_whole
from sozo.scoring.distance import cosines_of_means
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import number
from sozo.scoring.said import Said, said
from sozo.scoring.statistics import mean_interval
from sozo.scoring.table import Cell
from sozo.tasks.finished import Finished
from sozo.tasks.view import ModelTable, Section, View, measured

# Similarities of answers, cut to one length and as they are, each by the first encoder and by the second.
FORMS = ("hivemind", "hivemind/second encoder", "hivemind/uncut", "hivemind/uncut, second encoder")
MEANS = "means.npz"


def write_means(path: Path, units: Mapping[str, np.ndarray], of_prompt: np.ndarray, prompts: int) -> None:
    """Keep, for each prompt and form, the mean of its answers' unit vectors; zeros for a prompt without an answer.

    `units` are by form, shape (answers, dimensions); `of_prompt` is the number of each answer's prompt.
    """
    counts, means = np.bincount(of_prompt, minlength=prompts).clip(1), {}
    for name, unit in units.items():
        sums = np.zeros((prompts, unit.shape[1]))
        np.add.at(sums, of_prompt, unit)
        means[name] = (sums / counts[:, None]).astype(np.float32)
    file = io.BytesIO()
    np.savez(file, **means)  # type: ignore[arg-type]
    write_whole(path, file.getvalue())


class FinishedHivemind(Finished):
    """Answers with their similarities."""

    same = ("prompts_sha256", "hivemind_length")

    @cached_property
    def means(self) -> Mapping[str, np.ndarray]:
        """Name in FORMS -> mean unit vectors, float64 of shape (prompts, dimensions)."""
        with np.load(self.folder / MEANS, allow_pickle=False) as file:
            return {name: file[name].astype(np.float64) for name in file.files}

    def cell(self, measure: Measure) -> Cell:
        """The mean, and below it the similarity of the run's answers to different prompts."""
        cell = super().cell(measure)
        return cell if cell.value is None else replace(cell, below=self.between(self, measure).below)

    def between(self, other: Self, measure: Measure) -> Cell:
        """Mean similarity of these answers to the other's to the same prompt, and below it that to other prompts."""
        if measure.name not in self.means or measure.name not in other.means:
            return Cell()
        one, two = self.means[measure.name], other.means[measure.name]
        both = one.any(axis=1) & two.any(axis=1)
        if not both.sum():
            return Cell(why="no values")
        same, apart = cosines_of_means(one[both], two[both])
        mean, below = mean_interval(same), list[Said]()
        if apart is not None:
            below.append(said("other prompts {value}", value=number(apart, measure)))
        return Cell(mean.mean, measure, mean.low, mean.high, len(same), len(both), tuple(below))


class HivemindView(View[FinishedHivemind]):
    """Less is more diverse, if the answers are good ones: a note says so."""

    def notes(self, run: FinishedHivemind) -> list[str]:
        return [self.labels()["hivemind_note"][0]]

    def section(self, measures: Sequence[Measure], runs: Sequence[FinishedHivemind]) -> Section:
        columns = tuple(measured(measure, measure.name) for measure in measures)
        return (ModelTable("hivemind_table", columns, ("hivemind_note",)),), ()
