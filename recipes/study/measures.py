"""What is measured of a row, each with the sentence that stands beside it."""

from collections.abc import Callable
from dataclasses import dataclass

from sozo.tasks.dat.table11 import Table11Row
from sozo.tasks.dat.view import DatView

MEAN, UNIQUE, GUARD = "mean", "unique words", "guard"
Value = Callable[[Table11Row], float | None]  # None where nobody measured it


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of a study's table."""

    heading: str
    form: str  # how a number is written
    sentence: str  # what it says, for somebody new
    of: Value
    signed: bool = False  # whether it is a difference itself

    def show(self, value: float | None, signed: bool = False) -> str:
        """A number as the page shows it; a difference has a sign."""
        return "–" if value is None else "+" * ((signed or self.signed) and value >= 0) + self.form.format(value)


def _instrument(name: str, form: str) -> Measure:
    labels = DatView().labels()
    sentence = labels[f"{name}_says"][0].partition(": ")[2]
    sentence = sentence[:1].upper() + sentence[1:]
    return Measure(labels[name][0], form, sentence, lambda row: row.summary.instruments.get(name))


def _gain(number: int) -> Value:
    return lambda row: gain.deviations if (gain := row.gains[number]) else None


MEASURES = {
    "valid": Measure(
        "Valid", "{:.2%}", "Share of the responses that are ten different nouns.", lambda row: row.summary.valid_rate
    ),
    MEAN: Measure(
        "Mean",
        "{:.4f}",
        "DAT score of the valid responses, 0 to 2: how far apart the ten words of a list are for the encoder.",
        lambda row: row.summary.mean,
    ),
    UNIQUE: Measure(
        "Unique words",
        "{:,.0f}",
        "Different words in as many valid responses of every row: how rich the vocabulary is over many lists.",
        lambda row: row.equal_size_words,
    ),
    "combination": _instrument("combination", "{:.4f}"),
    "categories": _instrument("categories", "{:.2f}"),
    "glued words": _instrument("glued_share", "{:.2%}"),
    "gain": Measure(
        "Gain",
        "{:.2f}",
        "The mean minus the base's of the same seed, in standard deviations of the base's scores.",
        _gain(0),
        signed=True,
    ),
    GUARD: Measure(
        "Gain by the guard",
        "{:.2f}",
        "The same by an encoder that no arm was trained on: what is left there was not for one encoder only.",
        _gain(1),
        signed=True,
    ),
}
