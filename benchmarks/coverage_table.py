"""How often each printed interval holds the truth, by world and n; run as a script it writes coverage.csv.

    python benchmarks/coverage_table.py                       # the cells that are missing
    python benchmarks/coverage_table.py "share" "gain"        # all cells of these intervals anew

Each cell is 4,000 data sets of a world whose truth is known, a standard error of 0.34 points at 95%. Intervals are the
product's own, at the level that is printed: that of the answer to "did training help" is 99% with five tasks. A cell
below 93% (98% of those of 99%) or above 97.5% names its cause.
"""

import csv
import math
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from sozo.eval.judge_noise import noise_of, with_noise
from sozo.scoring.measure import Estimate, normal_interval, t_test
from sozo.scoring.second_encoder import decompose, gain
from sozo.scoring.statistics import compare_independent, compare_paired, mean_interval
from sozo.scoring.statistics.hill import hill_interval, hill_number, hill_ratio
from sozo.scoring.statistics.proportions import grouped_share
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.tasks.dat.instruments import different

TABLE = Path(__file__).with_name("coverage.csv")
DATA_SETS = 4000
SIZES = (10, 20, 35, 113, 700)
FIELDS = ("interval", "world", "n", "level", "coverage", "cause")
STRICT = 0.99  # 1 - 0.05 / 5: the level of the answer over five tasks


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
    "skewed": (
        lambda rng, shape: 1 - rng.beta(8, 40, shape),
        1 - 8 / 48,
        (8 * 40 / 48**2 / 49) ** 0.5,
    ),
    "bimodal": (None, 0.0, 0.0),
    "zero-inflated": (None, 0.0, 0.0),
    "rare kind": (None, 0.0, 0.0),
    "mostly equal": (mostly_equal, 3.05, 0.3275**0.5),
    "grouped": (grouped, 3.0, (0.6**2 + 0.6**2 / 4) ** 0.5),
}
KINDS = {
    "bimodal": ((0.5, 0.6, 0.02), (0.5, 0.9, 0.02)),
    "zero-inflated": ((0.2, 0.0, 0.0), (0.8, 0.85, 0.03)),
    "rare kind": (
        (0.03, 0.3, 0.02),
        (0.97, 0.85, 0.02),
    ),  # one list said again and again, at 3%
}
for name, kinds in KINDS.items():
    mean = sum(share * at for share, at, _ in kinds)
    variance = sum(
        share * (spread**2 + (at - mean) ** 2) for share, at, spread in kinds
    )
    WORLDS[name] = (
        lambda rng, shape, kinds=kinds: mixture(rng, shape, *kinds),
        mean,
        variance**0.5,
    )


def share_of(truth, results):
    """How many of the intervals hold the truth, of those that are given."""
    given = [found for found in results if found is not None and found.low is not None]
    return (
        sum(found.low <= truth <= found.high for found in given) / len(given)
        if given
        else math.nan
    )


def named(values):
    return dict(enumerate(values.tolist()))


def of_scores(interval, world, n, level):
    draw, mean, deviation = WORLDS[world]
    rng = np.random.default_rng([n, len(world)])
    values = draw(rng, (DATA_SETS, n))
    if interval == "mean":
        return share_of(mean, map(mean_interval, values))
    # The base is of the world; the trained model is better by a quarter of its deviation, and spread half as far.
    truth = 0.25 * deviation
    other = rng.normal(mean + truth, deviation / 2, (DATA_SETS, n))
    pairs = zip(values, other, strict=True)
    if interval == "paired difference":
        return share_of(
            truth, (compare_paired(named(a), named(b), level=level) for a, b in pairs)
        )
    if interval == "independent difference":
        return share_of(
            truth, (compare_independent(a, b, level=level) for a, b in pairs)
        )
    return share_of(truth / deviation, (gain(a, b) for a, b in pairs))


