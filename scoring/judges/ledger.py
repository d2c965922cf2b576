"""The ledger: every judgement as one line of JSON, written the moment it arrives and never changed."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.schema import utf8_safe
from sozo.scoring.judges.protocol import Rubric, Scores, Status

_START = b'{"key": "'
# What `_checked` and `json.loads` raise at a line that is no judgement.
_NO_JUDGEMENT = (ValueError, TypeError, KeyError, RecursionError)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One reply of a judge about one answer: a line of the ledger. `protocol.Reply` says what is not said here."""

    key: str  # `judgement_key` of what was asked
    question_id: str
    answer_id: str  # of several equal answers to one question, the line names the first
    judge: str  # the model
    prompt: str  # name of the rubric
    status: Status
    scores: Scores | None = None  # one for each criterion of the rubric if the status is ok
    reply: str | None = None
    reply_id: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None  # in the price's currency; None if the price or the tokens are not known
    error: str | None = None
    time: str | None = None  # of its arrival, UTC
    reply_model: str | None = None
    fingerprint: str | None = None


def judgement_key(question: str, answer: str, judge: str, prompt: str, parameters: dict[str, Any]) -> str:
    """SHA-256 of all that a judgement depends on. Equal answers to one question share it, and one judgement.

    >>> judgement_key("q", "a", "j", "jcq-v1", {}) == judgement_key("q", "a", "j", "jcq-v1", {"temperature": 0})
    False
    """
    content = json.dumps([utf8_safe(question), utf8_safe(answer), judge, prompt, parameters], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def latest(judgements: Iterable[Judgement]) -> dict[str, Judgement]:
    """What holds now, by key: the last line of each. The earlier ones stay, and their tokens stay on the bill."""
    return {judgement.key: judgement for judgement in judgements}


def _checked(row: Any, rubrics: Sequence[Rubric]) -> Judgement:
    if not isinstance(row, dict):
        raise TypeError("no JSON object")
    if unknown := set(row) - {field.name for field in fields(Judgement)}:
        raise ValueError(f"unknown column {min(unknown)}")
    for name in ("key", "question_id", "answer_id", "judge", "prompt"):
        if not isinstance(row.get(name), str):
            raise TypeError(f"{name} is missing or no string")
    status, scores = Status(str(row.get("status"))), row.get("scores")
    if (status is Status.OK) != (scores is not None):
        raise ValueError(f"status {status} with scores {scores}")
    if scores is not None:
        numbers = isinstance(scores, dict) and scores and all(type(value) is int for value in scores.values())
        # Scores by a rubric that is not among `rubrics` are somebody else's.
        if not numbers or not all(rubric.fits(scores) for rubric in rubrics if rubric.name == row["prompt"]):
            raise ValueError(f"scores {scores}")
    for name, kind in (
        ("prompt_tokens", int),
        ("completion_tokens", int),
        ("cost", float | int),
        ("reply", str),
        ("reply_model", str),
        ("fingerprint", str),
    ):
        if row.get(name) is not None and not isinstance(row[name], kind):
            raise TypeError(f"{name} is {row[name]!r}")
    return Judgement(**{**row, "status": status})


class Ledger(AbstractContextManager["Ledger"]):
    """A ledger open for writing; of all processes, one at a time may have it. Use it as a context manager.

    A torn last line (the machine stopped while it was written) is cut off. Scores by `rubrics` are checked on reading;
    `judgements` holds all lines, in the order of the file.
    """

    def __init__(self, path: Path, rubrics: Iterable[Rubric]) -> None:
        self.path, rubrics = path, tuple(rubrics)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UserError(f"{path}: cannot be opened ({error.strerror}); name another file") from error
        try:
            try:
                # Held until the file is closed or the process is dead, however it died.
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UserError(f"{path}: another process is judging into it; wait for it or end it") from error
            content = path.read_bytes()
            self.judgements = list(_parse(path, content, rubrics))
            if content and not content.endswith(b"\n"):
                if _is_whole(content, rubrics):
                    self._write(b"\n")
                else:
                    os.ftruncate(self._file, content.rfind(b"\n") + 1)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, judgement: Judgement) -> None:
        """Write one line. When this returns, killing the process does not lose it."""
        # Not asdict, which copies all that is inside: that would be a fifth of what a judgement costs here.
        values = {field.name: getattr(judgement, field.name) for field in fields(judgement)}
        self._write(json.dumps(values, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self.judgements.append(judgement)

    def close(self) -> None:
        """Let others write."""
        os.close(self._file)

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._file, line)  # one call: a kill comes before or after it
        except OSError as error:
            raise UserError(f"{self.path}: cannot be written ({error.strerror}); make room and run again") from error
        if written != len(line):
            raise UserError(f"{self.path}: the disk is full; make room and run again")


def read_judgements(path: Path, rubrics: Iterable[Rubric]) -> list[Judgement]:
    """All lines of a ledger, in order, also while somebody writes it; a torn last line is passed over."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give a ledger of judgements") from error
    return list(_parse(path, content, tuple(rubrics)))


def _parse(path: Path, content: bytes, rubrics: tuple[Rubric, ...]) -> Iterator[Judgement]:
    lines = content.split(b"\n")
    if lines[-1] and not _is_whole(content, rubrics):
        # Cut off only what can be the beginning of one of our lines: the file may be somebody else's.
        if not (lines[-1].startswith(_START) or _START.startswith(lines[-1])):
            raise UserError(f"{path}, line {len(lines)}: is no judgement; name another file")
        lines.pop()
    for number, line in enumerate(lines, 1):
        if not line and number == len(lines):
            return
        try:
            yield _checked(json.loads(line), rubrics)
        except _NO_JUDGEMENT as error:
            detail = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            cause = " ".join(detail.split())[:100]
            raise UserError(f"{path}, line {number}: is no judgement ({cause}); fix or remove the line") from error


def _is_whole(content: bytes, rubrics: tuple[Rubric, ...]) -> bool:
    # Is nothing missing of the last line but its end?
    try:
        _checked(json.loads(content[content.rfind(b"\n") + 1 :]), rubrics)
    except _NO_JUDGEMENT:
        return False
    return True
