"""A gain by a guard, taken apart: which words are chosen, where they stand, and how they are combined."""

from dataclasses import dataclass

import numpy as np

from sozo.scoring.guard import Gain, GainParts, Guard, gain, gain_of
from sozo.tasks.dat.decomposition import FEWEST_LISTS, Parts, parts_of


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
