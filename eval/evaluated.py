"""Finished runs on disk, model by model, and which are on one scale: what every comparison of models is made of."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.published import METHODS
from sozo.data.run_folder import MISSING, first_difference, shortened
from sozo.data.study_folder import StudyFolder, read_study
from sozo.models.settings import OF_NOUNS
from sozo.models.trained_on import Training, different, recorded
from sozo.scoring.measure import Measure
from sozo.scoring.translatable import translatable
from sozo.tasks import finished_run
from sozo.tasks.run_result import RunResult


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A model and its finished runs."""

    name: str  # the runs' source, or what the caller calls it
    # Of a study's row, the paper's name of the method (`sozo.data.published.METHODS`).
    method: str | None = None
    # Of a study, the paper's name of the model that it starts from.
    paper_model: str | None = None
    study: Path | None = None  # which study it is a row of: the study's folder
    # By task and kind (`RunResult.kind`).
    runs: Mapping[tuple[str, str], RunResult] = field(default_factory=dict)
    # The same answers by further judges, by task and judge.
    judged: Mapping[tuple[str, str], RunResult] = field(default_factory=dict)

    def by(self, judge: str) -> "Evaluated":
        """The model with what a further judge scored."""
        own = {key: run for key, run in self.judged.items() if key[1] == judge}
        return replace(self, runs=own)

    def of_task(self, task: str) -> list[RunResult]:
        """All runs of a task, the one that says most last (`RunResult.kinds`)."""
        runs = [run for (name, _), run in self.runs.items() if name == task]
        return sorted(
            runs,
            key=lambda run: run.kinds.index(run.kind) if run.kind in run.kinds else -1,
        )

    @property
    def reference(self) -> bool:
        """Whether its lists of nouns were drawn (`random`, `frontier`), so that no model wrote them."""
        return bool(self.runs) and all(
            run.settings.get("model") in OF_NOUNS for run in self.runs.values()
        )

    @property
    def trained(self) -> bool:
        """Whether its runs say that sozo trained it."""
        return any(run.loaded.get("model_trained") for run in self.runs.values())

    @property
    def trainings(self) -> list[Training]:
        """What it was trained on, as far as its runs say so."""
        return different(
            training for run in self.runs.values() for training in recorded(run)
        )

    def run(self, task: str) -> RunResult | None:
        """The run of a task that says most; None without one."""
        runs = self.of_task(task)
        return runs[-1] if runs else None


def named(text: str) -> tuple[str | None, str]:
    """NAME=REST as name and rest; a model or a place alone, whatever signs it has, without a name."""
    name, _, rest = text.partition("=")
    return (name, rest) if name and rest and not Path(text).exists() else (None, text)


def find_evaluated(places: Sequence[str]) -> tuple[Evaluated, ...]:
    """The models whose finished runs lie in some folders, however deep; of a study's folder its rows.

    Answers that several judges scored are one model's: the first judge's run, and behind it `judged`.

    A place is `DIR`, or `NAME=DIR`: then DIR's only model is called NAME, and several NAME/MODEL. Within one come
    `before` and the paper's methods first, then names (checkpoint-9 before -10). Where it holds several studies, a row
    is STUDY/ROW.
    """
    models: dict[str, Evaluated] = {}
    for place in places:
        prefix, path = named(place)
        folder = Path(path)
        if not folder.is_dir():
            raise UserError(
                f"{folder}: no such folder; give the --output of earlier runs"
            )
        rows = sorted(
            _rows(folder),
            key=lambda row: (str(row[0].study or ""), _order(row[0].name)),
        )
        if not rows:
            raise UserError(
                f"{folder}: holds no finished run; finish one first: sozo run"
            )
        # Their rows have the same names.
        several = len({model.study for model, _ in rows if model.study}) > 1
        names = [
            f"{model.study.name}/{model.name}"
            if several and model.study
            else model.name
            for model, _ in rows
        ]
        alone = len(set(names)) == 1
        for (model, run), own in zip(rows, names, strict=True):
            name = own if prefix is None else prefix if alone else f"{prefix}/{own}"
            key = (run.task, run.kind)
            before = models[name].runs.get(key) if name in models else None
            known = models.setdefault(name, replace(model, name=name))
            further = run.task, run.judge
            if before and run.judge != before.judge and further not in known.judged:
                models[name] = replace(known, judged={**known.judged, further: run})
                continue
            if key in known.runs:
                folders = f"{known.runs[key].folder} and {run.folder}"
                raise UserError(
                    f"{name} has two runs of one kind, {folders}; name the folders: NAME=DIR"
                )
            places_of = {other.written_at for other in known.runs.values()} | {
                run.written_at
            }
            if prefix is None and len(places_of - {None}) > 1:
                servers = " and ".join(sorted(filter(None, places_of)))
                raise UserError(
                    f"{name} was answered by {servers}, which may be two models ({run.folder}); name the "
                    f"folders: NAME=DIR, with one name for both if it is one model"
                )
            models[name] = replace(known, runs={**known.runs, key: run})
    return tuple(models.values())


def _order(name: str) -> tuple[int, list[Any]]:
    first = ("before", *METHODS)  # the base, where nobody names one, is the first model
    place = first.index(name) if name in first else len(first)
    return place, [
        (int(part), "") if part.isdecimal() else (-1, part)
        for part in re.split(r"(\d+)", name)
    ]


def _rows(folder: Path) -> Iterator[tuple[Evaluated, RunResult]]:
    """The finished runs under a folder, each after its model. What lies under a study's folder belongs to the study."""
    studies: dict[Path, tuple[Path, StudyFolder]] = {}
    seen: set[Path] = set()
    for path, inside, names in os.walk(folder):
        inside.sort()
        place = Path(path)
        if study := read_study(place):
            studies[place] = place, study
            for method, row in study.rows.items():  # its tables may lie elsewhere
                if row.answers.resolve() not in seen and (
                    run := finished_run(row.answers)
                ):
                    seen.add(row.answers.resolve())
                    model = Evaluated(method, method, study.paper_model, place)
                    yield model, replace(run, study=place)
        elif place.parent in studies:
            studies[place] = studies[place.parent]
        finished = {"config.json", "metrics.json"} <= {*names}
        if finished and place.resolve() not in seen and (run := finished_run(place)):
            inside.clear()
            source = str(run.metrics["source"])
            root, of = studies.get(place, (None, None))
            if of is not None and source in of.rows:
                model = Evaluated(source, source, of.paper_model, root)
                yield model, replace(run, study=root)
            else:
                yield Evaluated(source), run


def not_alike(
    run: RunResult, other: RunResult, measure: Measure | None = None
) -> str | None:
    """The first thing on which their scores depend and in which they differ; None if they are on one scale.

    Of a `measure` that nobody scores only what was asked counts.
    """
    scored = measure is None or measure.needs_scorer
    ours, theirs = (side.scale if scored else side.asked for side in (run, other))
    difference = first_difference(ours, theirs)
    if difference is None and scored:
        both_know = sorted(run.servers.keys() & other.servers.keys())
        known, others = (
            {name: side.servers[name] for name in both_know} for side in (run, other)
        )
        difference = first_difference(known, others)
    if difference is None:
        return None
    if difference[0].endswith("_sha256") and "." not in difference[0]:
        return translatable("other items were asked")
    name, one, two = (
        "not set" if value is MISSING else shortened(value) for value in difference
    )
    return translatable("{name} is {one} and {other}", name=name, one=one, other=two)
