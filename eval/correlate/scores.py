"""The scores of models in the three benchmarks, from their finished runs: what Tables 9 and 10 correlate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from data.jcq import CONTENT_SHA256, CRITERIA, DATASET, TASKS
from eval.alike import check_alike
from eval.finished import Evaluated, FinishedJcq
from eval.human import ALL_TASKS, MEAN

CELLS = tuple((task, criterion) for task in (*TASKS, ALL_TASKS) for criterion in (*CRITERIA, MEAN))
"""The 40 cells of Tables 8 to 10 by task and criterion, row by row."""
_MEND = "score one of them again as the other, or leave it out"


@dataclass(frozen=True, slots=True)
class Scored:
    """A score beside what it rests on: `n` of `of` responses (DAT), stories (SAT) or questions (JCQ)."""

    mean: float | None
    n: int
    of: int


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model's scores, None for a benchmark that it has no finished run of.

    Attributes:
        model: Its name.
        dat: DAT score, 0 to 2 (Olson's: 0 to 200).
        sat: SAT score, 0 to 2.
        jcq: Mean over questions and criteria, 1 to 5.
        jcq_cells: The same by `CELLS`, None where no answer has scores; empty without JCQ.
    """

    model: str
    dat: Scored | None
    sat: Scored | None
    jcq: Scored | None
    jcq_cells: dict[tuple[str, str], float | None]

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        cells = [{"task": t, "criterion": c, "mean": mean} for (t, c), mean in self.jcq_cells.items()]
        return {**asdict(self), "jcq_cells": cells}


def model_rows(models: Sequence[Evaluated]) -> tuple[ModelRow, ...]:
    """A row for each model with runs of two benchmarks or more; the others have nothing to correlate.

    Raises:
        ValueError: Two models were scored differently (another encoder, judge or set of questions), so that their
            scores are on different scales; or a run cannot be read.
    """
    kept = _with_two(models)
    check_alike("DAT", [(m.name, m.dat) for m in kept if m.dat], _MEND)
    check_alike("SAT", [(m.name, m.sat) for m in kept if m.sat], _MEND)
    check_jcq_alike(kept)
    return tuple(_row(model) for model in kept)


def check_jcq_alike(models: Sequence[Evaluated]) -> None:
    """Raise ValueError if not all JCQ runs asked the same questions and the same judge with the same prompt."""
    check_alike("JCQ", [(m.name, m.jcq) for m in models if m.jcq], _MEND)


def scales(models: Sequence[Evaluated]) -> tuple[str, ...]:
    """What the scores of runs that are alike rest on, a sentence for each benchmark, to stand beside them."""
    said = []
    models = _with_two(models) or models  # without any, only the judge and people are compared
    if jcq := next((model.jcq for model in models if model.jcq), None):
        judge = jcq.settings["judge"]
        own = jcq.settings["questions_sha256"] == CONTENT_SHA256
        asked = f"the questions of {DATASET}" if own else f"not the 700 questions of {DATASET}: these are no JCQ scores"
        said.append(f"JCQ: judge {judge['model']} with the prompt {judge['prompt']}; {asked}.")
    if dat := next((model.dat for model in models if model.dat), None):
        scorer = dat.loaded.get("scorer", {})
        said.append(f"DAT: encoder {scorer.get('embedding_model')}, nouns by {scorer.get('noun_checker')}.")
    if sat := next((model.sat for model in models if model.sat), None):
        said.append(f"SAT: encoder {sat.loaded.get('scorer', {}).get('embedding_model')}.")
    return tuple(said)


def _with_two(models: Sequence[Evaluated]) -> list[Evaluated]:
    return [model for model in models if sum(run is not None for run in (model.dat, model.jcq, model.sat)) > 1]


def _row(model: Evaluated) -> ModelRow:
    dat = model.dat.summary if model.dat else None
    sat = model.sat.summary if model.sat else None
    cells = jcq_cells(model.jcq) if model.jcq else {}
    return ModelRow(
        model.name,
        Scored(dat.mean, dat.valid, dat.num_responses) if dat else None,
        Scored(sat.mean, sat.scored_stories, sat.num_stories) if sat else None,
        _jcq(model.jcq, cells) if model.jcq else None,
        cells,
    )


def _jcq(run: FinishedJcq, cells: dict[tuple[str, str], float | None]) -> Scored:
    scored = int((run.scores.scored > 0).sum())
    return Scored(cells[ALL_TASKS, MEAN], scored, run.settings.get("num_questions", len(run.scores.questions)))


def jcq_cells(run: FinishedJcq) -> dict[tuple[str, str], float | None]:
    """A model's mean in each of `CELLS`, over the questions with scores."""
    scores = run.scores
    there = scores.scored > 0
    cells: dict[tuple[str, str], float | None] = {}
    for task in (*TASKS, ALL_TASKS):
        which = there & np.array([task in (ALL_TASKS, question.task) for question in scores.questions], bool)
        means: list[float | None] = [None] * (len(CRITERIA) + 1)
        if which.any():
            by_criterion = scores.values[which].mean(axis=0)
            means = [*by_criterion.tolist(), float(by_criterion.mean())]
        cells |= {(task, name): mean for name, mean in zip((*CRITERIA, MEAN), means, strict=True)}
    return cells
