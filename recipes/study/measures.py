"""What is measured of a row, each with the sentence that stands beside it."""

from collections.abc import Callable
from dataclasses import dataclass

from rewards.tasks.dat.table11 import Table11Row

MEAN, UNIQUE = "mean", "unique words"  # the plane's


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of a study's table."""

    heading: str
    form: str  # how a number is written
    sentence: str  # what it says, for somebody new
    of: Callable[[Table11Row], float | None]  # None where nobody measured it

    def show(self, value: float | None, signed: bool = False) -> str:
        """A number as the page shows it; a difference has a sign."""
        return "–" if value is None else ("+" if signed and value >= 0 else "") + self.form.format(value)


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
}
