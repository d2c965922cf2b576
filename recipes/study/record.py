"""What a step was made from, on disk: which steps are finished, and which would come out differently now.

The record of a step is a sha256 over its command, the contents of its YAML, its seed, the files of a model that lies in
a folder, the records of its inputs and what it came to (`metrics.json`). No time stamp, no path of the study's folder
and no accelerate config goes into it: the folder may move, and the steps may run on different hardware.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from data.record import MISSING, first_difference, write_json
from study.config import StudyError, read_yaml
from study.steps import Step

# Where a step writes and what W&B calls it do not decide what comes out.
_FREE = {"output_dir", "run_name"}


class State(StrEnum):
    """How far a step is."""

    NEW = "to do"
    CUT_OFF = "cut off, will continue"
    FINISHED = "finished"
    WAITS = "begun, but its inputs are not finished"


class Records:
    """The records of a study's steps, in `steps/` of its folder.

    Args:
        folder: The study's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def state(self, step: Step) -> State:
        """How far the step is.

        Raises:
            StudyError: Its folder was made with other settings or inputs, or by nobody known. Nothing is deleted.
        """
        output = self.folder / step.name
        if not output.is_dir() or not any(output.iterdir()):
            return State.NEW
        record = self._read(step.name)
        fresh = "give another --output_dir, or move that folder away"
        if record is None:
            raise StudyError(f"{output}: holds files that this study has no record of; {fresh}")
        if any(self._finished(name) is None for name in step.inputs):
            return State.WAITS
        difference = first_difference(record["settings"], self.settings(step))
        if difference:
            key, old, new = difference
            section, _, setting = key.partition(".")
            if section == "inputs":
                raise StudyError(
                    f"{output}: was made from an earlier {setting}, which has been made anew since; {fresh}"
                )
            if section == "model":
                raise StudyError(f"{output}: was made from other files in the model's folder; {fresh}")
            what = setting if section == "flags" else f"{setting} (in {step.config})" if section == "config" else key
            raise StudyError(f"{output}: was made with {what} = {_show(old)}, but now it is {_show(new)}; {fresh}")
        return State.FINISHED if self._finished(step.name) else State.CUT_OFF

    def start(self, step: Step) -> None:
        """Write down what the step is being made from."""
        write_json(self._path(step.name), {"settings": self.settings(step), "sha256": None})

    def finish(self, step: Step) -> None:
        """Write down that it is finished."""
        settings = self.settings(step)
        came_to = hashlib.sha256((self.folder / step.name / "metrics.json").read_bytes()).hexdigest()
        text = json.dumps([settings, came_to], sort_keys=True, ensure_ascii=False)
        record = {"settings": settings, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        write_json(self._path(step.name), {**record, "finished": datetime.now(UTC).isoformat(timespec="seconds")})

    def settings(self, step: Step) -> dict[str, Any]:
        """All that decides what the step comes to.

        Raises:
            StudyError: An input is not finished.
        """
        inputs = {name: self._finished(name) for name in step.inputs}
        for name, digest in inputs.items():
            if digest is None:
                raise StudyError(f"{step.name} needs {name}, which is not finished; run without --only or --from")
        return {
            "script": step.script,
            "flags": {key: self._own(value) for key, value in step.flags.items() if key not in _FREE},
            "arguments": [self._own(word) for word in step.arguments],
            "config": self._deciding(step.config),
            "model": self._model(step),
            "inputs": inputs,
        }

    def _model(self, step: Step) -> str | None:
        """Of the model that the study starts from, if it is a folder; those of its own steps are inputs."""
        model = Path(step.flags.get("model") or step.flags.get("model_name_or_path") or "tiny")
        return _digest(model) if model.is_dir() and not model.is_relative_to(self.folder) else None

    def _deciding(self, config: Path | None) -> dict[str, Any]:
        values = read_yaml(config) if config else {}
        plain: dict[str, Any] = json.loads(json.dumps(values, default=str))
        return {key: value for key, value in plain.items() if key not in _FREE}

    def _own(self, word: str) -> str:
        """A word with paths into the study's folder relative to it."""
        return word.replace(f"{self.folder}/", "")

    def _finished(self, name: str) -> str | None:
        """The record's sha256 of a finished step."""
        record = self._read(name)
        done = record is not None and (self.folder / name / "metrics.json").is_file()
        return record["sha256"] if done and record else None

    def _path(self, name: str) -> Path:
        return self.folder / "steps" / f"{name}.json"

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self._path(name)
        try:
            record = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StudyError(f"{path}: cannot be read; move it away, and the folder of that step") from error
        return record if isinstance(record, dict) and "settings" in record else None


@cache
def _digest(folder: Path) -> str:
    """sha256 over the names and contents of a model's files: seconds for an 8B model, once in a process."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with path.open("rb") as file:
            digest.update(f"{path.name}\0".encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _show(value: Any) -> str:
    return "not set" if value is MISSING else json.dumps(value, ensure_ascii=False)
