"""The frontier: lists drawn with p ~ exp(strength x score), against enumeration, from two starts, as a generator."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from fakes import AXES, axis_encoder
from sentences import refused
from sozo.data.nouns import tiny_nouns
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task
from sozo.models.nouns import FrontierNouns
from sozo.models.settings import GeneratorSettings, resolve
from sozo.models.tiny import noun_vectors
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors
from sozo.tasks.dat import frontier
from sozo.tasks.dat.frontier import NounFrontier, free_lists, independent_words
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from writers import load_generator


def unit_vectors(n, dimensions, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(n, dimensions)) + 0.3
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def tiny():
    return noun_vectors(tiny_nouns())


# The sampler


@pytest.mark.parametrize("group", [256, 4], ids=["among all", "in groups"])
def test_lists_are_drawn_as_enumeration_says(group, monkeypatch):
    monkeypatch.setattr(frontier, "_GROUP", group)
    unit, strength, count = unit_vectors(14, 4), 4.0, 20_000
    lists = free_lists(unit, strength, count, np.random.default_rng(1), size=3)
    every = list(combinations(range(14), 3))
    weights = np.exp(
        strength * mean_pairwise_distance(unit, np.array(every)).astype(np.float64)
    )
    number = {words: k for k, words in enumerate(every)}
    seen = np.bincount(
        [number[tuple(sorted(words))] for words in lists.tolist()], minlength=len(every)
    )
    expected = count * weights / weights.sum()
    assert (
        expected.max() > 20 * expected.min()
    )  # it is not the uniform distribution that is found again
    assert expected.min() > 1
    assert chisquare(seen, expected).pvalue > 0.001
    # Order says nothing: each word is equally often in every place.
    for word in range(14):
        assert chisquare((lists == word).sum(axis=0)).pvalue > 0.0001


def test_two_starts_agree(tiny):
    # Begun far too far apart, among few words: above, where lists begun at random are below.
    rng, few = (
        np.random.default_rng(0),
        np.argsort(-independent_words(tiny, 4000.0))[:400],
    )
    far = few[free_lists(tiny[few], 4000.0, 256, rng)]
    assert mean_pairwise_distance(tiny, far).mean() > 0.97
    ends = [
        mean_pairwise_distance(
            tiny, free_lists(tiny, 500.0, 256, rng, start=start)
        ).mean()
        for start in (None, far)
    ]
    # The standard error of the difference is 0.0007.
    assert ends[0] == pytest.approx(ends[1], abs=0.0022)


def test_no_word_stands_twice_in_a_list():
    # Eleven words, and the strongest pull towards two of them.
    unit = np.eye(11, dtype=np.float32)
    unit[2:] = unit[0]
    lists = free_lists(unit, 1e5, 50, np.random.default_rng(0))
    assert all(len(set(words)) == 10 for words in lists.tolist())
    assert (lists == 1).any(axis=1).all()


# Independent words


def test_the_independent_frontier_is_a_fixed_point(tiny):
    for unit, strength in ((unit_vectors(14, 4), 50.0), (tiny, 300.0), (tiny, 3000.0)):
        p = independent_words(unit, strength)
        exponents = -2 * strength / 10 * (unit @ (p @ unit))
        expected = np.exp(exponents - exponents.max())
        assert p == pytest.approx(expected / expected.sum(), rel=1e-4, abs=1e-12)
    assert independent_words(tiny, 0.0) == pytest.approx(1 / 6144)


# As a generator


def test_a_batch_is_a_function_of_seed_and_number():
    nouns = NounFrontier(AXES, WordVectors(axis_encoder()))
    one, two = (FrontierNouns(nouns, 100.0, name="frontier") for _ in range(2))
    two.answer(["?"] * 3, seed=0, batch=7)
    first = one.answer(["?"] * 20, seed=0, batch=1)
    assert first == two.answer(["!"] * 20, seed=0, batch=1)
    assert first != one.answer(["?"] * 20, seed=0, batch=2)
    assert first != one.answer(["?"] * 20, seed=1, batch=1)


def test_a_table_of_the_frontier(tmp_path):
    nouns = tmp_path / "nouns.txt"
    nouns.write_text(
        "\n".join([*tiny_nouns()[:400], "ヷヷヷ"]), "utf-8"
    )  # the last has no vector
    means = {}
    for strength in (0.0, 300.0):
        task = Dat(DatSettings(noun_checker="jumandic"))
        generator = GeneratorSettings("frontier", strength=strength, nouns=str(nouns))
        run = run_task(
            task, generator, SamplingOptions(num_answers=64), tmp_path / str(strength)
        )
        means[strength] = run.metrics["measures"]["dat"]["value"]
        assert run.metrics["usable"] == 64
    assert means[300.0] > means[0.0] + 0.01
    decoder = (tmp_path / "300.0" / "config.json").read_text("utf-8")
    for text in (
        '"strength": 300.0',
        '"nouns": 400',
        '"nouns_without_vector": 1',
        '"embedding_model": "ja-ginza"',
    ):
        assert text in decoder


@pytest.mark.parametrize(
    ("said", "model", "settings"),
    [
        ("frontier: no strength", "frontier", {}),
        ("frontier: a strength of another", "random", {"strength": 1.0}),
        ("frontier: an encoder of another", "tiny", {"frontier_encoder": "ja-ginza"}),
    ],
)
def test_settings_of_a_frontier_that_cannot_be_meant_are_refused(said, model, settings):
    with refused(said):
        resolve(GeneratorSettings(model, **settings))


def test_without_a_task_or_enough_nouns_there_is_no_frontier():
    with refused("frontier: none here"):
        load_generator(GeneratorSettings("frontier", strength=1.0))
    with refused("frontier: too few nouns"):
        NounFrontier(AXES[:10], WordVectors(axis_encoder()))
