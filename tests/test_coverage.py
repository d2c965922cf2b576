"""A 95% interval covers 93% to 97% of the time, in the worlds that stand here; one of a share at least 93%."""

import math

import numpy as np
import pytest

import coverage_table
from sozo.scoring.measure import Estimate, normal_interval
from sozo.scoring.second_encoder import gain
from sozo.scoring.statistics import compare_independent, compare_paired, mean_interval
from sozo.scoring.statistics.comparison import base_variance, shared_by_item
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.tasks.dat.decomposition import decompose

TRIALS = 2000  # the standard error of a coverage of 95% is 0.5 points
SIZES = (5, 10, 35, 113)
JUDGE = np.arange(1.0, 5.1, 0.25)  # means of four scores
JUDGED = np.exp(-((JUDGE - 3.4) ** 2))
JUDGED /= JUDGED.sum()


def normal(rng, n):
    return rng.normal(0.9, 0.011, n)  # DAT scores of a tuned model


def skewed(rng, n):
    return 1 - rng.beta(8, 40, n)  # DAT scores of a base model: a tail of near words


def judged(rng, n):
    return rng.choice(JUDGE, n, p=JUDGED)


def rated(rng, n):
    return rng.integers(1, 6, n).astype(float)


WORLDS = {normal: 0.9, skewed: 1 - 8 / 48, judged: float(JUDGE @ JUDGED), rated: 3.0}


def coverage(truth, interval, trials=TRIALS):
    """How often `interval(rng)` holds the truth; one that is not given does not count."""
    rng = np.random.default_rng(0)
    results = [interval(rng) for _ in range(trials)]
    printed = [
        result for result in results if result is not None and result.low is not None
    ]
    assert len(printed) > 0.9 * trials
    return np.mean([result.low <= truth <= result.high for result in printed])


def by_item(values):
    return dict(enumerate(values.tolist()))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("world", WORLDS)
def test_means(world, n):
    if (world, n) == (rated, 5):
        assert (
            mean_interval([1, 2, 2, 4, 5]).reason
            == "5 whole scores: an interval needs 10"
        )
        return
    assert (
        0.93
        <= coverage(WORLDS[world], lambda rng: mean_interval(world(rng, n)))
        <= 0.97
    )


@pytest.mark.parametrize(
    "answers", [1, 3]
)  # to each story, which differ in how easy they are
@pytest.mark.parametrize("share", [0.05, 0.5, 0.86, 0.98])
@pytest.mark.parametrize("n", SIZES)
def test_shares(share, n, answers):
    def interval(rng):
        stories = rng.beta(4 * share, 4 * (1 - share), n)
        return mean_interval(rng.binomial(answers, stories) / answers, share=True)

    assert coverage(share, interval) >= 0.93


@pytest.mark.parametrize("world", ["mean", "criterion", "ties"])
@pytest.mark.parametrize("n", SIZES)
def test_paired_differences(n, world):
    """Of means over criteria; of whole scores from 1 to 5; of a judge who gives both the same four times in ten."""

    def interval(rng):
        if world == "ties":
            gap = rng.choice(
                [-2.0, -1.0, 0.0, 1.0, 2.0], n, p=[0.05, 0.15, 0.4, 0.3, 0.1]
            )
            return compare_paired(dict.fromkeys(range(n), 3.0), by_item(3.0 + gap))
        digits = 0 if world == "criterion" else 2
        questions = rng.normal(0, 0.6, n)  # hard for both
        sides = [
            np.round(3 + lift + questions + rng.normal(0, 0.6, n), digits)
            for lift in (0.0, 0.3)
        ]
        return compare_paired(*map(by_item, sides))

    if n == 5 and world != "mean":
        assert (
            interval(np.random.default_rng(0)).reason
            == "5 whole scores: an interval needs 10"
        )
        return
    truth = 0.25 if world == "ties" else 0.3
    assert 0.93 <= coverage(truth, interval) <= 0.97


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.6), (0.86, 0.95), (0.98, 0.98)])
@pytest.mark.parametrize("n", SIZES)
def test_differences_of_shares(n, p, q):
    def paired(rng):
        both = rng.random(n)
        return compare_paired(
            by_item((both < p) + 0.0), by_item((both < q) + 0.0), share=True
        )

    def independent(rng):
        return compare_independent(rng.random(n) < p, rng.random(2 * n) < q, share=True)

    assert coverage(q - p, paired) >= 0.93
    assert coverage(q - p, independent) >= 0.93


@pytest.mark.parametrize("world", ["normal", "skewed"])
@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 10), (10, 100), (100, 100)])
def test_independent_differences_of_unequal_spread(n, m, world):
    def interval(rng):
        base = rng.normal(1 - 8 / 48, 0.035, n) if world == "normal" else skewed(rng, n)
        return compare_independent(base, normal(rng, m))

    assert 0.93 <= coverage(0.9 - (1 - 8 / 48), interval) <= 0.97


