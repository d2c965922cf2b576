"""Which steps of a study are finished, and which would come out differently now.

Every command resumes by itself; what it cannot see is that the study would give it other flags, or inputs made anew.
So `steps/NAME.json` records its command, its YAML, and digests of its inputs. No path of the study's folder and no
accelerate config is compared: the folder may move, and the steps may run on different hardware.
"""

import hashlib
import json
from dataclasses import fields
from enum import StrEnum
from pathlib import Path

from sozo.data.checkpoints import model_digests
from sozo.data.errors import UserError
from sozo.data.run_folder import RunFolder
from sozo.data.settings import deciding, read_yaml
from sozo.studies.study.config import SAMPLING
from sozo.studies.study.steps import Step
from sozo.training.arguments import FREE

_FREE = FREE.union(
    *(
        {f.name for f in fields(options)} - deciding(options()).keys()
        for options in SAMPLING
    )
)


class State(StrEnum):
    """How far a step is."""

    NEW = "to do"
    CUT_OFF = "cut off, will continue"
    FINISHED = "finished"
    CHANGED = "made from other results, will be made anew"
    WAITS = "begun, but its inputs are not finished"


class Records:
    """The records of a study's steps, in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def state(self, step: Step) -> State:
        """How far the step is; files and settings of another study are refused."""
        output = self.folder / step.name
        if not output.is_dir() or not any(output.iterdir()):
            return State.NEW
        if not self._path(step.name).is_file():
            raise UserError(
                f"{output}: holds files that this study has no record of; give another --output"
            )
        if any(self._digest(name) is None for name in step.inputs):
            return State.WAITS
        try:
            return (
                State.CUT_OFF if self._run(step).metrics() is None else State.FINISHED
            )
        except UserError:
            if step.derived:
                return State.CHANGED
            raise

    def start(self, step: Step) -> None:
        """Write down what the step is made from."""
        if (state := self.state(step)) == State.CHANGED:
            (self.folder / step.name / "metrics.json").unlink(missing_ok=True)
        if state in (State.NEW, State.CHANGED):
            self._path(step.name).unlink(
                missing_ok=True
            )  # perhaps of a folder that somebody moved away
        self._run(step).start({}, {})

    def _run(self, step: Step) -> RunFolder:
        """All that decides what the step makes; its own command locks its folder."""

        def inside(word: str) -> str:  # paths into the study's folder relative to it
            return word.replace(f"{self.folder}/", "")

        inputs = {name: self._digest(name) for name in step.inputs}
        if missing := [name for name, digest in inputs.items() if digest is None]:
            raise UserError(
                f"{step.name} needs {missing[0]}, which is not finished; run without --only"
            )
        model = Path(
            step.flags.get("model") or step.flags.get("model_name_or_path") or "tiny"
        )
        if model.is_dir() and not model.is_relative_to(self.folder):
            inputs["the model's folder"] = _digests(model)
        for path in filter(Path.exists, map(Path, step.beside)):
            if not path.is_relative_to(self.folder):
                inputs[str(path)] = _digests(path)
        config = json.loads(
            json.dumps(read_yaml(step.config) if step.config else {}, default=str)
        )
        settings = {
            "script": step.script,
            "flags": {
                key: inside(value)
                for key, value in step.flags.items()
                if key not in _FREE
            },
            "config": {key: value for key, value in config.items() if key not in _FREE},
            "inputs": inputs,
        }
        return RunFolder(
            self.folder / step.name, settings, config=self._path(step.name), locks=False
        )

    def _digest(self, name: str) -> str | None:
        """Of what a finished step was made from, and of its result."""
        try:
            settings = json.loads(self._path(name).read_bytes())["settings"]
            result = (self.folder / name / "metrics.json").read_bytes()
        except (OSError, ValueError, KeyError):
            return None
        return hashlib.sha256(
            json.dumps(settings, sort_keys=True).encode() + result
        ).hexdigest()

    def _path(self, name: str) -> Path:
        return self.folder / "steps" / f"{name}.json"


def _digests(path: Path) -> str:
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return " ".join(filter(None, model_digests(path).values()))
