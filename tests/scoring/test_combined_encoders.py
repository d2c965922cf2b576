"""Encoders made of others, and people's labels as one: centred, consensus, categories, e5, and how all are named."""

import numpy as np
import pytest

from fakes import FakeEncoder
from sentences import refused
from sozo.data.jumandic import CATEGORIES, categories, domains
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.embeddings.categories import CategoryEncoder
from sozo.scoring.embeddings.derived import (
    CentredEncoder,
    ConsensusEncoder,
    consensus_weights,
    random_lists,
)

A = {"犬": [1, 0], "猫": [0, 2], "水": [1, 0], "山": [1, 1]}
B = {"犬": [5, 0, 0], "猫": [3, 4, 0], "水": [0, 1, 0]}


def score(encoder, words):
    vectors = WordVectors(encoder)
    rows = vectors.rows(words)  # the matrix grows with them
    return float(mean_pairwise_distance(vectors.matrix, np.array([rows]))[0])


def test_a_consensus_scores_the_weighted_mean_of_its_parts_scores():
    words = ["犬", "猫", "水"]
    parts = [
        WordVectors(FakeEncoder(A, "a", "1")),
        WordVectors(FakeEncoder(B, "b", "2")),
    ]
    consensus = ConsensusEncoder(parts, (0.25, 0.75))
    # Their distances are 1, 0, 1 by the one, and 0.4, 1, 0.2 by the other.
    assert score(consensus, words) == pytest.approx(0.25 * 2 / 3 + 0.75 * 1.6 / 3)
    assert (consensus.name, consensus.revision) == ("a+b", "0.2500 * 1 + 0.7500 * 2")
    # A word that one part lacks has no vector.
    assert consensus.encode(["犬", "山", "空"]).any(axis=1).tolist() == [
        True,
        False,
        False,
    ]


def test_each_part_has_an_equal_say():
    # The second encoder's cosines are half of the first one's, and so are its scores' deviations.
    words, rng = [f"犬{k}" for k in range(40)], np.random.default_rng(0)
    first = rng.normal(size=(40, 3)).astype(np.float32)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    halved = np.hstack([first, np.eye(40, dtype=np.float32)])
    parts = [
        WordVectors(FakeEncoder(dict(zip(words, vectors, strict=True))))
        for vectors in (first, halved)
    ]
    assert consensus_weights(parts, words) == (0.3333, 0.6667)


def test_random_lists_are_of_different_words_and_uniform():
    lists = random_lists(20, 4000, seed=0)
    assert lists.shape == (4000, 10)
    assert all(len(set(one)) == 10 for one in lists.tolist())
    counts = np.bincount(lists.ravel(), minlength=20)
    # Each list holds a word with probability 1/2.
    assert abs(counts - 2000).max() < 5 * (4000 * 0.25) ** 0.5
    np.testing.assert_array_equal(lists, random_lists(20, 4000, seed=0))


def test_centred_takes_the_mean_of_the_nouns_out():
    # Unit vectors (1, 0), (0, 1), (1, 0): their mean is (2/3, 1/3). 空 has no vector, and does not count.
    centred = CentredEncoder(
        WordVectors(FakeEncoder(A, "a", "1")), ["犬", "猫", "水", "空"]
    )
    expected = [[-2 / 3, 2 / 3], [0, 0], [1 / 3, -1 / 3]]
    np.testing.assert_allclose(centred.encode(["猫", "空", "犬"]), expected, atol=1e-6)
    assert score(centred, ["犬", "猫"]) == pytest.approx(2)
    assert (centred.name, centred.revision) == ("centred:a", "1-4-nouns")


def test_categories_are_what_people_say():
    assert categories("林檎") == {"植物", "人工物-食べ物"}
    assert categories("犬") == {"動物"}
    assert categories("海") == {"場所-自然", "自然物"}
    assert categories("参") == {"抽象物", "数量"}  # of two entries
    assert categories("東京") == categories("走る") == frozenset()
    assert (domains("法律"), domains("犬")) == ({"政治"}, frozenset())


def test_nearly_every_noun_has_a_category_and_every_category_an_axis(nouns):
    labels = [categories(noun) for noun in nouns]
    assert sum(map(bool, labels)) == 22_125
    assert frozenset.union(*labels) == set(CATEGORIES)


def test_categories_as_an_encoder():
    encoder = CategoryEncoder()
    assert encoder.encode(["林檎", "東京"]).sum(axis=1).tolist() == [2, 0]
    assert score(encoder, ["松", "林檎"]) == pytest.approx(1 - 0.5**0.5)
    # 犬 猫 are of one kind, 法律 数学 音楽 of another: four pairs of ten are alike.
    assert score(encoder, ["犬", "猫", "法律", "数学", "音楽"]) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("name", "texts", "row"),
    [
        *((name, False, "no name") for name in ("e5+", "")),
        *((name, True, "of words") for name in ("categories", "centred:e5", "e5+e5")),
        ("e5", False, "no package"),
    ],
)
def test_what_cannot_be_is_refused(name, texts, row, monkeypatch):
    monkeypatch.setattr("sozo.data.errors.find_spec", lambda name: None)
    with refused(f"embeddings: {row}"):
        make_encoder(name, texts=texts)