@pytest.mark.parametrize(("n", "m"), [(10, 10), (10, 100)])
def test_independent_differences_of_whole_scores(n, m):
    assert (
        0.93
        <= coverage(0.0, lambda rng: compare_independent(rated(rng, n), rated(rng, m)))
        <= 0.97
    )
    assert compare_independent([1, 2, 5], range(99)).low is None


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("template", [False, True])
def test_parts_of_a_dat_mean(template, n):
    """Lists of four of 24 words: any four, or one of six for each place. Nothing combines them."""
    unit = np.random.default_rng(1).normal(size=(24, 8)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    choice = float((1 - unit @ unit.T)[~np.eye(24, dtype=bool)].mean())

    def lists(rng):
        if template:
            return 6 * np.arange(4) + rng.integers(0, 6, (n, 4))
        return rng.permuted(np.tile(np.arange(24), (n, 1)), axis=1)[:, :4]

    def interval(rng, part):
        parts = decompose(unit, lists(rng))
        value, error = getattr(parts, part), getattr(parts, f"{part}_se")
        return Estimate(value, *normal_interval(value, error, 1), n)

    for part, truth in (("word_choice", choice), ("pairing", 0.0)):
        assert (
            0.93
            <= coverage(truth, lambda rng, part=part: interval(rng, part), trials=1000)
            <= 0.97
        )


@pytest.mark.parametrize("base", ["normal", "skewed", "tailed"])
@pytest.mark.parametrize("n", [35, 113, 2000])
def test_gains_in_deviations_of_the_base(base, n):
    """A gain of three deviations over a base whose own deviation has to be estimated from its tail."""
    draw = {
        "normal": lambda rng: rng.normal(0, 1, n),
        "skewed": lambda rng: (
            (8 / 48 - rng.beta(8, 40, n)) / math.sqrt(8 * 40 / 48**2 / 49)
        ),
        "tailed": lambda rng: rng.standard_t(5, n) / math.sqrt(5 / 3),
    }[base]
    trials = TRIALS if n < 2000 else 500
    assert (
        0.92
        <= coverage(3.0, lambda rng: gain(draw(rng), rng.normal(3, 0.5, n)), trials)
        <= 0.97
    )


def test_a_mean_over_fixed_kinds_of_questions_covers_as_often_as_it_says():
    """Seven tasks of 100 questions each, which differ: other questions of these tasks, and no other tasks."""
    kinds, levels = np.repeat(np.arange(7), 100), np.linspace(2.2, 4.4, 7)

    def interval(rng, **strata):
        return mean_interval(
            np.clip(levels[kinds] + rng.normal(0, 0.5, 700).round(2), 1, 5), **strata
        )

    truth = float(
        np.mean(
            [
                interval(np.random.default_rng(k), strata=kinds).value
                for k in range(4000)
            ]
        )
    )
    assert coverage(truth, interval) > 0.99
    assert 0.93 <= coverage(truth, lambda rng: interval(rng, strata=kinds)) <= 0.97


@pytest.mark.parametrize("seeds", [3, 5])
def test_means_and_differences_over_seeds(seeds):
    def mean(rng):
        return over_seeds(by_item(rng.normal(0.9, 0.002, seeds)))

    def gap(rng):
        own = rng.normal(0, 0.001, seeds)  # what a seed does to both
        return difference(
            *(by_item(own + rng.normal(m, 0.002, seeds)) for m in (0.92, 0.9))
        )

    assert 0.93 <= coverage(0.9, mean) <= 0.97
    assert 0.93 <= coverage(0.02, gap) <= 0.97


@pytest.mark.parametrize("share", [0.86, 0.98])
@pytest.mark.parametrize("answers", [100, 1000])
def test_shares_over_seeds(answers, share):
    for seeds in (3, 5):
        given = coverage(
            share,
            lambda rng, n=seeds: over_seeds(
                by_item(rng.binomial(answers, share, n) / answers)
            ),
        )
        assert given >= 0.93


@pytest.mark.parametrize("seeds", [(3, 3), (3, 5), (5, 5)])
def test_differences_over_seeds_without_partners(seeds):
    def gap(rng):
        a, b = (
            rng.normal(m, 0.002, n).tolist()
            for m, n in zip((0.92, 0.9), seeds, strict=True)
        )
        return difference(dict(enumerate(a)), dict(enumerate(b, 100)))

    assert 0.93 <= coverage(0.02, gap) <= 0.97
    assert difference({0: 1.0, 1: 2.0}, {2: 1.0, 3: 2.0}).low is None


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize(
    "spread", [0, 1, 3]
)  # of trainings, in errors of a run of 100 answers
def test_differences_from_one_run_of_a_base(seeds, spread):
    """What five gaps say alone holds the truth in two of three cases, since all have the error of that run."""

    def gaps(rng):
        base = rng.normal(0, 1, 100)
        means = rng.normal(0, spread / 10, seeds) + rng.normal(0, 1, (seeds, 100)).mean(
            1
        )
        return by_item(means - base.mean()), (base_variance(base), 100)

    def interval(rng):
        values, shared = gaps(rng)
        return over_seeds(values, shared=shared)

    assert 0.93 <= coverage(0.0, interval) <= (0.97 if seeds == 5 else 1)
    if (seeds, spread) == (5, 0):
        assert coverage(0.0, lambda rng: over_seeds(gaps(rng)[0])) < 0.75


@pytest.mark.parametrize(
    "taste", [0.0, 0.6]
)  # what a method does better on some questions, whatever its seed
@pytest.mark.parametrize("strata", [False, True])
def test_differences_from_one_run_paired_by_item(strata, taste):
    kinds = {k: str(k % 7) for k in range(35)} if strata else None

    def interval(rng):
        questions = rng.normal(0, 0.6, 35) + np.arange(35) % 7
        base, own = (
            questions + rng.normal(0, 0.6, 35),
            questions + rng.normal(0, taste, 35),
        )
        models = own + rng.normal(0, 0.05, (5, 1)) + rng.normal(0, 0.6, (5, 35))
        shared = shared_by_item(
            [(by_item(base), by_item(model)) for model in models], strata=kinds
        )
        return over_seeds(by_item((models - base).mean(1)), shared=shared)

    assert 0.93 <= coverage(0.0, interval) <= 0.97


@pytest.mark.studies
@pytest.mark.parametrize("n", [5, 10, 73])
@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_correlations(rho, n):
    from sozo.studies.correlation import pearson

    def interval(rng):
        x = rng.normal(size=n)
        return pearson(x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n))

    # The wider of two intervals: of few pairs the jackknife's is too wide.
    assert 0.93 <= coverage(rho, interval) <= (0.995 if n < 20 else 0.97)