def of_kinds(interval, world, n, level):
    """Seven fixed kinds of questions, as of JCQ, which differ by half a deviation each; so do their gains."""
    draw, mean, deviation = WORLDS[world]
    rng = np.random.default_rng([n, len(world), 7])
    kinds = np.arange(n) % 7
    values = draw(rng, (DATA_SETS, n)) + 0.5 * deviation * kinds
    if interval == "mean of seven kinds":
        truth = mean + 0.5 * deviation * 3
        return share_of(truth, (mean_interval(one, strata=kinds) for one in values))
    other = rng.normal(mean, deviation / 2, (DATA_SETS, n)) + deviation * kinds
    pairs = zip(values, other, strict=True)
    truth = 0.5 * deviation * 3
    return share_of(
        truth,
        (
            compare_paired(named(a), named(b), level=level, strata=named(kinds))
            for a, b in pairs
        ),
    )


def of_judges(interval, world, n, level):
    """A gain over 700 questions, in its standard errors; each judging moves a mean, and that of the base was repeated.

    n times the same answers were judged again; single answers give such a difference an error of 0.3.
    """
    rng, results = np.random.default_rng([n, len(world)]), []
    judgings = rng.normal(0, NOISES[world], (DATA_SETS, n + 2))
    gaps, errors = rng.normal(1.5, 1, DATA_SETS), rng.normal(0, 0.3, (DATA_SETS, n))
    for gap, error, (after, before, *again) in zip(gaps, errors, judgings, strict=True):
        value = gap + after - before
        low, high, p = t_test(value, 1.0, 699, level)
        change = Estimate(value, low, high, 700, level=level, p=p)
        noise = noise_of([(apart, 0.3) for apart in np.array(again) - before + error])
        results.append(with_noise(change, noise, n) if noise else change)
    return share_of(1.5, results)


NOISES = {"no noise": 0.0, "half an error": 0.5, "two errors": 2.0}
RIGHT = {"half": 0.5, "one in seven wrong": 0.86, "two in a hundred wrong": 0.98}


def of_shares(interval, world, n, level):
    rng, share = np.random.default_rng(n), RIGHT[world]
    if (
        interval == "share of grouped answers"
    ):  # three to a premise, which are easy or hard
        right = rng.binomial(3, rng.beta(4 * share, 4 * (1 - share), (DATA_SETS, n)))
        return share_of(
            share, (grouped_share([(k, 3) for k in one]) for one in right.tolist())
        )
    a, b = (rng.random((2, DATA_SETS, n)) < share) * 1.0
    if interval == "share":
        return share_of(share, (mean_interval(one, share=True) for one in a))
    pairs = zip(a, b, strict=True)
    if interval == "paired difference of shares":
        return share_of(
            0.0,
            (
                compare_paired(named(x), named(y), share=True, level=level)
                for x, y in pairs
            ),
        )
    return share_of(
        0.0, (compare_independent(x, y, share=True, level=level) for x, y in pairs)
    )


def lists_of(rng, world, n):
    """Lists of ten of 600 words by Zipf's law; in half of the answers of one world always the same list."""
    lists = np.argsort(
        np.log(np.arange(600) + 3.0) - rng.gumbel(size=(n, 600)), axis=1
    )[:, :10]
    if world == "one list in half":
        lists[rng.random(n) < 0.5] = np.arange(10)
    return lists


def of_words(interval, world, n, level):
    rng, order = np.random.default_rng(n), int(interval[-1])
    large = lists_of(rng, world, 20_000)
    counts = np.bincount(large.ravel())
    size = n // 2 if "in half as many" in interval else n
    truth = hill_number(counts[counts > 0], 20_000, size, order=order)
    if interval.startswith("ratio"):
        sides = ([lists_of(rng, world, n) for _ in "ab"] for _ in range(DATA_SETS))
        return share_of(
            1.0, (hill_ratio(*both, order=order, level=level) for both in sides)
        )
    return share_of(
        truth,
        (
            hill_interval(lists_of(rng, world, n), size, order=order)
            for _ in range(DATA_SETS)
        ),
    )


