"""How often each printed interval holds the truth, by world and n; run as a script it writes coverage.csv.

Each cell is 4,000 data sets (of words 1,000) of a world whose truth is known, at the printed level of 95%: a standard
error of 0.34 points (0.69). Intervals are the product's own. A cell below 93% or above 97.5% names its cause.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from sozo.scoring.guard import gain
from sozo.scoring.statistics import compare_independent, compare_paired, mean_interval, pearson
from sozo.scoring.statistics.hill import hill_interval, hill_numbers, hill_ratio

TABLE = Path(__file__).with_name("coverage.csv")
DATA_SETS = 4000
SIZES = (10, 20, 35, 113, 700)
FIELDS = ("interval", "world", "n", "coverage", "cause")


def mixture(rng, shape, *kinds):
    """Values of kinds of answers, each (share, mean, deviation)."""
    shares, means, deviations = map(np.array, zip(*kinds, strict=True))
    kind = rng.choice(len(kinds), shape, p=shares)
    return rng.normal(means[kind], deviations[kind])


def mostly_equal(rng, shape):
    return rng.choice(np.arange(1.0, 6), shape, p=[0.03, 0.02, 0.85, 0.07, 0.03])


def grouped(rng, shape):
    """Means over four answers to each question, which differ."""
    return rng.normal(3, 0.6, shape) + rng.normal(0, 0.6, (*shape, 4)).mean(axis=-1)


# World -> how values of a shape are drawn, their mean and their deviation.
WORLDS = {
    "normal": (lambda rng, shape: rng.normal(0.9, 0.011, shape), 0.9, 0.011),
    "skewed": (lambda rng, shape: 1 - rng.beta(8, 40, shape), 1 - 8 / 48, (8 * 40 / 48**2 / 49) ** 0.5),
    "bimodal": (None, 0.0, 0.0),
    "zero-inflated": (None, 0.0, 0.0),
    "rare kind": (None, 0.0, 0.0),
    "mostly equal": (mostly_equal, 3.05, 0.3275**0.5),
    "grouped": (grouped, 3.0, (0.6**2 + 0.6**2 / 4) ** 0.5),
}
KINDS = {
    "bimodal": ((0.5, 0.6, 0.02), (0.5, 0.9, 0.02)),
    "zero-inflated": ((0.2, 0.0, 0.0), (0.8, 0.85, 0.03)),
    "rare kind": ((0.03, 0.3, 0.02), (0.97, 0.85, 0.02)),  # one list said again and again, at 3%
}
for name, kinds in KINDS.items():
    mean = sum(share * at for share, at, _ in kinds)
    variance = sum(share * (spread**2 + (at - mean) ** 2) for share, at, spread in kinds)
    WORLDS[name] = (lambda rng, shape, kinds=kinds: mixture(rng, shape, *kinds), mean, variance**0.5)


def share_of(truth, results):
    """How many of the intervals hold the truth, of those that are given."""
    given = [found for found in results if found is not None and found.low is not None]
    return sum(found.low <= truth <= found.high for found in given) / len(given)


def named(values):
    return dict(enumerate(values.tolist()))


def of_scores(interval, world, n):
    draw, mean, deviation = WORLDS[world]
    rng = np.random.default_rng([n, len(world)])
    values = draw(rng, (DATA_SETS, n))
    if interval == "mean":
        return share_of(mean, map(mean_interval, values))
    if interval == "correlation":
        noise = (values - mean) / deviation
        other = (draw(rng, (DATA_SETS, n)) - mean) / deviation
        return share_of(0.6, (pearson(x, 0.6 * x + 0.8 * e) for x, e in zip(noise, other, strict=True)))
    # The base is of the world; the trained model is better by a quarter of its deviation, and spread half as far.
    truth = 0.25 * deviation
    other = rng.normal(mean + truth, deviation / 2, (DATA_SETS, n))
    pairs = zip(values, other, strict=True)
    if interval == "paired difference":
        return share_of(truth, (compare_paired(named(a), named(b)) for a, b in pairs))
    if interval == "independent difference":
        return share_of(truth, (compare_independent(a, b) for a, b in pairs))
    return share_of(truth / deviation, (gain(a, b) for a, b in pairs))


RIGHT = {"half": 0.5, "one in seven wrong": 0.86, "two in a hundred wrong": 0.98}


def of_shares(interval, world, n):
    rng, share = np.random.default_rng(n), RIGHT[world]
    a, b = (rng.random((2, DATA_SETS, n)) < share) * 1.0
    if interval == "share":
        return share_of(share, (mean_interval(one, share=True) for one in a))
    if interval == "paired difference of shares":
        return share_of(0.0, (compare_paired(named(x), named(y), share=True) for x, y in zip(a, b, strict=True)))
    return share_of(0.0, (compare_independent(x, y, share=True) for x, y in zip(a, b, strict=True)))


def lists_of(rng, world, n):
    """Lists of ten of 600 words by Zipf's law; in half of the answers of one world always the same list."""
    lists = np.argsort(np.log(np.arange(600) + 3.0) - rng.gumbel(size=(n, 600)), axis=1)[:, :10]
    if world == "one list in half":
        lists[rng.random(n) < 0.5] = np.arange(10)
    return lists


