"""A run's folder: what decides the result (`config.json`), the result (`metrics.json`, last), the rows.

A folder belongs to one result: the same command resumes where it stopped; another command is refused, and so is the
same one while it is still at work.
"""

import atexit
import json
import os
import re
import socket
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sozo.data.checkpoints import model_digests
from sozo.data.errors import OtherSettingsError, UserError
from sozo.data.processes import is_first
from sozo.data.record import (
    locked,
    provenance,
    read_json,
    refuse_foreign,
    refuse_link,
    room,
    write_json,
)
from sozo.data.secrets import without_credentials

MISSING = object()
# Of a server that embeds nobody knows the weights, but what it makes of some words, and that not to the bit.
PROBE = "embedding_probe"
NEAR = 1e-3
# What a model was trained on is not compared: it follows from its weights, and was written otherwise before.
TRAINED_ON = "trained_on"
FORMAT = 3
_DIGEST = re.compile('"[^"]*[0-9a-f]{64}"')
_FOLDERS = {"model_sha256": "the model's folder", "base_sha256": "the adapter's base"}
_OTHER = "give another output folder"
LOCK = "_lock"  # TRL's push_to_hub leaves "_*" out
_HOLDER = b"process "
_KEPT = {
    LOCK,
    "judgements.jsonl",  # a ledger is copied into a new folder so that nobody is asked twice
    "bill.jsonl",  # of a run that was not begun
}
_held: dict[Path, ExitStack] = {}
# A child's end must not remove its parent's lock
os.register_at_fork(after_in_child=_held.clear)


def lock(folder: Path) -> None:
    """Let no other process work in `folder`, which is made if it is missing; taken twice, it is still one lock."""
    path = folder.resolve() / LOCK
    while path not in _held:
        # The last holder may have removed the file between our opening and locking it: then it is not the lock.
        with suppress(FileNotFoundError), ExitStack() as held:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                file = held.enter_context(locked(path, needed=False))
            except BlockingIOError as error:
                raise UserError(
                    f"{folder}: {_holder(path)} is at work here; wait for it or end it, and try again"
                ) from error
            except OSError as error:
                raise UserError(
                    f"{folder}: cannot be written ({error.strerror}); give another output folder"
                ) from error
            if os.read(file, len(_HOLDER)) not in (b"", _HOLDER):
                raise UserError(
                    f"{path}: is not of sozo, which keeps its lock there; give another output folder"
                )
            if os.path.samestat(os.fstat(file), path.stat()):
                holder = _HOLDER + f"{os.getpid()} on {socket.gethostname()}".encode()
                with room(folder, len(holder)):
                    os.ftruncate(file, 0)
                    os.write(file, holder)
                _held[path] = held.pop_all()
                atexit.register(unlock, folder.resolve())


def _holder(path: Path) -> str:
    """Who has a lock, as its file says."""
    with suppress(OSError):  # given back meanwhile
        return path.read_text("utf-8", "replace") or "another process"
    return "another process"


def unlock(folder: Path) -> None:
    """Give the lock back, if this process has it."""
    path = folder.resolve() / LOCK
    if held := _held.pop(path, None):
        # Before others can lock it: afterwards it would be theirs.
        path.unlink(missing_ok=True)
        held.close()


