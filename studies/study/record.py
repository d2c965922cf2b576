"""Which steps of a study are finished, which somebody works on, and which would come out differently now.

`steps/NAME` has what decides a step: its settings, and digests of what it reads. No path of the study's folder and no
accelerate config is compared: the folder may move, and the steps may run on different hardware.
"""

import hashlib
import json
from dataclasses import fields
from enum import StrEnum
from pathlib import Path

from sozo.data.checkpoints import folder_sha256
from sozo.data.errors import UserError
from sozo.data.run_folder import RunFolder, lock, unlock
from sozo.data.settings import deciding
from sozo.eval.draw import SamplingOptions
from sozo.models.settings import GeneratorSettings
from sozo.studies.study.steps import Step
from sozo.tasks.dat.scorer import DatSettings
from sozo.training.arguments import FREE, read_beside

_FREE = FREE.union(
    ("config", "output", "output_dir"),
    *(
        {f.name for f in fields(options)} - deciding(options()).keys()
        for options in (GeneratorSettings, SamplingOptions, DatSettings)
    ),
)


class State(StrEnum):
    """How far a step is."""

    WAITS = "waits for what it reads"
    NEW = "to do"
    CUT_OFF = "cut off, will continue"
    FINISHED = "finished"


def ready(step: Step) -> bool:
    """Whether all is finished that the step reads."""
    return all(path.is_file() for path in step.reads)


def state(step: Step) -> State:
    """How far a step is; a UserError where its settings or what it reads have changed."""
    if not ready(step):
        return State.WAITS
    run = _record(step) if step.folder.is_dir() else None
    if run is None or not run.begun:
        return State.NEW
    return State.CUT_OFF if run.metrics() is None else State.FINISHED


def claim(step: Step) -> bool:
    """Whether no other process works on a step; then none can while this one lasts."""
    own = _file(step).parent
    try:
        lock(own)
        # The command of a study that was killed may yet write its checkpoint.
        if step.folder.is_dir():
            lock(step.folder)
            unlock(step.folder)
    except UserError as error:
        unlock(own)
        if isinstance(error.__cause__, BlockingIOError):
            return False
        raise
    return True


def runs(step: Step) -> bool:
    """Whether another process works on a step that was begun."""
    if not _file(step).is_file():
        return False
    free = claim(step)
    unlock(_file(step).parent)
    return not free


def start(step: Step) -> None:
    """Write down what a step is made from."""
    if state(step) == State.NEW:  # a record is of what is gone
        _file(step).unlink(missing_ok=True)
    _record(step).start({}, {})


def _record(step: Step) -> RunFolder:
    """All that decides what a step makes; its own command locks its folder."""
    settings, study = step.settings, step.folder.parent
    named = [settings.get(key) for key in ("model", "model_name_or_path", "nouns")]
    paths = map(Path, [*filter(None, named), *read_beside(settings.get("beside"))])
    outside = (path for path in paths if not path.is_relative_to(study))
    read = [*step.reads, *filter(Path.exists, outside)]
    decides = {key: value for key, value in settings.items() if key not in _FREE}
    decides["inputs"] = {str(path): _digest(path) for path in read}
    text = json.dumps(decides, ensure_ascii=False, default=str)
    decides = json.loads(text.replace(f"{study}/", ""))
    return RunFolder(step.folder, decides, config=_file(step), locks=False)


def _file(step: Step) -> Path:
    return step.folder.parent / "steps" / step.name / "config.json"


def _digest(path: Path) -> str:
    if path.is_dir():
        return folder_sha256(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()
