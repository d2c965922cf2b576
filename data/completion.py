"""One text that a generator wrote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completion:
    """A text, and how it ended: `stop` or `length` (or an endpoint's own word), None where it means nothing."""

    text: str
    finish_reason: str | None = None
