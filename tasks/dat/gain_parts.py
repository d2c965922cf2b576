"""A gain by a guard, taken apart: which words are chosen, where they stand, and how they are combined."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sozo.scoring.guard import Gain, Guard, gain, gain_of
from sozo.tasks.dat.decomposition import FEWEST_LISTS, Parts, parts_of


@dataclass(frozen=True, slots=True)
class GainParts:
    """A row's gain over its base by a guard; None where there are too few lists.

    Everything but `total` and `dealt` is by the guard's vectors without their mean over the task's nouns, in standard
    deviations of the base's scores by these vectors: centred = word_choice + position + combination.
    """

    known_pairs: float  # share of the row's pairs of words of which the guard knows both
    total: Gain | None  # by the guard's vectors as they are
    dealt: Gain | None  # the same, if the row's words were dealt anew among its lists: by choice of words alone
    centred: Gain | None
    word_choice: Gain | None
    position: Gain | None  # its interval is wider than it need be (`sozo.tasks.dat.instruments`)
    combination: Gain | None  # what no choice of words can raise

    def to_json(self) -> dict[str, Any]:
        """For `metrics.json` and `table11.json`."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class GuardedLists:
    """What a guard makes of a row's valid lists."""

    plain: Parts
    centred: Parts

    @classmethod
    def of(cls, guard: Guard, words: list[str], lists: np.ndarray) -> "GuardedLists | None":
        """`lists` are numbers in `words`, integers of shape (lists, k); None of fewer than three."""
        if len(lists) < FEWEST_LISTS:
            return None
        return cls(*(parts_of(guard.unit(words, centred=centred), lists) for centred in (False, True)))

    def over(self, base: "GuardedLists") -> GainParts:
        """The gain over the base's lists."""
        plain, centred = self.plain, self.centred
        dealt = _part(base.plain, plain, of_base=0, of_row=1)
        parts = [_part(base.centred, centred, of_base=k, of_row=k) for k in range(len(centred.values))]
        return GainParts(plain.known_pairs, gain(base.plain.scores, plain.scores), dealt, *parts)


def _part(base: Parts, row: Parts, *, of_base: int, of_row: int) -> Gain | None:
    """The difference of two values of decompositions, by their places in `Parts.values`."""
    if len(base.scores) < FEWEST_LISTS:
        return None
    before = float(base.values[of_base]), base.without[of_base]
    return gain_of(base.scores, before, (float(row.values[of_row]), float(row.variances[of_row])), len(row.scores))
