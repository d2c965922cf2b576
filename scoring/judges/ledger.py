"""The ledger: every judgement as one line of JSON, written the moment it arrives and never changed."""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sozo.data.contents import contents
from sozo.data.errors import UserError
from sozo.data.progress import say_once
from sozo.data.record import locked, room
from sozo.data.schema import utf8_safe
from sozo.data.settings import from_validation
from sozo.scoring.endpoint.bill import NUMBERS, impossible
from sozo.scoring.final_text import Ending, ending
from sozo.scoring.judges.protocol import Rubric, Scores, Status

_START = b'{"key": "'


@dataclass(frozen=True, slots=True)
class Judgement:
    """One reply of a judge about one answer: a line of the ledger. `protocol.Reply` says what is not said here."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, defer_build=True)

    key: str  # `judgement_key` of what was asked
    question_id: str
    answer_id: str  # of several equal answers to one question, the line names the first
    judge: str  # the model
    prompt: str  # name of the rubric
    status: Status
    # One for each criterion of the rubric if the status is ok
    scores: Scores | None = None
    reply: str | None = None
    reply_id: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    # In the price's currency; None if the price or the tokens are not known
    cost: float | None = None
    error: str | None = None
    time: str | None = None  # of its arrival, UTC
    reply_model: str | None = None
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        if (self.status is Status.OK) != bool(self.scores):
            raise ValueError(f"status {self.status} with scores {self.scores}")


_LINE = TypeAdapter(Judgement)


def judgement_key(
    question: str, answer: str, judge: str, prompt: str, parameters: dict[str, Any]
) -> str:
    """SHA-256 of all that a judgement depends on. Equal answers to one question share it, and one judgement.

    >>> judgement_key("q", "a", "j", "jcq-v1", {}) == judgement_key("q", "a", "j", "jcq-v1", {"temperature": 0})
    False
    """
    content = json.dumps(
        [utf8_safe(question), utf8_safe(answer), judge, prompt, parameters],
        sort_keys=True,
    )
    return hashlib.sha256(content.encode()).hexdigest()


def latest(judgements: Iterable[Judgement]) -> dict[str, Judgement]:
    """What holds now, by key: the last line of each. The earlier ones stay, and their tokens stay on the bill."""
    return {judgement.key: judgement for judgement in judgements}


class Ledger(AbstractContextManager["Ledger"]):
    """A ledger open for writing; of all processes, one at a time may have it. Use it as a context manager.

    A torn last line (the machine stopped while it was written) is cut off. Scores by `rubrics` are checked on reading;
    `judgements` holds all lines, in the order of the file.
    """

    def __init__(self, path: Path, rubrics: Iterable[Rubric]) -> None:
        self.path = path
        rubrics = tuple(rubrics)
        with ExitStack() as held:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = held.enter_context(locked(path))
            except BlockingIOError as error:
                raise UserError(
                    f"{path}: another process is judging into it; wait for it or end it"
                ) from error
            except OSError as error:
                raise UserError(
                    f"{path}: cannot be opened ({error.strerror}); name another file"
                ) from error
            content = contents(path)
            self.judgements = list(_parse(path, content, rubrics))
            if content and not content.endswith(b"\n"):
                start = content.rfind(b"\n") + 1
                if not content[start:].startswith(b"{"):
                    raise UserError(
                        f"{path}: its last line is no judgement; name another file"
                    )
                if _is_whole(content[start:]):
                    self._write(b"\n")
                else:
                    os.ftruncate(self._file, start)
            self._held = held.pop_all()

    def append(self, judgement: Judgement) -> None:
        """Write one line. When this returns, killing the process does not lose it."""
        # Not asdict, which copies all that is inside: that would be a fifth of what a judgement costs here.
        values = {
            field.name: getattr(judgement, field.name) for field in fields(judgement)
        }
        self._write(
            json.dumps(values, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        )
        self.judgements.append(judgement)

    def close(self) -> None:
        """Let others write."""
        self._held.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        try:
            with room(self.path, len(line)):
                # One call: a kill comes before or after it.
                if os.write(self._file, line) != len(line):
                    raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            raise UserError(
                f"{self.path}: cannot be written ({error.strerror}); name another file"
            ) from error


def read_judgements(path: Path, rubrics: Iterable[Rubric]) -> list[Judgement]:
    """All lines of a ledger, in order, also while somebody writes it; a torn last line is passed over."""
    try:
        content = contents(path)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); give a ledger of judgements"
        ) from error
    return list(_parse(path, content, tuple(rubrics)))


def _parse(
    path: Path, content: bytes, rubrics: tuple[Rubric, ...]
) -> Iterator[Judgement]:
    *lines, last = content.split(b"\n")
    if last and _is_whole(last):
        lines.append(last)
    # Cut off only what can be the beginning of one of our lines: the file may be somebody else's.
    elif not (last.startswith(_START) or _START.startswith(last)):
        raise UserError(
            f"{path}, line {len(lines) + 1}: is no judgement; name another file"
        )
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}: is no judgement"
        try:
            judgement = _LINE.validate_json(line)
        except ValidationError as error:
            raise UserError(f"{from_validation(error, where)}; fix the line") from error
        # Scores by a rubric that is not among `rubrics` are somebody else's.
        for rubric in rubrics:
            if (
                rubric.name == judgement.prompt
                and judgement.scores
                and not rubric.fits(judgement.scores)
            ):
                raise UserError(f"{where} (scores {judgement.scores}); fix the line")
        if fault := _fault(judgement, rubrics):
            say_once(f"{path}, line {number}: {fault}; it is kept, and does not count")
        else:
            yield judgement


def _fault(line: Judgement, rubrics: Iterable[Rubric]) -> str | None:
    """What of a line no judge's reply can have made; None if nothing."""
    if not line.key:
        return "it has no key"
    counts = {name: getattr(line, name) for name in NUMBERS}
    if wrong := impossible(counts):
        return wrong
    if line.status is not Status.OK or line.reply is None:
        return None
    if ending(line.finish_reason) is not Ending.WELL:
        return f"its reply ended with {line.finish_reason}, and it has scores"
    for rubric in rubrics:
        if rubric.name == line.prompt and rubric.judged(line.reply)[1] != line.scores:
            return "its reply does not say its scores"
    return None


def _is_whole(line: bytes) -> bool:
    """Whether nothing is missing of a last line but its end."""
    try:
        _LINE.validate_json(line)
    except ValidationError:
        return False
    return True
