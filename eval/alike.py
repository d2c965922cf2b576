"""Runs whose scores are on one scale: what may be correlated, ranked or put side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from data.record import MISSING, first_difference
from eval.finished import Finished


def check_alike(
    what: str, runs: Sequence[tuple[str, Finished]], scale: Callable[[Finished], dict[str, Any]], mend: str
) -> None:
    """Refuse runs of which one has its scores on another scale than the first.

    Args:
        what: The benchmark.
        runs: Model and run.
        scale: What a run's scores depend on (encoder, judge, questions); JSON values.
        mend: What to do about it.

    Raises:
        ValueError: With the first difference, in one line.
    """
    for name, run in runs[1:]:
        first, other = runs[0]
        if found := first_difference(scale(other), scale(run)):
            key, *values = found
            a, b = ("not set" if value is MISSING else value for value in values)
            raise ValueError(
                f"{what} of {first} ({other.folder}) and of {name} ({run.folder}) do not compare: {key} is {a} and "
                f"{b}; {mend}"
            )
