"""A run's folder: what was asked (`config.json`), what came out (`metrics.json`), the rows (`responses/`).

A folder belongs to one result. The same command goes on where it stopped; another command is refused.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data.record import MISSING, first_difference, provenance, write_json

_FORMAT = 1


class RunFolderError(ValueError):
    """The folder cannot take this run; the message is one line and says what to do."""


class RunFolder:
    """The folder of one run.

    Args:
        path: The folder; need not exist.
        settings: All that the user asked for and that determines the result (JSON values). A folder with other settings
            is refused.

    Raises:
        RunFolderError: The folder holds another run, or files that nobody can account for.

    >>> import tempfile
    >>> folder = RunFolder(Path(tempfile.mkdtemp()), {"seed": 1})
    >>> folder.start({"scorer": {"noun_checker": "jumandic"}}, {})
    >>> folder.finish({"mean": 0.8})
    >>> RunFolder(folder.path, {"seed": 1}).metrics()
    {'mean': 0.8}
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.responses = path / "responses"
        self._settings = _as_json(settings)
        there = next(p for p in (path, *path.absolute().parents) if p.exists())
        if not there.is_dir():
            raise RunFolderError(f"{there}: is a file; give a folder as --output")
        if not os.access(there, os.W_OK | os.X_OK):
            raise RunFolderError(f"{there}: cannot be written; give another --output")
        self._config = self._read("config.json")
        if self._config is None:
            for name in ("metrics.json", "responses"):
                if (path / name).exists():
                    raise RunFolderError(f"{path}: holds {name} but no config.json; give another --output")
        else:
            if self._config.get("format") != _FORMAT:
                raise RunFolderError(f"{path}: config.json is not of this version of sozo; give another --output")
            self._compare("settings", self._settings)

    @property
    def begun(self) -> bool:
        """Whether `config.json` is there: `start` will compare and not write."""
        return self._config is not None

    def metrics(self) -> dict[str, Any] | None:
        """What the run came to, if it is finished."""
        return self._read("metrics.json")

    def start(self, loaded: dict[str, Any], facts: dict[str, Any]) -> None:
        """Write `config.json`, or check that the one that is there promises the same result.

        Args:
            loaded: What determines the result but is known only when everything is loaded: scorer, revisions, decoder.
            facts: What else is worth recording; never compared.

        Raises:
            RunFolderError: The folder was begun with other models or rules, or cannot be written.
        """
        loaded = _as_json(loaded)
        if self._config is not None:
            self._compare("loaded", loaded)
            return
        environment = {"started": datetime.now(UTC).isoformat(timespec="seconds"), **provenance()}
        config = {"format": _FORMAT, "settings": self._settings, "loaded": loaded, **facts, "environment": environment}
        try:
            write_json(self.path / "config.json", config)
        except OSError as error:
            raise RunFolderError(f"{self.path}: cannot be written ({error.strerror}); give another --output") from error
        self._config = _as_json(config)

    def reopen(self) -> None:
        """Take the results away, so that the run counts as unfinished until `finish`; no rows are touched."""
        (self.path / "metrics.json").unlink(missing_ok=True)

    def finish(self, metrics: dict[str, Any]) -> None:
        """Write `metrics.json`: the run is finished. What was left of half-written parts and batches is removed."""
        write_json(self.path / "metrics.json", metrics)
        for partial in self.responses.glob(".part-*.tmp"):
            partial.unlink(missing_ok=True)

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.path / name
        try:
            values = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RunFolderError(f"{path}: cannot be read; give another --output") from error
        if not isinstance(values, dict):
            raise RunFolderError(f"{path}: is no JSON object; give another --output")
        return values

    def _compare(self, section: str, wanted: dict[str, Any]) -> None:
        there = (self._config or {}).get(section, {})
        difference = first_difference(there, wanted)
        if difference:
            key, old, new = difference
            raise RunFolderError(
                f"{self.path}: holds a run with {key} = {_show(old)}, but now it is {_show(new)}; give another --output"
            )


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    """As it will be read back: tuples become lists, so that what is compared is what was written."""
    return json.loads(json.dumps(values, allow_nan=False))


def _show(value: Any) -> str:
    return "not set" if value is MISSING else json.dumps(value, ensure_ascii=False)