def of_words(interval, world, n):
    rng, order = np.random.default_rng(n), int(interval[-1])
    large = lists_of(rng, world, 20_000)
    counts = np.bincount(large.ravel())
    numbers = hill_numbers(counts[counts > 0], 20_000, n)
    truth = (numbers.unique, numbers.perplexity, numbers.inverse_simpson)[order]
    if interval.startswith("ratio"):
        sides = ([lists_of(rng, world, n) for _ in "ab"] for _ in range(DATA_SETS // 4))
        pairs = (hill_ratio(*both, order=order) for both in sides)
        return share_of(0.0, pairs)
    return share_of(truth, (hill_interval(lists_of(rng, world, n), order=order) for _ in range(DATA_SETS // 4)))


SCORES = ("mean", "paired difference", "independent difference", "gain", "correlation")
SHARES = ("share", "paired difference of shares", "independent difference of shares")
WORDS = ("words of order 0", "words of order 1", "words of order 2", "ratio of words of order 0")


def cells(interval):
    """Every (world, n) of an interval with its coverage."""
    if interval in SCORES:
        of, worlds, sizes = of_scores, WORLDS, SIZES
    elif interval in SHARES:
        of, worlds, sizes = of_shares, RIGHT, SIZES[:-1]
    else:
        of, worlds, sizes = of_words, ("Zipf", "one list in half"), (10, 35, 100)
    return [(interval, world, n, round(of(interval, world, n), 3)) for world in worlds for n in sizes]


def cause(interval, world, n, held):
    """Why an interval holds the truth less often than in 93%, or more often than in 97.5%."""
    if held < 0.93:
        if interval in ("gain", "correlation") or world in ("rare kind", "zero-inflated", "mostly equal", "skewed"):
            return f"no sample of {n} sees a kind of answer rarer than {1 - 0.05 ** (1 / n):.1%}"
        return "?"
    if held > 0.975:
        if "share" in interval:
            return "so few different counts that no interval holds exactly 95%"
        if interval in WORDS:
            return "the jackknife overrates the spread of a number of different words"
        if interval == "gain":
            return "the jackknife overrates how far the deviation of a small base is off"
        return "few values differ: their spread is overrated where most samples are alike"
    return ""


if __name__ == "__main__":
    chosen = sys.argv[1:] or [*SCORES, *SHARES, *WORDS]
    old = list(csv.reader(TABLE.open(encoding="utf-8")))[1:] if TABLE.is_file() else []
    rows: list = [row for row in old if row[0] not in chosen]
    for interval in chosen:
        rows += [[*cell, cause(*cell)] for cell in cells(interval)]
    rows.sort(key=lambda row: [*SCORES, *SHARES, *WORDS].index(row[0]))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([FIELDS, *rows])
