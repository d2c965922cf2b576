"""A study's rows beside the paper's: how far each figure is off, and how far chance may take it.

Nobody trained the rows random and base, so that only chance and the choices of docs/reproduce.md move them: they have a
tolerance, and `sozo study` stops where they miss it. What one more training would move, the paper does not say.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sozo.data.errors import UserError
from sozo.data.published import METHODS
from sozo.eval.draw import PAPER_ANSWERS
from sozo.scoring.table import Content, Table, markdown, tabulate
from sozo.studies.study.table11 import FIGURES, Table11Row

UNTRAINED = RANDOM, BASE = METHODS[:2]
_USABLE, _MEAN, _STD, _WORDS = FIGURES
_Z = 1.96  # of a 95% interval
_ROOM = (
    2  # 95% half-widths that a difference may have: 9 in 100,000 are wider by chance
)
_DIGIT = {_MEAN: 5e-4, _STD: 5e-4}  # half of the last one that is printed
_NAMES = {_MEAN: "mean", _WORDS: "different words"}
# sd over seeds 42 to 46 in recipes/tiny/quickstart-rows.jsonl.
TRAINED = "one training in the paper, spread unknown (tiny, GRPO, sd over five seeds: mean 0.0011, usable 0.9 points)"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a row in 131,072 answers, here and in the paper."""

    row: str
    name: str
    here: float
    paper: float
    half_width: float  # of the paper's: 95% over its answers, and half a printed digit
    room: float | None  # what the two may differ by; None of a trained row

    @property
    def missed(self) -> bool:
        """Whether it is off by more than chance takes it."""
        return self.room is not None and abs(self.here - self.paper) > self.room

    @property
    def cells(self) -> dict[str, Content]:
        """Its row of a table."""
        digits = ".4f" if self.name in _DIGIT else ",.0f"
        told, room = f"{self.paper:{digits}}", None
        if self.room is not None:
            told, room = f"{told} ± {self.half_width:{digits}}", f"{self.room:{digits}}"
        return {
            "Row": self.row,
            "Figure": _NAMES.get(self.name, self.name),
            "Here": f"{self.here:{digits}}",
            "The paper's": told,
            "Difference": f"{self.here - self.paper:+{digits}}",
            "May differ by": room,
            "Missed": "yes" if self.missed else None,
        }


def half_widths(row: Mapping[str, Any], answers: int) -> dict[str, float]:
    """95% half-widths of a row's figures over its answers, usable ones as of 131,072. Of different words it is the most.

    >>> row = {"usable": 105_401, "score": 0.524, "std": 0.018, "all_different_words": 8026}
    >>> told = half_widths(row, 131_072)
    >>> round(told["usable"]), round(told["score"], 6), round(told["all_different_words"])
    (282, 0.000109, 176)
    """
    usable, std = row[_USABLE], row[_STD] or 0.0
    share, n = usable / answers, max(usable, 1)
    return {
        _USABLE: _Z * PAPER_ANSWERS * math.sqrt(share * (1 - share) / answers),
        _MEAN: _Z * std / math.sqrt(n),
        _STD: _Z * std / math.sqrt(2 * n),
        _WORDS: _Z * math.sqrt(row[_WORDS]),
    }


def figures(row: Table11Row) -> list[Figure]:
    """A row's figures that can be compared: different words grow with the answers, so they need as many."""
    if row.paper is None:
        return []
    ours, answers, method = (
        asdict(row.summary),
        row.summary.num_answers,
        row.summary.source,
    )
    drawn, printed = half_widths(ours, answers), half_widths(row.paper, PAPER_ANSWERS)
    found = []
    for name, paper in row.paper.items():
        here, digit = ours[name], _DIGIT.get(name, 0.0)
        if name == _USABLE:
            here *= PAPER_ANSWERS / answers
        if here is None or (name == _WORDS and answers != PAPER_ANSWERS):
            continue
        room = digit + _ROOM * math.hypot(drawn[name], printed[name])
        told = room if method in UNTRAINED else None
        found.append(Figure(method, name, here, paper, digit + printed[name], told))
    return found


def beside_table(rows: Sequence[Table11Row]) -> Table:
    """Every figure beside the paper's; empty without these."""
    lines = [figure.cells for row in rows for figure in figures(row)]
    notes = [
        f"Usable lists are counted as of {PAPER_ANSWERS:,} answers. ±: 95% half-width over them, and half a printed digit.",
        f"Trained rows: {TRAINED}; so they have no tolerance.",
    ]
    for row in filter(figures, rows):
        counts = row.usable_by_repeated_words.items()
        told = " and ".join(f"{count:,} with {choice}" for choice, count in counts)
        notes.append(f"{row.summary.source}: usable lists by repeated_words: {told}.")
    return tabulate("Beside the paper's figures", lines, notes if lines else [])


def gate(rows: Sequence[Table11Row]) -> Iterator[str]:
    """Lines on random and base beside the paper's; a UserError behind them where they miss it."""
    table = beside_table(rows)
    yield from (*markdown(table).splitlines(), *table.notes)
    missed = [figure for row in rows for figure in figures(row) if figure.missed]
    if missed:
        raise UserError(
            f"{len(missed)} figure(s) of random and base miss the paper; see above, and docs/reproduce.md, what the paper "
            "leaves open; --go-on continues"
        )
