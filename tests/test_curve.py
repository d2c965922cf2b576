"""A model beside its base's curve: worlds of lists, the rows of runs on disk, and where they are shown."""

import numpy as np
import pytest

from sozo.scoring.statistics.curve import above_line
from sozo.scoring.statistics.hill import different_words

# Worlds of lists: words drawn by frequency, Zipf's, with a temperature; rare ones lie farther apart.

WORDS, DIMENSIONS = 20_000, 24
LEVEL = 1 - 0.025 / 3  # as on the first screen, beside usable and different words
TEMPERATURES = (0.3, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0)


class World:
    """A vocabulary, and lists of ten of its words."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.logits = -1.2 * np.log(np.arange(WORDS) + 21)
        common = 1.5 * (1 - np.linspace(0, 1, WORDS) ** 0.3)
        vectors = self.random.normal(size=(WORDS, DIMENSIONS))
        vectors += common[:, None] * self.random.normal(size=DIMENSIONS)
        self.unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def lists(self, temperature, n):
        chances = np.cumsum(np.exp((self.logits - self.logits[0]) / temperature))
        lists = np.empty((n, 10), np.int64)
        for k in range(10):
            rows = np.arange(n)
            while len(rows):
                drawn = self.random.random(len(rows)) * chances[-1]
                lists[rows, k] = np.searchsorted(chances, drawn)
                twice = (lists[rows, :k] == lists[rows, k : k + 1]).any(axis=1)
                rows = rows[twice]
        return lists

    def paired(self, temperature, n):
        """Of two lists the farther one: words are chosen by each other."""
        one, other = self.lists(temperature, n), self.lists(temperature, n)
        farther = self.scores(one) > self.scores(other)
        return np.where(farther[:, None], one, other)

    def scores(self, lists):
        return 1 - ((self.unit[lists].sum(axis=1) ** 2).sum(axis=1) - 10) / 90

    def places(self, lists):
        return np.column_stack([different_words(lists), self.scores(lists)])

    def told(self, lists):
        line = [self.places(self.lists(t, len(lists))) for t in TEMPERATURES]
        return above_line(self.places(lists), line).estimate(LEVEL).sign


def signs(worlds, n):
    """What training as a change of temperature alone is said to be in each world, and training that pairs words."""
    world = World()
    hotter = world.random.uniform(0.35, 1.9, worlds)
    return (
        [world.told(world.lists(temperature, n)) for temperature in hotter],
        [world.told(world.paired(1.0, n)) for _ in range(worlds)],
    )


def test_hotter_lies_on_the_curve_and_pairing_above():
    hotter, paired = signs(12, 500)
    assert hotter.count(0) >= 11
    assert paired.count(1) >= 11


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 2048])
def test_hotter_lies_on_the_curve_in_93_of_100_worlds(n):
    hotter, paired = signs(300, n)
    assert hotter.count(0) >= 0.93 * len(hotter)
    assert paired.count(-1) == 0
    assert paired.count(1) >= {300: 0.3, 2048: 0.98}[n] * len(paired)