@cache
def vectors():
    """Of 24 words, and the kinds of each."""
    rng = np.random.default_rng(1)
    unit = rng.normal(size=(24, 8)).astype(np.float32)
    kinds = [frozenset(rng.choice(9, 1 + k % 2).tolist()) for k in range(24)]
    return unit / np.linalg.norm(unit, axis=1, keepdims=True), kinds


def of_parts(interval, world, n, level):
    """Lists of four of 24 words: any four, or one of six for each place. Nothing combines them."""
    unit, kinds = vectors()

    def lists(rng, n):
        if world == "a template":
            return 6 * np.arange(4) + rng.integers(0, 6, (n, 4))
        return rng.permuted(np.tile(np.arange(24), (n, 1)), axis=1)[:, :4]

    rng, found = np.random.default_rng(n), []
    truth = {
        "word choice": float((1 - unit @ unit.T)[~np.eye(24, dtype=bool)].mean()),
        "pairing": 0.0,
    }
    truth["kinds of words"] = float(different(kinds, lists(rng, 200_000)).mean())
    for _ in range(DATA_SETS):
        own = lists(rng, n)
        if interval == "kinds of words":
            counts = different(kinds, own)
            value, error = (
                float(counts.mean()),
                float(counts.std(ddof=1) / math.sqrt(n)),
            )
        else:
            parts, name = decompose(unit, own), interval.replace(" ", "_")
            value, error = getattr(parts, name), getattr(parts, f"{name}_se")
        found.append(Estimate(value, *normal_interval(value, error, 1), n))
    return share_of(truth[interval], found)


def of_seeds(interval, world, n, level):
    draw, mean, deviation = WORLDS[world]
    rng = np.random.default_rng([n, len(world), 3])
    values, base, alike = (
        draw(rng, (DATA_SETS, n)),
        draw(rng, (DATA_SETS, n)),
        rng.normal(0, deviation, (DATA_SETS, n)),
    )
    if interval == "mean over seeds":
        return share_of(mean, (over_seeds(named(one)) for one in values))
    if interval == "difference at the same seeds":
        pairs = zip(values + alike, base + alike, strict=True)
        return share_of(
            0.0, (difference(named(a), named(b), level=level) for a, b in pairs)
        )
    pairs = zip(values, base, strict=True)
    apart = (
        difference(named(a), dict(enumerate(b.tolist(), n)), level=level)
        for a, b in pairs
    )
    return share_of(0.0, apart)


def of_correlations(interval, world, n, level):
    """Of two benchmarks of a world over models; of families, four models of each are nearly alike."""
    from sozo.studies.correlation import pearson

    draw, mean, deviation = WORLDS[world]
    truth, results = float(interval[-3:]), []
    rng = np.random.default_rng([n, len(world), 5])
    for _ in range(DATA_SETS):
        x, error = (draw(rng, (2, n)) - mean) / deviation
        results.append(pearson(x, truth * x + math.sqrt(1 - truth**2) * error))
    return share_of(truth, results)