@pytest.mark.studies
@pytest.mark.parametrize("raters", [2, 4, 9])
@pytest.mark.parametrize("n", [70, 120])
@pytest.mark.parametrize(("agree", "truth"), [(0.0, 0.0), (0.4, 0.4), (0.8, 0.8)])
def test_agreement_of_raters(n, raters, agree, truth):
    """Of scores from 1 to 4, the higher ones more frequent: a rater gives the unit's own, or one at random."""
    from sozo.studies.rater_agreement import krippendorff_alpha

    def interval(rng):
        own, other = (
            rng.choice(4, shape, p=[0.1, 0.2, 0.4, 0.3]) for shape in (n, (raters, n))
        )
        scores = np.where(rng.random((raters, n)) < np.sqrt(agree), own, other).astype(
            float
        )
        if raters > 2:
            scores[rng.random(scores.shape) < 0.3] = np.nan
        return krippendorff_alpha(scores)

    # Both of two raters give the unit's own score with a chance of `agree`: that is alpha at every level.
    assert 0.93 <= coverage(truth, interval, 1000) <= 0.97


@pytest.mark.slow
@pytest.mark.studies
@pytest.mark.parametrize("personal", [False, True])
@pytest.mark.parametrize("experts", [5, 8, 12])
def test_agreement_with_experts(experts, personal):
    """Within experts and pooled, of a judge that is better at some; `personal`: it knows how strict each one is."""
    from sozo.studies.experts.analysis import pooled, within
    from sozo.studies.experts.rated import Rated

    def world(rng, number):
        ratings, predicted = [], {}
        for k in range(number):
            strict, skill = rng.normal(0, 0.8), rng.uniform(0.2, 0.9)
            worth, other = rng.normal(3, 1, (2, 30))
            known = np.where(rng.random(30) < skill, worth + strict * personal, other)
            scores, guesses = (
                np.clip(np.round(x), 1, 5).astype(int).tolist()
                for x in (worth + strict, known)
            )
            for i in range(30):
                ratings.append(
                    Rated(f"r{k}", f"i{k}-{i}", f"p{i}", "d", "c", scores[i], "")
                )
                predicted[ratings[-1].id] = guesses[i]
        return ratings, predicted

    large = world(np.random.default_rng(9), 2000)
    for measured in (within, pooled):
        truth = measured(*large, "ordinal", 10).alpha
        assert (
            0.93
            <= coverage(
                truth, lambda rng, of=measured: of(*world(rng, experts), "ordinal", 10)
            )
            <= 0.97
        )


def test_the_table_has_every_interval_and_names_what_covers_otherwise_than_it_says():
    table = coverage_table.read()
    assert list(table) == coverage_table.keys()
    for (interval, world, n, level), (held, cause) in table.items():
        assert cause == coverage_table.cause(interval, world, n, level, held)
        enough = held >= coverage_table.least_of(level) and (
            held <= 0.975 or level != 0.95
        )
        assert bool(cause) != enough, (interval, world, n)
        # Where nothing is rare, every interval covers: what is less is a kind that the sample hardly holds.
        if world in ("normal", "skewed", "grouped", "half", "Zipf"):
            assert held >= coverage_table.least_of(level), (interval, world, n)


@pytest.mark.slow
@pytest.mark.parametrize("interval", coverage_table.ROWS)
def test_the_table_is_made_by_these_intervals(interval):
    """The first and the last cell of each interval; python tests/coverage_table.py makes the whole table."""
    table = coverage_table.read()
    own = [key for key in table if key[0] == interval]
    for key in (own[0], own[-1]):
        assert coverage_table.cell(*key) == pytest.approx(table[key][0], abs=0.01)
