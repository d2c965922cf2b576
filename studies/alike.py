"""Only runs that are on one scale are ranked or correlated."""

from collections.abc import Sequence

from sozo.data.errors import UserError
from sozo.eval.evaluated import not_alike
from sozo.tasks.run_result import RunResult


def check_alike(what: str, runs: Sequence[tuple[str, RunResult]], remedy: str) -> None:
    """Refuse models' runs of a benchmark of which one has its scores on another scale than the first."""
    for name, run in runs[1:]:
        first, other = runs[0]
        if reason := not_alike(other, run):
            raise UserError(
                f"{what} of {first} ({other.folder}) and of {name} ({run.folder}) do not compare: {reason}; {remedy}"
            )
