"""A study's rows beside the paper's: how far each figure is off, how far chance may take it, and what else may have.

Nobody trained the rows random and base, so that only chance and the choices of docs/study.md move them: they have a
tolerance, and `sozo study` stops where they miss it. What one more training would move, the paper does not say.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sozo.data.errors import UserError
from sozo.data.published import METHODS, doubt, load_text
from sozo.eval.draw import PAPER_ANSWERS
from sozo.scoring.table import Content, Table, tabulate
from sozo.studies.study.table11 import PublishedFigures, Table11Row
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.words import KEEP, REFUSE

UNTRAINED = RANDOM, BASE = METHODS[:2]
_USABLE, _MEAN, _STD, _WORDS = ("usable", "score", "std", "all_different_words")
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
    def difference(self) -> float:
        """What is more here."""
        return self.here - self.paper

    @property
    def missed(self) -> bool:
        """Whether it is off by more than chance takes it."""
        return self.room is not None and abs(self.difference) > self.room

    @property
    def cells(self) -> dict[str, Content]:
        """Its row of a table."""
        chance = self.room is not None
        width = f" ± {_written(self.name, self.half_width)}" if chance else ""
        return {
            "Row": self.row,
            "Figure": _NAMES.get(self.name, self.name),
            "Here": _written(self.name, self.here),
            "The paper's": _written(self.name, self.paper) + width,
            "Difference": _written(self.name, self.difference, "+"),
            "May differ by": _written(self.name, self.room)
            if self.room is not None
            else None,
            "Missed": "yes" if self.missed else None,
        }

    @property
    def text(self) -> str:
        """In words."""
        told = list(self.cells.items())[2:-1]
        values = ", ".join(f"{name.lower()} {value}" for name, value in told)
        return f"{self.row}, {_NAMES.get(self.name, self.name)}: {values}"


def half_widths(
    row: PublishedFigures | DatSummary, answers: int = PAPER_ANSWERS
) -> dict[str, float]:
    """95% half-widths of a row's figures over its answers, usable ones as of 131,072. Of different words it is the most.

    >>> told = half_widths(PublishedFigures(105_401, 0.524, 0.018, 8026))
    >>> round(told["usable"]), round(told["score"], 6), round(told["all_different_words"])
    (282, 0.000109, 176)
    """
    share = row.usable / answers
    std = row.std or 0.0
    usable = max(row.usable, 1)
    return {
        _USABLE: _Z * PAPER_ANSWERS * math.sqrt(share * (1 - share) / answers),
        _MEAN: _Z * std / math.sqrt(usable),
        _STD: _Z * std / math.sqrt(2 * usable),
        _WORDS: _Z * math.sqrt(row.all_different_words),
    }


def figures(row: Table11Row) -> list[Figure]:
    """A row's figures that can be compared: different words grow with the answers, so they need as many."""
    ours, paper = row.summary, row.published
    if paper is None:
        return []
    drawn, printed = half_widths(ours, ours.num_answers), half_widths(paper)
    values = {
        _USABLE: ours.usable / ours.num_answers * PAPER_ANSWERS,
        _MEAN: ours.score,
        _STD: ours.std,
        _WORDS: ours.all_different_words if ours.num_answers == PAPER_ANSWERS else None,
    }
    found = []
    for name, value in values.items():
        if value is None:
            continue
        digit = _DIGIT.get(name, 0.0)
        room = digit + _ROOM * math.hypot(drawn[name], printed[name])
        told = room if ours.source in UNTRAINED else None
        figure = getattr(paper, name)
        width = digit + printed[name]
        found.append(Figure(ours.source, name, value, figure, width, told))
    return found


def by_repeated_words(row: Table11Row) -> dict[str, int]:
    """A row's usable lists where one with a word twice is refused, and where it is kept, if its words have vectors."""
    summary = row.summary
    kept = summary.usable + summary.reasons.get("repeated_word", 0)
    return {REFUSE: summary.usable - row.repeated, KEEP: kept}


def agreeing(row: Table11Row) -> list[str]:
    """Which of the two counts are the paper's, as far as chance can tell."""
    (usable, *_) = figures(row)
    scale = PAPER_ANSWERS / row.summary.num_answers
    counts = by_repeated_words(row)
    return [
        choice
        for choice, count in counts.items()
        if abs(count * scale - usable.paper) <= (usable.room or 0.0)
    ]


