"""Finished runs on disk, model by model: what the report and every comparison of models is made of.

Nothing here loads a model or an encoder, or asks a judge.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rewards.tasks.jcq.run import ANSWERS, LEDGER, QUESTIONS
from rewards.tasks.sat.run import ROWS, STORIES

from data.jcq import Answer, Question, load_questions
from data.rewrites import Rewrite, read_rewrites
from data.stories import Story, load_stories
from data.study_folder import StudyFolder, read_study
from rewards.judges.judgement import Judgement, judgement_key, latest
from rewards.judges.ledger import read_judgements
from rewards.tasks.dat.summary import DatSummary, valid_scores
from rewards.tasks.dat.table11 import METHODS
from rewards.tasks.jcq.files import read_answers
from rewards.tasks.jcq.tables import ModelScores, model_scores
from rewards.tasks.sat.summary import SatSummary, story_scores

_KINDS = {"dat": "trials", "rescore": "responses", "jcq": "jcq", "sat": "sat"}


@dataclass(frozen=True)
class Finished:
    """One finished run.

    Attributes:
        folder: The run's folder.
        settings: What was asked for, from `config.json`.
        loaded: What became known on loading (scorer, decoder), from `config.json`.
        metrics: What came out, from `metrics.json`.
    """

    folder: Path
    settings: dict[str, Any]
    loaded: dict[str, Any]
    metrics: dict[str, Any]

    @property
    def scale(self) -> dict[str, Any]:
        """What the scores depend on beside the model: runs in which it differs cannot be compared (`eval.alike`)."""
        return dict(self.loaded.get("scorer", {}))


@dataclass(frozen=True)
class FinishedDat(Finished):
    """A table of DAT responses."""

    @cached_property
    def summary(self) -> DatSummary:
        """The row of Table 11."""
        return DatSummary.from_json(self.metrics)

    @cached_property
    def scores(self) -> np.ndarray:
        """Scores of the valid responses, shape (valid,), 0 to 2; of a run of trials, of those that count."""
        return valid_scores(self.folder)[: self.summary.valid]


@dataclass(frozen=True)
class FinishedJcq(Finished):
    """Answers to JCQ with their judgements."""

    @property
    def scale(self) -> dict[str, Any]:
        """Judge, its prompt and parameters, and the questions."""
        return {name: self.settings.get(name) for name in ("judge", "questions_sha256")}

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What was asked."""
        return load_questions(self.folder / QUESTIONS, complete=False)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """What the model wrote."""
        return read_answers(self.folder / ANSWERS)

    @cached_property
    def judgements(self) -> tuple[Judgement | None, ...]:
        """What holds of each answer now; None where the judge was not asked."""
        asked = {question.id: question.question for question in self.questions}
        judge = dict(self.settings["judge"])
        name, prompt = judge.pop("model"), judge.pop("prompt")
        found = latest(read_judgements(self.folder / LEDGER))
        return tuple(
            found.get(judgement_key(asked[a.question_id], a.answer, name, prompt, judge)) for a in self.answers
        )

    @cached_property
    def scores(self) -> ModelScores:
        """Question by question."""
        return model_scores(self.metrics["source"], self.questions, self.answers, self.judgements)


@dataclass(frozen=True)
class FinishedSat(Finished):
    """Rewrites of stories with their scores."""

    @property
    def scale(self) -> dict[str, Any]:
        """The scorer and the stories."""
        return {**super().scale, "stories_sha256": self.settings.get("stories_sha256")}

    @cached_property
    def summary(self) -> SatSummary:
        """The row of Table 7."""
        return SatSummary.from_json(self.metrics)

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        """What was to be rewritten."""
        return load_stories(self.folder / STORIES)

    @cached_property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """What the model wrote."""
        return read_rewrites(self.folder / ROWS)

    @cached_property
    def scores(self) -> dict[str, float]:
        """Story id -> distance, 0 to 2, of the stories that have one."""
        return story_scores(self.rewrites)


@dataclass(frozen=True)
class Evaluated:
    """A model and its finished runs.

    Attributes:
        name: The runs' source, or what the caller calls it.
        method: Of a study's row, the paper's name of the method (`rewards.tasks.dat.table11.METHODS`).
        paper_model: Of a study, the paper's name of the model that it starts from.
        study: Which study it is a row of: the study's folder.
        trials: DAT by trials (the benchmark: 100 valid responses).
        responses: DAT by responses in all (Table 11).
        jcq: JCQ.
        sat: SAT.
    """

    name: str
    method: str | None = None
    paper_model: str | None = None
    study: Path | None = None
    trials: FinishedDat | None = None
    responses: FinishedDat | None = None
    jcq: FinishedJcq | None = None
    sat: FinishedSat | None = None

    @property
    def dat(self) -> FinishedDat | None:
        """The table of responses where there is one, which holds more of them, else the benchmark's trials."""
        return self.responses or self.trials


