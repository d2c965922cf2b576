"""A gain by a second encoder, taken apart: which words are chosen, where they stand, and how they are combined."""

from dataclasses import dataclass

import numpy as np

from sozo.scoring.second_encoder import Gain, GainParts, SecondEncoder, gain_of
from sozo.tasks.dat.decomposition import Parts, parts_of


@dataclass(frozen=True, slots=True, eq=False)
class SeenLists:
    """What a second encoder makes of a row's valid lists."""

    plain: Parts
    centred: Parts

    @classmethod
    def of(cls, second: SecondEncoder, words: list[str], lists: np.ndarray) -> "SeenLists | None":
        """`lists` are numbers in `words`, integers of shape (lists, k); None of too few that it can score."""
        plain, centred = (parts_of(second.unit(words, centred=centred), lists) for centred in (False, True))
        return cls(plain, centred) if plain and centred else None

    def over(self, base: "SeenLists") -> GainParts:
        """The gain over the base's lists."""
        plain, centred = (base.plain, self.plain), (base.centred, self.centred)
        total, shuffled = (_part(*plain, 0, of_row) for of_row in (0, 1))
        return GainParts(self.plain.known_pairs, total, shuffled, *(_part(*centred, k, k) for k in range(4)))


def _part(base: Parts, row: Parts, of_base: int, of_row: int) -> Gain | None:
    """The difference of two values of decompositions, by their places in `Parts.values`."""
    before, after = (base.values[of_base], base.without[of_base]), (row.values[of_row], row.variances[of_row])
    return gain_of(base.scores, before, after, len(row.scores))
