"""What lists tell beside their mean: decomposition and Hill numbers against brute force, categories, loopholes."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from sozo.scoring.second_encoder import decompose
from sozo.scoring.statistics.hill import hill_interval, hill_number
from sozo.tasks.dat.shuffle import shuffle_lists


def unit_vectors(count, dimensions=5, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def by_brute_force(unit, lists):
    """Mean, word choice, position and pairing over every pair of words, one by one."""

    def distance(a, b):
        return 1 - float(unit[a].astype(float) @ unit[b].astype(float))

    mean = np.mean([distance(a, b) for one in lists for a, b in combinations(one, 2)])
    places = range(lists.shape[1])
    others = [(i, j) for i, j in product(range(len(lists)), repeat=2) if i != j]
    pairs = [
        (lists[i, k], lists[j, m], k != m)
        for i, j in others
        for k, m in product(places, places)
    ]
    different = [(distance(a, b), moved) for a, b, moved in pairs if a != b]
    choice, placed = (
        np.mean([d for d, _ in different]),
        np.mean([d for d, moved in different if moved]),
    )
    return np.array([mean, choice, placed - choice, mean - placed])


def parts(decomposition):
    return [
        decomposition.mean,
        decomposition.word_choice,
        decomposition.position,
        decomposition.pairing,
    ]


def errors(decomposition):
    return [
        getattr(decomposition, f"{name}_se")
        for name in ("mean", "word_choice", "position", "pairing")
    ]


def test_decomposition_and_jackknife_against_brute_force():
    rng, unit = np.random.default_rng(1), unit_vectors(9)
    lists = np.stack([rng.choice(9, 4, replace=False) for _ in range(7)])
    left_out = np.array(
        [by_brute_force(unit, np.delete(lists, i, axis=0)) for i in range(7)]
    )
    found = decompose(unit, lists)
    assert parts(found) == pytest.approx(by_brute_force(unit, lists), abs=1e-6)
    assert errors(found) == pytest.approx(np.sqrt(6 * left_out.var(axis=0)), rel=1e-4)
    assert found.mean == pytest.approx(
        found.word_choice + found.position + found.pairing
    )


def test_a_template_is_position_and_a_pair_that_belongs_together_is_pairing():
    rng, kinds = np.random.default_rng(0), 3
    # Ninety words of three kinds, at distance 1 from each other and 0 within a kind.
    unit = np.repeat(np.eye(kinds, dtype=np.float32), 30, axis=0)
    template = np.stack(
        [rng.integers(0, 30, 400) + 30 * k for k in range(kinds)], axis=1
    )
    found = decompose(unit, template)
    assert found.mean == 1
    assert found.position == pytest.approx(1 - found.word_choice)
    assert found.pairing == pytest.approx(0, abs=1e-6)
    # The same lists, each shuffled: now only the words of the same list know which kinds are taken.
    found = decompose(unit, rng.permuted(template, axis=1))
    assert abs(found.position) < 4 * found.position_se
    assert found.pairing == pytest.approx(1 - found.word_choice, abs=0.02)


def test_too_few_lists_for_a_jackknife():
    with pytest.raises(ValueError, match="2 lists; three are needed"):
        decompose(np.eye(3, dtype=np.float32), np.array([[0, 1, 2], [1, 2, 0]]))


def of_all_orders(*arguments):
    return [hill_number(*arguments, order=order) for order in range(3)]


def test_hill_numbers_by_hand():
    # Shares 1/2, 1/4, 1/4: entropy 1.5 bits, and two draws are equal in 6 of 16 cases.
    assert of_all_orders([2, 1, 1], 2) == pytest.approx([3, 2**1.5, 16 / 6])
    # Equally frequent words: all three say how many.
    assert of_all_orders([1] * 40, 4) == pytest.approx([40, 40, 40])
    with pytest.raises(ValueError, match="no answers"):
        hill_number([], 0)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_rarefied_hill_numbers_are_those_of_all_draws(size):
    answers = ["犬猫水", "犬猫山", "犬川空", "猫水火", "月火水"]
    words = sorted(set("".join(answers)))
    entropies, simpsons, uniques = [], [], []
    for drawn in combinations(answers, size):
        shares = np.array([sum(word in one for one in drawn) for word in words]) / (
            3 * size
        )
        shares = shares[shares > 0]
        entropies.append(-(shares * np.log(shares)).sum())
        simpsons.append((shares**2).sum())
        uniques.append(len(shares))
    found = of_all_orders(
        [sum(word in one for one in answers) for word in words], 5, size
    )
    assert found == pytest.approx(
        [np.mean(uniques), math.exp(np.mean(entropies)), 1 / np.mean(simpsons)]
    )


def test_a_text_is_no_answer_of_words():
    with pytest.raises(ValueError, match="each answer must be a list of words"):
        hill_interval(["犬猫", "鳥魚"])


def test_words_shuffled_anew_stay_the_same_and_come_once_in_a_list():
    rng = np.random.default_rng(0)
    places = 10 * np.arange(10)
    template = rng.integers(10, size=(200, 10)) + places
    shuffled = shuffle_lists(template, rng)
    assert sorted(shuffled.ravel()) == sorted(template.ravel())
    assert all(len(set(words)) == 10 for words in shuffled.tolist())
    in_place = np.mean(shuffled // 10 == np.arange(10))
    assert in_place == pytest.approx(0.1, abs=0.03)
