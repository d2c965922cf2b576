"""What a check of the doctor finds: one line for people, with the command that mends it. Needs no package."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sozo.data.secrets import without_credentials

ROOT = Path(__file__).parents[2]


class State(StrEnum):
    """How things stand."""

    OK = "ok"
    MISSING = "missing"  # something optional, or less of it than is wanted
    NEEDED = "NEEDED"  # without it nothing works


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's.

    >>> print(Finding(State.MISSING, "Juman++", "not on the PATH", "conda install jumanpp"))
    missing  Juman++           not on the PATH -> conda install jumanpp
    """

    state: State
    name: str
    text: str
    fix: str = ""  # a command, or where to read on

    def __str__(self) -> str:
        line = f"{self.state:<8} {self.name:<17} {self.text}" + (f" -> {self.fix}" if self.fix else "")
        return without_credentials(" ".join(line.split("\n")))


def safely(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What `check` finds. A check that raises an error becomes a finding itself, so that the others still run."""
    try:
        return list(check())
    except Exception as error:
        return [Finding(State.MISSING, name, f"cannot be looked at ({type(error).__name__}: {error})")]
