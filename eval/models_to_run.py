"""What `run --model` names: one model, the checkpoints of a training output, or the rows of a study."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from sozo.data.checkpoints import checkpoints as checkpoints_of
from sozo.data.checkpoints import damaged
from sozo.data.errors import UserError
from sozo.data.study_folder import StudyFolder, StudyRow, read_study, write_study
from sozo.eval.evaluated import named
from sozo.models.sampling import Sampling
from sozo.models.settings import GeneratorSettings
from sozo.models.weights import is_model

logger = logging.getLogger(__name__)
Named = tuple[str, str, str]  # folder under the output folder, model, name of its rows


def find_models(
    names: Sequence[str],
    asked: GeneratorSettings,
    samplings: Sequence[str] = (),
    *,
    checkpoints: bool = False,
) -> tuple[dict[str, GeneratorSettings], dict[str, StudyFolder]]:
    """The models that `--model` names, as they are `asked`, by their folders under the output folder.

    Each comes once for each of `samplings`, of a training output as it ended, of a study its rows. A training that was
    cut off ended with its last checkpoint. With `checkpoints` all come, by steps, before the end.

    `NAME=MODEL` calls a model NAME, else it is called by the last part of its name. Beside them the studies, by their
    folders under the output folder.

    >>> models, _ = find_models(["org/model-7b", "base=tiny"], GeneratorSettings())
    >>> [(folder, one.model, one.source) for folder, one in models.items()]
    [('model-7b', 'org/model-7b', 'model-7b'), ('base', 'tiny', 'base')]
    """
    studies: dict[str, StudyFolder] = {}
    models: dict[str, GeneratorSettings] = {}
    ways = dict.fromkeys(map(Sampling.parse, samplings)) or [Sampling()]
    for name, model in map(named, names):
        path = Path(model)
        found: Iterable[Named]
        if study := read_study(path):
            study = replace(study, name=name or study.name)
            studies.setdefault(_safe(study.name), study)
            found = _rows(path, study)
        else:
            found = _ended(model, name or path.resolve().name, checkpoints)
        for (folder, of, source), way in product(found, ways):
            place = "-".join(filter(None, (folder, _safe(way.text, ""))))
            one = replace(asked, model=of, source=way.named(source), sampling=way.text)
            if (other := models.setdefault(place, one)) is not one:
                raise UserError(
                    f"two models would go to the folder {place}: {other.model} and {of}; call one by another name: "
                    "--model NAME=MODEL"
                )
    return models, studies


def write_studies(output: Path, studies: dict[str, StudyFolder]) -> None:
    """Copy each `study.json` beside its results, with where the study is."""
    for name, study in studies.items():
        rows = {}
        for row, of in study.rows.items():
            model = of.model
            if model and Path(model).is_dir():
                model = str(Path(model).resolve())
            rows[row] = StudyRow(model, of.answers.resolve())
        copy = replace(study, rows=rows)
        if read_study(output / name) not in (None, copy):
            raise UserError(
                f"{output / name}: holds results of another study called {study.name}; give another --output"
            )
        write_study(output / name, copy)


def _ended(model: str, source: str, checkpoints: bool) -> Iterator[Named]:
    path, base = Path(model), _safe(source)
    # What stands on top of the checkpoints of a training that is not finished may be half written.
    begun = (path / "run_config.json").is_file()
    ended = not begun or (path / "metrics.json").is_file()
    whole = ended and is_model(path)
    saved = checkpoints_of(path)[::-1] if checkpoints or not whole else []
    saved = list(filter(_is_whole, saved))
    for checkpoint in saved if checkpoints else saved[-1:]:
        place = f"{base}/{checkpoint.name}"
        yield place, str(checkpoint), place
    if not saved:
        yield base, model, source
    elif whole:
        yield f"{base}/final", model, f"{base}/final"


def _is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint holds a whole model, as far as its record tells; what has half of one is named."""
    if not is_model(checkpoint):
        return False
    if wrong := damaged(checkpoint):
        logger.warning("%s is passed over: %s", checkpoint, "; ".join(wrong))
    return not wrong


def _rows(folder: Path, study: StudyFolder) -> Iterator[Named]:
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
        yield f"{_safe(study.name)}/{_safe(name)}", row.model, name


def _safe(name: str, empty: str = "study") -> str:
    """A name as one folder's: `DPO 1` is DPO-1."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or empty