def first_difference(old: Any, new: Any, key: str = "") -> tuple[str, Any, Any] | None:
    """The first key, in dots, in which two JSON objects differ, with both values; None if they are the same.

    >>> first_difference({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}})
    ('b.c', 2, 3)
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*new, *(name for name in old if name not in new)]:
            inner = f"{key}.{name}" if key else str(name)
            if difference := first_difference(
                old.get(name, MISSING), new.get(name, MISSING), inner
            ):
                return difference
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            if difference := first_difference(one, other, f"{key}[{number}]"):
                return difference
        return None
    if f".{PROBE}." in f".{key}" and isinstance(old, str) and isinstance(new, str):
        return None if _near(old, new) else (key, old, new)
    return None if old == new and type(old) is type(new) else (key, old, new)


def _near(old: str, new: str) -> bool:
    """Whether two vectors, written as numbers with spaces between, are the same to NEAR in each number."""
    pairs = zip_longest(old.split(), new.split(), fillvalue="inf")
    return all(abs(float(one) - float(other)) <= NEAR for one, other in pairs)


def shortened(value: Any) -> str:
    """A setting as a message shows it.

    >>> shortened(1.5), len(shortened("0.1234 " * 1000))
    ('1.5', 60)
    """
    text = str(value)
    return text if len(text) <= 200 else f"{text[:57]}..."


def refuse_earlier(path: Path, config: dict[str, Any]) -> None:
    """Refuse a folder whose `config.json` another version of sozo wrote."""
    if config.get("format") != FORMAT:
        raise UserError(
            f"{path}: is not of this version of sozo; make it anew in another folder (a copied judgements.jsonl is read)"
        )


class RunFolder:
    """The folder of one run.

    A run that is continued is locked from here on, a new one from `start`, both until `finish` or the end of the
    process; of several launched processes the first one holds the lock. A finished run is only read.

    Args:
        path: The folder; need not exist.
        settings: All that the user asked for and that decides the result, as JSON values (`data.settings.deciding`).
        config: Where that is written, if not to `config.json` in the folder.
        how: How it is computed, as the record's section `how` has it: compared until the run is finished.
        locks: Whether this process does the work; a study only keeps the record of a step.

    >>> import tempfile
    >>> folder = RunFolder(Path(tempfile.mkdtemp()), {"seed": 1})
    >>> folder.start({"scorer": {"noun_checker": "jumandic"}}, {})
    >>> folder.finish({"mean": 0.8})
    >>> RunFolder(folder.path, {"seed": 1}).metrics()
    {'mean': 0.8}
    """

    def __init__(
        self,
        path: Path,
        settings: dict[str, Any],
        *,
        config: Path | None = None,
        how: dict[str, Any] | None = None,
        locks: bool = True,
    ) -> None:
        self.path = path
        self.answers = path / "answers"
        self._file = config or path / "config.json"
        self._settings = _as_json(settings)
        self._how = how
        self._locks = locks and is_first()
        parent = next(p for p in (path, *path.absolute().parents) if p.exists())
        if not parent.is_dir():
            raise UserError(f"{parent}: is a file; give a folder")
        self._config: dict[str, Any] | None = None
        for place in (path, self.answers):
            refuse_link(place)
        self._read_config()
        if self.metrics() is not None:
            return
        if not os.access(parent, os.W_OK | os.X_OK):
            raise UserError(f"{parent}: cannot be written; {_OTHER}")
        if path.exists():
            self._lock()

    @property
    def begun(self) -> bool:
        """Whether the settings are written: `start` will compare and not write."""
        return self._config is not None

    def metrics(self) -> dict[str, Any] | None:
        """The run's result, if it is finished."""
        path = self.path / "metrics.json"
        return read_json(path) if path.exists() else None

    def refuse_other_model(self, folder: Path | None = None) -> None:
        """Refuse a run of a model's folder (that of the record) that holds another model now; none is loaded for it."""
        config = self._config or {}
        loaded = config.get("loaded", {})
        model = folder or Path(config.get("model_folder") or "")
        if loaded.get("model_sha256") and model.is_dir():
            now = model_digests(model)
            known = {name: now[name] for name in now if now[name] and name in loaded}
            self._compare("loaded", loaded | known)

    def start(self, loaded: dict[str, Any], facts: dict[str, Any]) -> None:
        """Write `config.json`, or check that the one in the folder promises the same result.

        What decides the result may be known only when everything is `loaded`: scorer, revisions, decoder. Other `facts`
        are recorded and never compared.
        """
        self._lock()
        loaded = _as_json(loaded)
        if self._config is not None:
            known = self._config.get("loaded", {})
            if TRAINED_ON in known:
                loaded[TRAINED_ON] = known[TRAINED_ON]
            self._compare("loaded", loaded)
            return
        environment = {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            **provenance(),
        }
        config = {
            "format": FORMAT,
            "settings": self._settings,
            "loaded": loaded,
            **facts,
            "environment": environment,
        }
        self._config = _as_json(config)
        write_json(self._file, self._config)

    def withdraw(self) -> None:
        """Take a `start` back of which nothing was made, so that the folder is free for other settings."""
        self._file.unlink(missing_ok=True)
        unlock(self.path)
        with suppress(OSError):  # something else is in it
            self.path.rmdir()

    def reopen(self) -> None:
        """Take the results away, so that the run counts as unfinished until `finish`; no rows are touched."""
        # Nothing is made of a run that may yet fail to load its model
        if self.path.exists():
            self._lock()
        (self.path / "metrics.json").unlink(missing_ok=True)

    def finish(self, metrics: dict[str, Any]) -> None:
        """Write `metrics.json`: the run is finished, and its folder free. What was half written is removed."""
        write_json(self.path / "metrics.json", metrics)
        for partial in (
            *self.path.glob(".*.json.*-*.tmp"),
            *self.path.glob(".README.md.*-*.tmp"),  # the model card
            *self.path.glob("checkpoint-*/.*.json.*-*.tmp"),
            *self.answers.glob(".part-*.tmp"),
        ):
            partial.unlink(missing_ok=True)
        unlock(self.path)

    def _lock(self) -> None:
        if self._locks:
            lock(self.path)
            self._read_config()  # another process may have begun between our first look and the lock

    def _read_config(self) -> None:
        self._config = read_json(self._file) if self._file.exists() else None
        if self._config is not None:
            refuse_earlier(self._file, self._config)
            self._compare("settings", self._settings)
            if self._how and self.metrics() is None:
                self._compare("how", self._how)
        elif self._file.parent == self.path:
            refuse_foreign(self.path, self._file.name, _KEPT)

    def _compare(self, section: str, wanted: dict[str, Any]) -> None:
        """OtherSettingsError where the folder's record has another value than the one that is wanted."""
        recorded = (self._config or {}).get(section, {})
        if (difference := first_difference(recorded, wanted)) is None:
            return
        key, *values = difference
        old, new = map(_quoted, values)
        how = f"with {key} = {old}, but now it is {new}"
        same = "the same settings"
        if section == "how":
            launch = [f"{name} {value}" for name, value in recorded.items() if value]
            same = f"a launch with {', '.join(launch)}"
        if _DIGEST.fullmatch(old) or _DIGEST.fullmatch(new):
            of = _FOLDERS.get(key) or key.removesuffix("sha256").rstrip("_.")
            how = f"from before {of} changed"
            same = "the same content"
        raise OtherSettingsError(
            f"{self.path}: holds a run {how}",
            f"{_OTHER}, or {same} to continue it",
            key,
        )


def _quoted(value: Any) -> str:
    if value is MISSING:
        return "not set"
    return shortened(json.dumps(value, ensure_ascii=False))


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    """As it is written and read back: tuples become lists, and addresses lose their passwords."""
    return dict(without_credentials(json.loads(json.dumps(values, allow_nan=False))))
