"""A second encoder: a gain in standard deviations by hand, a table and a page with it, and what it does not see."""

import numpy as np
import pytest
from scipy import stats

from fakes import FakeEncoder
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.embeddings.derived import CentredEncoder
from sozo.scoring.second_encoder import SecondEncoder, SeenLists, gain, parts_of


def test_a_gain_in_the_bases_standard_deviations():
    # Means 2.5 and 4, the base's deviation 1.29: its jackknife by hand, leaving each of the four out.
    base, scores = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0])
    result = gain(base, scores)
    assert result.value == pytest.approx(1.5 / base.std(ddof=1))
    left = np.array(
        [
            (4 - np.delete(base, k).mean()) / np.delete(base, k).std(ddof=1)
            for k in range(4)
        ]
    )
    parts = 3 * left.var(), 1 / 3 / base.var(ddof=1)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2)
    assert result.high - result.value == pytest.approx(
        stats.t.ppf(0.975, freedom) * sum(parts) ** 0.5
    )
    assert result.value - result.low == pytest.approx(result.high - result.value)
    assert (result.n, result.base_n) == (3, 4)


def test_no_gain_without_spread_or_scores():
    for base, scores in (([1, 1], [3, 4]), ([1], [3, 4]), ([1, 2], [])):
        assert gain(np.array(base, float), np.array(scores, float)) is None


WORDS = [f"犬{k}" for k in range(30)]


@pytest.fixture
def second(monkeypatch):
    # Ten words on the first axis, ten on the second, ten on axes of their own; one more has no vector.
    vectors = np.vstack(
        [np.tile(np.eye(12)[axis], (10, 1)) for axis in (0, 1)] + [np.eye(12)[2:]]
    )
    encoder = FakeEncoder(dict(zip(WORDS, vectors, strict=True)), "second")
    monkeypatch.setattr(
        "sozo.scoring.second_encoder.make_encoder", lambda name, **_: encoder
    )
    return SecondEncoder("second", WORDS)


def test_the_second_encoder_scores_lists_that_it_knows(second):
    # All alike; half and half, so that 25 of 45 pairs differ; all different; nine alike, and one that it lacks.
    lists = [WORDS[:10], [*WORDS[:5], *WORDS[10:15]], WORDS[20:], [*WORDS[:9], "空"]]
    np.testing.assert_allclose(second.scores(lists), [0, 25 / 45, 1, 0], atol=1e-6)
    assert second.scores([]).shape == (0,)


def parts_over(second_encoder, lists, base):
    return SeenLists.from_lists(second_encoder, WORDS, lists).over(
        SeenLists.from_lists(second_encoder, WORDS, base)
    )


def test_a_gain_taken_apart_is_in_the_deviations_of_the_centred_scores(second):
    rng = np.random.default_rng(0)
    base = np.array([rng.choice(30, 3, replace=False) for _ in range(300)])
    # A word of each of the three kinds, in random places: nothing but pairing, for 30 words come equally often.
    kinds = np.array(
        [
            [rng.integers(10), 10 + rng.integers(10), 20 + rng.integers(10)]
            for _ in range(300)
        ]
    )
    found = parts_over(second, rng.permuted(kinds, axis=1), base)
    parts = [part.value for part in (found.word_choice, found.position, found.pairing)]
    assert sum(parts) == pytest.approx(found.centred.value, abs=1e-4)
    assert found.pairing.low > 0.3
    assert abs(found.shuffled.value) < 0.1 < found.total.value
    assert found.known_pairs == 1
    # The same in fixed places is a template.
    template = parts_over(second, kinds, base)
    assert template.position.low > 0.3
    assert template.pairing.low < 0 < template.pairing.high


def test_of_a_list_with_an_unknown_word_the_other_pairs_count(second):
    lists = np.array([[0, 1, 10], [0, 11, 20], [1, 2, 30], [30, 30, 12]])
    lists[3, 0] = 31
    parts = parts_of(second.unit([*WORDS, "空", "無"]), lists)
    # Pairs at distance 0 or 1: 2 of 3, 3 of 3, 0 of 1, none.
    assert parts.known_pairs == pytest.approx(7 / 12)
    assert parts.values[0] == pytest.approx(5 / 7)
    np.testing.assert_allclose(parts.scores, [2 / 3, 1, 0], atol=1e-6)
    # The last list does not count. Between lists the known words of two, without equal ones.
    axis = np.array([0] * 10 + [1] * 10 + list(range(2, 12)))
    words = [[word for word in of if word < 30] for of in lists]
    pairs = [
        (a, b)
        for i in range(3)
        for j in range(i)
        for a in words[i]
        for b in words[j]
        if a != b
    ]
    assert parts.values[1] == pytest.approx(
        np.mean([axis[a] != axis[b] for a, b in pairs])
    )


def test_an_encoder_that_is_centred_already_is_centred_once(second, monkeypatch):
    plain = second.unit(WORDS, centred=True)
    twice = CentredEncoder(WordVectors(second.encoder), WORDS[:15])
    monkeypatch.setattr(
        "sozo.scoring.second_encoder.make_encoder", lambda name, **_: twice
    )
    np.testing.assert_array_equal(
        SecondEncoder("centred:second", WORDS).unit(WORDS, centred=True), plain
    )


def test_lists_that_cannot_be_meant_are_an_error(second):
    with pytest.raises(ValueError, match="lists of as many words"):
        SecondEncoder("second").scores(["犬猫", "鳥魚"])
