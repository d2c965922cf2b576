"""Runs whose scores are on one scale: what may be correlated, ranked or put side by side."""

from __future__ import annotations

from collections.abc import Sequence

from data.errors import UserError
from data.record import MISSING, first_difference
from rewards.finished import Finished


def not_alike(run: Finished, other: Finished) -> str | None:
    """The first thing on which their scores depend and in which they differ; None if they are on one scale."""
    difference = first_difference(run.scale, other.scale)
    if difference is None:
        return None
    key, before, after = ("not set" if value is MISSING else value for value in difference)
    return f"{key} is {before} and {after}"


def check_alike(what: str, runs: Sequence[tuple[str, Finished]], remedy: str) -> None:
    """Refuse models' runs of a benchmark of which one has its scores on another scale than the first."""
    for name, run in runs[1:]:
        first, other = runs[0]
        if reason := not_alike(other, run):
            raise UserError(
                f"{what} of {first} ({other.folder}) and of {name} ({run.folder}) do not compare: {reason}; {remedy}"
            )
