"""What `run --model` names: one model, the checkpoints of a training output, or the rows of a study."""

import logging
import re
from collections import ChainMap, Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from sozo.data.checkpoints import checkpoints as checkpoints_of
from sozo.data.checkpoints import damaged, model_digests
from sozo.data.errors import UserError
from sozo.data.record import read_json
from sozo.data.study_folder import StudyFolder, StudyRow, read_study, write_study
from sozo.eval.evaluated import named
from sozo.models.sampling import Sampling
from sozo.models.weights import is_model, tensors_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """A model to evaluate."""

    folder: str  # where its results go, under the output folder
    model: str  # its folder, its hub id, or its name on an endpoint
    source: str  # what its rows are called
    revision: str | None = None  # of a hub model, where it is known
    sampling: str | None = None  # how it draws (`sozo.models.sampling`)


def find_targets(
    names: Sequence[str], samplings: Sequence[str] = (), *, checkpoints: bool = False
) -> tuple[list[Target], dict[str, StudyFolder]]:
    """The models that `--model` names, once for each of `samplings`: of a training output its end, of a study its rows.

    A training that was cut off ends with its last checkpoint. With `checkpoints` all come, by steps, before the end; of
    those with equal tensors the last one. Before them comes the model that the training began with, unless it is gone
    or named as well.

    `NAME=MODEL` calls a model NAME; models whose names end alike are called by their last two parts. Beside them the
    studies, by their folders under the output folder.

    >>> [(target.folder, target.model) for target in find_targets(["org/model-7b", "base=tiny"])[0]]
    [('model-7b', 'org/model-7b'), ('base', 'tiny')]
    >>> [target.folder for target in find_targets(["a/m", "b/m"])[0]]
    ['a-m', 'b-m']
    """
    studies: dict[str, StudyFolder] = {}
    targets: dict[str, Target] = {}
    pairs = list(map(named, names))
    ends = Counter(_last_parts(model, 1) for name, model in pairs if name is None)
    for name, model in pairs:
        if study := read_study(Path(model)):
            study = replace(study, name=name or study.name)
            studies.setdefault(_safe(study.name), study)
        base = name or _last_parts(model, 1 if ends[_last_parts(model, 1)] == 1 else 2)
        found: Iterable[Target] = (
            _rows(Path(model), study) if study else _models(model, base, checkpoints)
        )
        if checkpoints and not study:
            found = [*_before(Path(model), _safe(base), {m for _, m in pairs}), *found]
        for target in _sampled(found, samplings):
            if (other := targets.setdefault(target.folder, target)) is not target:
                models_text = f"{other.model} and {target.model}"
                remedy = "call one by another name: --model NAME=MODEL"
                raise UserError(
                    f"two models would go to the folder {target.folder}: {models_text}; {remedy}"
                )
    return list(targets.values()), studies


def _sampled(targets: Iterable[Target], samplings: Sequence[str]) -> Iterator[Target]:
    """The targets; with samplings a row for each of them instead, called `MODEL SAMPLING`."""
    parsed = [Sampling.parse(text) for text in samplings] or [Sampling()]
    for target, sampling in product(targets, dict.fromkeys(parsed)):
        yield replace(
            target,
            folder="-".join(filter(None, (target.folder, _safe(sampling.text, "")))),
            source=sampling.named(target.source),
            sampling=sampling.text or None,
        )


def _last_parts(model: str, count: int) -> str:
    path = Path(model)
    parts = (
        path.resolve().parts
        if path.is_dir()
        else tuple(part for part in model.split("/") if part)
    )
    return "-".join(parts[-count:])


def write_studies(output: Path, studies: dict[str, StudyFolder]) -> None:
    """Copy each `study.json` beside its results, with where the study is."""
    copies = {}
    for name, study in studies.items():
        rows = {
            row: StudyRow(_absolute(of.model), of.answers.resolve())
            for row, of in study.rows.items()
        }
        copies[output / name] = replace(study, rows=rows)
    for folder, study in copies.items():
        if (other := read_study(folder)) is not None and other != study:
            raise UserError(
                f"{folder}: holds results of another study called {other.name}; give another --output"
            )
    for folder, study in copies.items():
        write_study(folder, study)


def _models(name: str, source: str, checkpoints: bool) -> list[Target]:
    path, base = Path(name), _safe(source)
    saved = []
    whole = is_model(path) and not _is_under_way(path)
    if checkpoints or not whole:
        saved = [
            checkpoint
            for checkpoint in checkpoints_of(path)[::-1]
            if _is_whole(checkpoint)
        ]
    if not checkpoints:
        saved = saved[-1:]
    models = [(f"{base}/{checkpoint.name}", str(checkpoint)) for checkpoint in saved]
    if not models or whole:
        models.append((f"{base}/final" if models else base, name))
    if len(models) > 1:
        models = list(
            {
                tensors_of(Path(model)) or model: (folder, model)
                for folder, model in models
            }.values()
        )
    return [
        Target(folder, model, source if folder == base else folder)
        for folder, model in models
    ]


def _is_under_way(output: Path) -> bool:
    """Whether a training is not finished: what stands on top of its checkpoints may be half written."""
    begun = (output / "run_config.json").is_file()
    return begun and not (output / "metrics.json").is_file()


def _before(output: Path, folder: str, named: Container[str]) -> Iterator[Target]:
    """The model that a training began with, as its record names it; none where it is `named` beside it."""
    record = output / "run_config.json"
    config = read_json(record) if record.is_file() else {}
    # A folder's name does not decide a run.
    parts = (config.get(name, {}).get("model", {}) for name in ("free", "settings"))
    model = ChainMap(*parts).get("model_name_or_path")
    if model is None or model in named:
        return
    loaded, path = config.get("loaded", {}), Path(model)
    if loaded.get("model_sha256"):  # of a folder only
        now = model_digests(path)
        there = all(loaded.get(name, now[name]) == now[name] for name in now)
    else:
        from sozo.models.needs import is_here

        there = is_here(model)
    if not there:
        logger.warning(
            "%s: the model that it began with, %s, is gone from there or changed, and is passed over",
            output,
            model,
        )
    else:
        before = f"{folder}/before"
        yield Target(before, model, before, loaded.get("model_commit"))


def _is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint holds a whole model, as far as its record tells; what has half of one is named."""
    if not is_model(checkpoint):
        return False
    if wrong := damaged(checkpoint):
        logger.warning("%s is passed over: %s", checkpoint, "; ".join(wrong))
        return False
    return True


def _rows(folder: Path, study: StudyFolder) -> Iterator[Target]:
    for name, row in study.rows.items():
        if row.model is None:
            continue
        trained = Path(row.model)
        # metrics.json is the last file that training writes.
        if trained.is_relative_to(folder) and not (
            is_model(trained) and (trained / "metrics.json").is_file()
        ):
            unfinished = f"{folder}: the step {trained.name} of this study ({name}) is not finished"
            raise UserError(
                f"{unfinished}; run sozo study again, which continues where it stopped"
            )
        yield Target(f"{_safe(study.name)}/{_safe(name)}", row.model, name)


def _absolute(model: str | None) -> str | None:
    return (
        str(Path(model).resolve())
        if model is not None and Path(model).is_dir()
        else model
    )


def _safe(name: str, empty: str = "study") -> str:
    """A name as one folder's: `DPO 1` is DPO-1."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or empty
