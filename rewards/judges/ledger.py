"""The ledger: every judgement as one line of JSON, written the moment it arrives and never changed.

A key that comes again says what holds now; the earlier line stays, and its tokens stay on the bill.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path

from data.errors import UserError
from rewards.judges.judgement import Judgement, checked
from rewards.judges.rubric import Rubric

_START = b'{"key": "'
# What `checked` and `json.loads` raise at a line that is no judgement.
_NO_JUDGEMENT = (ValueError, TypeError, KeyError, RecursionError)


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
            yield checked(json.loads(line), rubrics)
        except _NO_JUDGEMENT as error:
            detail = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            cause = " ".join(detail.split())[:100]
            raise UserError(f"{path}, line {number}: is no judgement ({cause}); fix or remove the line") from error


def _is_whole(content: bytes, rubrics: tuple[Rubric, ...]) -> bool:
    """Whether nothing is missing of the last line but its end."""
    try:
        checked(json.loads(content[content.rfind(b"\n") + 1 :]), rubrics)
    except _NO_JUDGEMENT:
        return False
    return True
