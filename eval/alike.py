"""Runs whose scores are on one scale: what may be correlated, ranked or put side by side."""

from __future__ import annotations

from collections.abc import Sequence

from data.record import MISSING, first_difference
from eval.finished import Finished


def not_alike(one: Finished, other: Finished) -> str | None:
    """The first thing on which their scores depend and in which they differ; None if they are on one scale."""
    found = first_difference(one.scale, other.scale)
    if found is None:
        return None
    key, *values = found
    a, b = ("not set" if value is MISSING else value for value in values)
    return f"{key} is {a} and {b}"


def check_alike(what: str, runs: Sequence[tuple[str, Finished]], mend: str) -> None:
    """Refuse runs of which one has its scores on another scale than the first.

    Args:
        what: The benchmark.
        runs: Model and run.
        mend: What to do about it.

    Raises:
        ValueError: With the first difference, in one line.
    """
    for name, run in runs[1:]:
        first, other = runs[0]
        if reason := not_alike(other, run):
            raise ValueError(
                f"{what} of {first} ({other.folder}) and of {name} ({run.folder}) do not compare: {reason}; {mend}"
            )