def find_evaluated(places: Sequence[str]) -> tuple[Evaluated, ...]:
    """The models whose finished runs lie in some folders, however deep; of a study's folder its rows.

    Args:
        places: Folders, as `DIR` or as `NAME=DIR`: then DIR's only model is called NAME, and several NAME/MODEL.

    Returns:
        In the order of `places`; within one, the paper's methods first, then by name (checkpoint-9 before -10). Where a
        place holds several studies, a row is called STUDY/ROW.

    Raises:
        FileNotFoundError: A place is not there, or holds no finished run.
        ValueError: A run cannot be read, or one model has two runs of one kind.
    """
    models: dict[str, Evaluated] = {}
    for place in places:
        prefix, equals, path = place.partition("=")
        named = bool(equals) and not Path(place).exists()
        folder = Path(path if named else place)
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such folder; give the --output of earlier runs")
        found = sorted(_runs(folder), key=lambda one: (str(one.study or ""), _order(one.model)))
        if not found:
            raise FileNotFoundError(f"{folder}: holds no finished run; finish one first: python -m eval run")
        several = len({one.study for one in found if one.study}) > 1  # their rows have the same names
        models_here = [f"{one.study.name}/{one.model}" if several and one.study else one.model for one in found]
        alone = len(set(models_here)) == 1
        for one, model in zip(found, models_here, strict=True):
            name = model if not named else prefix if alone else f"{prefix}/{model}"
            there = models.setdefault(name, Evaluated(name, one.method, one.paper_model, one.study))
            if (other := getattr(there, one.kind)) is not None:
                raise ValueError(
                    f"{name} has two runs of one kind, {other.folder} and {one.run.folder}; name the folders: NAME=DIR"
                )
            changes: dict[str, Any] = {one.kind: one.run}
            models[name] = replace(there, **changes)
    return tuple(models.values())


def _order(name: str) -> tuple[int, list[Any]]:
    place = METHODS.index(name) if name in METHODS else len(METHODS)
    return place, [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


@dataclass(frozen=True)
class _Found:
    model: str
    method: str | None
    paper_model: str | None
    study: Path | None
    kind: str
    run: Finished


def _runs(folder: Path) -> Iterator[_Found]:
    """The finished runs under a folder. What lies under a study's folder belongs to the study."""
    studies: dict[Path, tuple[Path, StudyFolder]] = {}
    seen: set[Path] = set()
    for path, inside, names in os.walk(folder):
        inside.sort()
        place = Path(path)
        if study := read_study(place):
            studies[place] = place, study
            for method, row in study.rows.items():  # its tables may lie elsewhere
                if row.responses.resolve() not in seen and (found := _run(row.responses)):
                    seen.add(row.responses.resolve())
                    yield _Found(method, method, study.paper_model, place, *found)
        elif place.parent in studies:
            studies[place] = studies[place.parent]
        if {"config.json", "metrics.json"} <= set(names) and place.resolve() not in seen and (found := _run(place)):
            inside.clear()
            source = str(found[1].metrics["source"])
            root, of = studies.get(place, (None, None))
            if of is not None and source in of.rows:
                yield _Found(source, source, of.paper_model, root, *found)
            else:
                yield _Found(source, None, None, None, *found)


def _run(place: Path) -> tuple[str, Finished] | None:
    """The kind and the finished run of a folder; None of a model's, or of a run that is under way."""
    if not ((place / "config.json").is_file() and (place / "metrics.json").is_file()):
        return None
    config, settings = _read(place / "config.json"), {}
    if isinstance(config.get("settings"), dict):
        settings = config["settings"]
    kind = _KINDS.get(settings.get("task", ""))
    if kind is None:
        return None
    if kind == "trials" and not settings.get("trials"):
        kind = "responses"
    make: Callable[..., Finished] = {"jcq": FinishedJcq, "sat": FinishedSat}.get(kind, FinishedDat)
    return kind, make(place, settings, config.get("loaded", {}), _read(place / "metrics.json"))


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: cannot be read ({error})") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: is no JSON object")
    return values
