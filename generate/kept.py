"""Completions that a server was paid for, kept until their part of the table is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Self

from data.completion import Completion


class KeptCompletions:
    """The completions of one batch, each a line of a file the moment it arrives.

    A batch that fails or is killed half way then costs only what it lacks: the next call finds the rest. The caller
    vouches that the file belongs to the same prompts and settings, as a run's folder does. A line that a kill has torn
    is passed over. Several threads may add at once. Use it as a context manager.

    Args:
        path: The file; None keeps nothing.

    Attributes:
        completions: What is there, by number in the batch.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kept"
    >>> with KeptCompletions(path) as kept:
    ...     kept.add(1, Completion("犬", "stop"))
    >>> with KeptCompletions(path) as kept:
    ...     kept.completions
    {1: Completion(text='犬', finish_reason='stop')}
    """

    def __init__(self, path: Path | None) -> None:
        self.completions: dict[int, Completion] = {}
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            content = path.read_bytes()
            self.completions.update(_read(content))
            if content and not content.endswith(b"\n"):
                os.write(self._file, b"\n")

    def add(self, number: int, completion: Completion) -> None:
        """Keep one. When this returns, killing the process does not lose it."""
        if self._file is not None:
            row = [number, completion.text, completion.finish_reason]
            os.write(self._file, json.dumps(row).encode() + b"\n")
        self.completions[number] = completion

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            os.close(self._file)


def _read(content: bytes) -> dict[int, Completion]:
    completions = {}
    for line in content.split(b"\n"):
        try:
            number, text, finish_reason = json.loads(line)
        except ValueError:
            continue  # torn, or what follows the last line feed
        completions[number] = Completion(text, finish_reason)
    return completions
