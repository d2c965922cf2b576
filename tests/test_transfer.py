"""The transfer matrix's estimates, attacked on rows that are known: nothing planted, and a transfer of known size."""

import numpy as np
import pytest

from sozo.scoring.measure import Measure
from study.transfer import FEWEST, Column, Matrix, TransferClaim, make_column

ROWS = ("none", "dat", "cue_dat", "kana_dat", "chain", "kanji", "mix", "form only")
COLUMNS = ("dat", "cue_dat", "kana_dat", "chain", "kanji")
CLAIM = TransferClaim(name="transfer", rows=["dat", "cue_dat", "kana_dat", "chain"], columns=["kanji", "chain"])
# Of one training; an answer's is ten times that.
SIZES = {"dat": 0.01, "cue_dat": 0.002, "kana_dat": 0.01, "chain": 0.03, "kanji": 0.05}


def matrix(columns, claim=CLAIM, **options):
    return Matrix(ROWS, (1, 2, 3, 4, 5), "form only", columns, claim, **options)


def drawn(random, planted=0.0, rows=("dat", "cue_dat", "kana_dat", "chain")):
    """Rows that differ by chance only, on seeds of different levels; `planted` sds are added to `rows`."""
    columns = {}
    for name in COLUMNS:
        noise = random.standard_normal((len(ROWS), 5)) + 3 * random.standard_normal(5)
        for row in rows:
            noise[ROWS.index(row)] += planted * (row != name)
        columns[name] = Column(0.5 + SIZES[name] * noise, np.ones(noise.shape), 400, Measure(name), 10 * SIZES[name])
    return matrix(columns)


def test_an_effect_by_hand():
    """Two trained rows and the baseline on two seeds: the residuals are worked out on paper."""
    values = np.array([[0.0, 9.0], [3.0, 6.0], [1.0, 2.0]])
    column = Column(values, np.ones((3, 2)), 100, Measure("chain"), 0.5)
    claim = TransferClaim(name="x", rows=["dat"], columns=["chain"])
    told = Matrix(("none", "dat", "form only"), (1, 2), "form only", {"chain": column}, claim)
    # Of the trained rows: means 4.5 and 1.5, seeds 2 and 4, all 3; residuals -+0.5; their squares 1 by (2-1)(2-1).
    assert told.spread("chain") == pytest.approx((1.0, 1))
    effect = told.effect("dat", "chain")
    assert effect.interval.mean == 3.0
    # The standard error is sqrt(2 / 2); t with one degree of freedom is 12.706 at 97.5% and 1.376 at 80%.
    assert effect.interval.high == pytest.approx(3 + 12.706, abs=1e-3)
    assert effect.smallest == pytest.approx(12.706 + 1.376, abs=1e-3)
    assert told.by_seed == {1: pytest.approx(4.0), 2: pytest.approx(8.0)}


def test_nothing_planted_is_found_as_often_as_chance_has_it():
    random = np.random.default_rng(0)
    told = [drawn(random).found for _ in range(2000)]
    held = np.mean([interval.low > 0 for interval in told])
    opposite = np.mean([interval.high < 0 for interval in told])
    assert 0.015 < held < 0.035
    assert 0.015 < opposite < 0.035


def test_a_cells_interval_covers_and_what_could_be_seen_is_seen_in_four_of_five():
    random, hits, seen = np.random.default_rng(1), [], []
    for _ in range(1000):
        effect = drawn(random).effect("dat", "kanji").interval
        hits.append(effect.low < 0 < effect.high)
    smallest = np.mean([drawn(random).effect("dat", "kanji").smallest for _ in range(50)])
    for _ in range(1000):
        effect = drawn(random, smallest / SIZES["kanji"], ["dat"]).effect("dat", "kanji").interval
        seen.append(effect.low > 0)
    assert 0.93 < np.mean(hits) < 0.97
    assert 0.75 < np.mean(seen) < 0.85


def test_a_planted_transfer_is_found_with_its_size():
    random = np.random.default_rng(2)
    told = [drawn(random, 2.0).found for _ in range(300)]
    assert np.mean([interval.mean for interval in told]) == pytest.approx(0.2, rel=0.1)
    assert np.mean([interval.low > 0 for interval in told]) > 0.8
    assert drawn(random, 4.0).verdict == ("held", "")
    assert drawn(random, -4.0).verdict == ("failed", "")


def test_a_row_of_too_few_valid_answers_and_a_column_that_is_no_control_carry_no_claim():
    random = np.random.default_rng(3)
    told = drawn(random, 4.0)
    told.columns["chain"].values[1, 2] = np.nan
    assert told.effect("dat", "chain") is None
    assert told.verdict == ("cannot be said", "dat has too few valid answers to chain")
    low = drawn(random, 4.0)
    low = matrix(low.columns, controls={"kanji": 0.9})
    assert low.verdict[0] == "cannot be said"
    assert low.verdict[1].startswith("the untrained row has kanji 0.4") or "no control" in low.verdict[1]


def test_a_share_of_the_diagonal():
    random = np.random.default_rng(4)
    told = drawn(random)
    for name in COLUMNS:
        told.columns[name].values[ROWS.index(name)] += 20 * SIZES[name]
        told.columns[name].values[ROWS.index("mix")] += 10 * SIZES[name]
    assert told.effect("mix", "dat").of_diagonal == pytest.approx(0.5, abs=0.1)
    assert told.effect("dat", "dat").of_diagonal is None  # it is the diagonal
    assert drawn(random).effect("mix", "dat").of_diagonal is None  # the diagonal itself is not above 0


def test_values_are_means_of_equally_many_valid_answers():
    random = np.random.default_rng(5)
    scores = {(0, 0): random.normal(1, 0.1, 80), (0, 1): random.normal(1, 0.1, 60), (1, 0): random.normal(3, 0.1, 500)}
    scores[1, 1] = random.normal(3, 0.1, FEWEST - 1)
    told = make_column(Measure("chain"), scores, np.full((2, 2), 0.5))
    assert told.n == 60
    assert told.values[0] == pytest.approx([1, 1], abs=0.05)
    assert told.values[0, 1] == pytest.approx(scores[0, 1].mean())
    assert told.values[1, 0] != scores[1, 0].mean()
    assert np.isnan(told.values[1, 1])
    assert told.sd == pytest.approx(0.1, abs=0.01)