def beside_table(rows: Sequence[Table11Row]) -> Table:
    """Every figure beside the paper's; empty without these."""
    lines = [figure.cells for row in rows for figure in figures(row)]
    notes = [
        f"Usable lists are counted as of {PAPER_ANSWERS:,} answers. ±: 95% half-width over them, and half a printed digit.",
        f"Trained rows: {TRAINED}; so they have no tolerance.",
        *map(repeated_line, filter(figures, rows)),
    ]
    return tabulate("Beside the paper's figures", lines, notes if lines else [])


def repeated_line(row: Table11Row) -> str:
    """Both counts of a row's usable lists in a sentence; of base with which of them the paper agrees."""
    counts = by_repeated_words(row)
    told = " and ".join(f"{count:,} with {name}" for name, count in counts.items())
    line = f"{row.summary.source}: usable lists by repeated_words: {told}"
    if row.summary.source != BASE:
        return f"{line}."
    agree = " and ".join(agreeing(row)) or "neither"
    return f"{line}; the paper's {figures(row)[0].paper:,} agree with {agree}."


def causes(
    missed: Sequence[Figure], rows: Mapping[str, Table11Row], encoder: str, base: str
) -> Iterator[str]:
    """What would explain the missed figures, what is soonest checked first. `base` is its folder."""
    of_base = {figure.name: figure for figure in missed if figure.row == BASE}
    of_random = {figure.name for figure in missed if figure.row == RANDOM}
    scale = of_random & {_MEAN, _STD}
    told = of_base.keys() & {_MEAN, _STD} and not scale  # by the lists themselves
    if _USABLE in of_base and (agree := agreeing(rows[BASE])):
        yield f"repeated_words: {agree[0]} (counted already)"
    if scale:
        pair = f"'{encoder}[query: ]' '{encoder}[]'"
        yield f"the encoder's prompt or revision (minutes): python benchmarks/encoders.py {pair} --output runs/prompts"
    if _WORDS in of_random:
        yield "the list of nouns (minutes): random_nouns"
    if _USABLE in of_base and not told:
        nouns = rows[BASE].summary.reasons.get("not_noun", 0)
        how = f"sozo score dat {base} --noun-checker jumandic --output runs/jumandic"
        yield f"another Juman++ ({nouns:,} lists are not_noun; minutes): {how}"
    if _WORDS in of_base and of_base[_WORDS].difference > 0:
        yield "truncation or a lower temperature in the paper (one drawing): sampling"
    if told or {_USABLE, _WORDS} & of_base.keys():
        yield "another checkpoint, template or system message (one drawing): model_revision, system_prompt"


def gate(
    rows: Mapping[str, Table11Row], encoder: str, base: str, *, go_on: bool
) -> Iterator[str]:
    """Lines on random and base beside the paper's; a UserError behind them where they miss it, unless it goes on."""
    if BASE in rows and figures(rows[BASE]):
        yield repeated_line(rows[BASE])
    found = [figure for row in rows.values() for figure in figures(row)]
    missed = [figure for figure in found if figure.missed]
    yield from (f"missed: {figure.text}" for figure in missed)
    explained = causes(missed, rows, encoder, base)
    yield from (f"would explain it: {cause}" for cause in explained)
    if missed and not go_on:
        raise UserError(
            f"{len(missed)} figure(s) of {missed[-1].row} miss the paper; see above, and docs/study.md, what the paper "
            "leaves open; --go-on continues"
        )


def papers_rows(model: str | None) -> Iterator[str]:
    """The paper's figures of a model, digit for digit, and what chance does to those of a row that nobody trained."""
    for row in load_text("dat_training"):
        if not model or row["model"] not in ("", model):
            continue
        usable, words = int(row[_USABLE]), int(row[_WORDS])
        paper = PublishedFigures(usable, float(row[_MEAN]), float(row[_STD]), words)
        chance = row["method"] in UNTRAINED
        ends = {
            name: f" ± {_written(name, width + _DIGIT.get(name, 0))}" if chance else ""
            for name, width in half_widths(paper).items()
        }
        doubtful = doubt("dat_training", row, _USABLE)
        yield (
            f"{row['method']}: usable {usable:,}{ends[_USABLE]} of {PAPER_ANSWERS:,}{doubtful and f' ({doubtful})'}, "
            f"score {row[_MEAN]}{ends[_MEAN]}, std {row[_STD]}{ends[_STD]}, {words:,}{ends[_WORDS]} different words"
        )
    if model:
        yield f"trained rows: {TRAINED}"


def _written(name: str, value: float, sign: str = "") -> str:
    """A value with the digits of a figure."""
    return f"{value:{sign}.4f}" if name in _DIGIT else f"{value:{sign},.0f}"