def of_systems(interval, world, n, level):
    """Of people and a judge within four systems that answer n questions, whose answers one question makes more alike."""
    from sozo.studies.correlation import WITHIN, by_systems

    truth, results = float(interval[-3:]), []
    rng = np.random.default_rng([n, len(world), 6])
    systems, items = np.repeat(range(4), n), np.tile(range(n), 4)
    for _ in range(DATA_SETS // 4):
        mine, shared = rng.normal(size=(2, 2, 4 * n))
        if world == "questions":
            shared = np.tile(rng.normal(size=(2, n)), 4)
        x, error = (mine + shared) / math.sqrt(2)
        y = truth * x + math.sqrt(1 - truth**2) * error
        level_of = np.array([0.0, 1, 1, 3])[systems]
        results.append(by_systems(x + level_of, y + level_of, systems, items)[WITHIN])
    return share_of(truth, results)


def of_raters(interval, world, n, level):
    """Scores from 1 to 4, the higher ones more frequent: a rater gives the unit's own, or one at random."""
    from sozo.studies.rater_agreement import krippendorff_alpha

    raters, truth = int(world[0]), float(world.rpartition(" ")[2])
    rng, results = np.random.default_rng([n, raters]), []
    for _ in range(DATA_SETS):
        own, other = (
            rng.choice(4, shape, p=[0.1, 0.2, 0.4, 0.3]) for shape in (n, (raters, n))
        )
        scores = np.where(rng.random((raters, n)) < np.sqrt(truth), own, other).astype(
            float
        )
        if raters > 2:
            scores[rng.random(scores.shape) < 0.3] = np.nan
        results.append(krippendorff_alpha(scores))
    return share_of(truth, results)


def judged_experts(rng, n, personal):
    """Ratings by n experts, and what a judge predicts that is better at some of them."""
    rows = []
    for k in range(n):
        strict, skill = rng.normal(0, 0.8), rng.uniform(0.2, 0.9)
        worth, other = rng.normal(3, 1, (2, 30))
        known = np.where(rng.random(30) < skill, worth + strict * personal, other)
        sides = (np.clip(np.round(x), 1, 5) for x in (worth + strict, known))
        rows += [(k, score, guess) for score, guess in zip(*sides, strict=True)]
    return pd.DataFrame(rows, columns=["rater", "score", "prediction"])


@cache
def truth_of(way, personal):
    return alpha_of(way, judged_experts(np.random.default_rng(9), 1000, personal)).value


def alpha_of(way, known):
    from sozo.studies.experts.run import alphas

    found = alphas(known, "ordinal", 10)[way]
    return Estimate(found["alpha"], found["low"], found["high"])


def of_experts(interval, world, n, level):
    way = "within" if "within" in interval else "pooled"
    personal, rng = (
        world == "a judge that knows who is strict",
        np.random.default_rng(n),
    )
    data = (judged_experts(rng, n, personal) for _ in range(DATA_SETS // 4))
    return share_of(truth_of(way, personal), (alpha_of(way, known) for known in data))


ANSWERS = ("answers", "questions")
SHARES, SEEDS, LISTS = SIZES[:-1], (3, 5), ("any words", "a template")
RATERS = tuple(
    f"{raters} raters, alpha {alpha}"
    for raters in (2, 4, 9)
    for alpha in (0.0, 0.4, 0.8)
)
EXPERTS = ("a judge that knows who is strict", "a judge that does not")
# Interval -> how a cell is reckoned, worlds, sizes, levels.
ROWS = {
    "mean": (of_scores, WORLDS, SIZES, (0.95,)),
    "mean of seven kinds": (of_kinds, WORLDS, (35, 112, 700), (0.95,)),
    "paired difference": (of_scores, WORLDS, SIZES, (0.95, STRICT)),
    "paired difference of seven kinds": (
        of_kinds,
        WORLDS,
        (35, 112, 700),
        (0.95, STRICT),
    ),
    "independent difference": (of_scores, WORLDS, SIZES, (0.95, STRICT)),
    "difference with the judge's noise": (
        of_judges,
        NOISES,
        (1, 3, 10),
        (0.95, STRICT),
    ),
    "gain": (of_scores, WORLDS, SIZES, (0.95,)),
    "share": (of_shares, RIGHT, SHARES, (0.95,)),
    "share of grouped answers": (of_shares, RIGHT, SHARES, (0.95,)),
    "paired difference of shares": (of_shares, RIGHT, SHARES, (0.95, STRICT)),
    "independent difference of shares": (of_shares, RIGHT, SHARES, (0.95, STRICT)),
    **{
        f"words of order {k}": (
            of_words,
            ("Zipf", "one list in half"),
            (10, 35, 100),
            (0.95,),
        )
        for k in range(3)
    },
    "words in half as many answers, order 0": (
        of_words,
        ("Zipf", "one list in half"),
        (10, 35, 100),
        (0.95,),
    ),
    "ratio of words of order 0": (
        of_words,
        ("Zipf", "one list in half"),
        (10, 35, 100),
        (0.95,),
    ),
    **dict.fromkeys(
        ("word choice", "pairing", "kinds of words"),
        (of_parts, LISTS, (30, 100), (0.95,)),
    ),
    "mean over seeds": (of_seeds, WORLDS, SEEDS, (0.95,)),
    "difference at the same seeds": (of_seeds, WORLDS, SEEDS, (0.95, STRICT)),
    "difference at other seeds": (of_seeds, WORLDS, SEEDS, (0.95, STRICT)),
    "correlation of 0.0": (of_correlations, WORLDS, (5, 10, 20, 35), (0.95,)),
    "correlation of 0.6": (of_correlations, WORLDS, (5, 10, 20, 35), (0.95,)),
    "r within systems of 0.0": (of_systems, ANSWERS, (5, 15, 35), (0.95,)),
    "r within systems of 0.6": (of_systems, ANSWERS, (5, 15, 35), (0.95,)),
    "alpha": (of_raters, RATERS, (10, 30, 60, 120), (0.95,)),
    "alpha within experts": (of_experts, EXPERTS, (5, 8, 12), (0.95,)),
    "alpha pooled over experts": (of_experts, EXPERTS, (5, 8, 12), (0.95,)),
}


def keys():
    """(interval, world, n, level) of every cell, in order."""
    return [
        (i, w, n, level)
        for i, (_, ws, ns, levels) in ROWS.items()
        for level in levels
        for w in ws
        for n in ns
    ]


def cell(interval, world, n, level):
    return round(ROWS[interval][0](interval, world, n, level), 3)


def least_of(level):
    return 0.93 if level == 0.95 else 0.98


RAREST = {
    "bimodal": 0.5,
    "zero-inflated": 0.2,
    "rare kind": 0.03,
    "mostly equal": 0.02,
}  # share of its rarest kind


def cause(interval, world, n, level, held):
    """Why an interval holds the truth less often than it must, or more often than in 97.5%; empty where neither is."""
    if held < least_of(level):
        if world in RAREST:
            pairs = "correlation" in interval  # a pair of benchmarks has kinds of both
            kind, share = (
                ("kind of pair", RAREST[world] ** 2)
                if pairs
                else ("kind", RAREST[world])
            )
            return f"of its rarest {kind}, {100 * share:.3g}%, a sample of {n} holds {n * share:.2g} on average"
        return CAUSES.get(interval, CAUSES["words"])
    if held > 0.975 and level == 0.95:
        if "share" in interval:
            return "so few different counts that no interval holds exactly 95%"
        if "words" in interval:
            return "the jackknife overrates the spread of a number of different words"
        if "correlation" in interval:
            return "the wider of two intervals"
        if "noise" in interval:
            return "the error of single answers is not taken from one repetition"
        if interval == "gain":
            return (
                "the jackknife overrates how far the deviation of a small base is off"
            )
        return (
            "few values differ: their spread is overrated where most samples are alike"
        )
    return ""


CAUSES = {
    "words": "whether few answers hold the one list by chance more or less often moves the number far",
}


def read():
    """The table: (interval, world, n, level) -> coverage, cause."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (r["interval"], r["world"], int(r["n"]), float(r["level"])): (
            float(r["coverage"]),
            r["cause"],
        )
        for r in rows
    }


def write(known):
    whole = TABLE.with_suffix(".new")
    with whole.open("w", encoding="utf-8", newline="") as file:
        rows = [
            (*key, known[key], cause(*key, known[key]))
            for key in keys()
            if key in known
        ]
        csv.writer(file, lineterminator="\n").writerows([FIELDS, *rows])
    whole.replace(TABLE)


if __name__ == "__main__":
    known = {key: coverage for key, (coverage, _) in read().items()}
    chosen = sys.argv[1:]
    for interval in ROWS:
        wanted = [
            key
            for key in keys()
            if key[0] == interval and (interval in chosen or key not in known)
        ]
        for key in wanted if interval in chosen or not chosen else ():
            known[key] = cell(*key)
            write(known)
