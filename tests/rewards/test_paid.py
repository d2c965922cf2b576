"""What is paid for lists that are no ten different things, by the settings of the recommended recipes."""

import random

import pytest

from fakes import list_text
from sent_by_others import HACKS
from sentences import refused
from sozo.rewards import make_dat_distance, make_dat_reward

SCORER = {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}
RULES = {
    "repeated_words": "representative",
    "reject_glued": True,
    "reject_numerals": True,
}
ONE = ["林檎", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
# What the paper's rule pays, and these do not.
REFUSED = (
    "doubled",
    "doubled, of three",
    "glued",
    "long vowels",
    "kana and kanji",
    "numerals",
)
# ja-ginza has none of their words, nor parts of two characters for all of them.
WITHOUT_VECTORS = {"doubled", "doubled, of three", "glued", "numerals"}


@pytest.mark.parametrize("kind", HACKS)
def test_doubled_glued_and_variant_words_earn_nothing(kind):
    text = list_text(HACKS[kind].split())
    [papers] = make_dat_reward(**SCORER)(completions=[text])
    [ours] = make_dat_reward(**SCORER, **RULES)(completions=[text])
    assert ours == (0 if kind in REFUSED else papers)
    paid = {*REFUSED, "numerals that are words"} - WITHOUT_VECTORS
    assert (papers > 5) == (kind in paid)


def test_an_honest_list_is_paid_the_same():
    text = list_text(ONE)
    rewards = [make_dat_reward(**SCORER, **rules) for rules in ({}, RULES)]
    assert rewards[0](completions=[text]) == rewards[1](completions=[text])


def test_a_list_is_seen_as_list_or_set():
    draw = random.Random(0)
    orders = [list_text(draw.sample(ONE, 10)) for _ in range(50)]
    kana = list_text(["りんご", *ONE[1:]])
    thought = f"<think>案</think>\n{list_text(ONE)}"
    for seen_as, paid in {"list": 52, "set": 1}.items():
        reward = make_dat_reward(**SCORER, seen_as=seen_as)
        rewards = reward(completions=[list_text(ONE), kana, thought, *orders, *orders])
        assert sum(one > 0 for one in rewards) == paid
        other = make_dat_reward(**SCORER, seen_as=seen_as)
        other.restore(reward.state())
        assert other(completions=[orders[0]]) == [0.0]
        assert reward.describe()["seen_as"] == seen_as


def test_sets_are_seen_by_the_distance_too_and_other_words_are_refused():
    reward = make_dat_distance(**SCORER, seen_as="set")
    assert reward(completions=[list_text(ONE), list_text(ONE[::-1])])[1] == 0.0
    with refused("dat reward: seen_as is unknown"):
        make_dat_reward(**SCORER, seen_as="words")
