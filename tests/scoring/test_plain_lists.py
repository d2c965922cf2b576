"""The short way of plain lists gives what the one strict reader gives, whatever the text."""

import random

import numpy as np

from fakes import AXES, FakeNouns, axis_encoder, list_text
from sozo.scoring.final_text import OUTER
from sozo.scoring.parse import split_list
from sozo.scoring.plain_lists import UNKNOWN, WordIndex, plain_lists, word_hashes
from sozo.tasks.dat.scorer import DatScorer

WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
L = list_text(WORDS)
ODD = [*OUTER, *"\0<[◁\r\u0301\ud800\U0001f600１0.", "</think>", "<eos>", "\n", "10. "]


def spoilt(number):
    """Lists with something in one or two places, or without it."""
    draw = random.Random(number)
    text = L
    for _ in range(draw.choice((0, 1, 1, 1, 2))):
        at = draw.randrange(len(text) + 1)
        text = (
            text[:at]
            + draw.choice(["", *ODD, *WORDS])
            + text[at + draw.choice((0, 0, 1)) :]
        )
    return text


def check(texts):
    which, hashes = plain_lists(texts)
    assert sorted(which.tolist()) == which.tolist()
    for k, own in zip(which.tolist(), hashes.transpose(1, 2, 0), strict=True):
        words = split_list(texts[k])
        assert words is not None
        assert split_list(texts[k], reasoning=False) == words
        assert (word_hashes(words) == own).all()
    return which


def test_what_is_plain_is_a_list_of_the_same_words():
    texts = [spoilt(k) for k in range(3_000)]
    plain = check(texts)
    lists = [k for k, text in enumerate(texts) if split_list(text)]
    assert 0.8 * len(lists) < len(plain) <= len(lists)
    assert len(check([])) == len(check([""])) == 0


def test_scores_are_the_same_with_and_without_the_short_way(monkeypatch):
    draw = random.Random(1)
    lists = [list_text(draw.choices([*AXES, "走る", "A"], k=10)) for _ in range(1_500)]
    texts = [*lists, *(spoilt(k) for k in range(1_000))]
    fast = DatScorer(FakeNouns(AXES), axis_encoder())
    first, again = fast.score(texts), fast.score(texts)
    monkeypatch.setattr("sozo.tasks.dat.scorer.plain_lists", lambda _: plain_lists([]))
    slow = DatScorer(FakeNouns(AXES), axis_encoder()).score(texts)
    for scores in (first, again):
        assert np.array_equal(scores.scores, slow.scores, equal_nan=True)
        assert (scores.codes == slow.codes).all()
        assert scores.keys == slow.keys


def test_an_index_that_grows_finds_every_word():
    index = WordIndex()
    words = [f"語{k}" for k in range(20_000)]
    for start in range(0, len(words), 3_000):
        part = words[start : start + 3_000]
        index.add(word_hashes(part), np.arange(start, start + len(part)))
    hashes = word_hashes(words).T.reshape(2, -1, 10)
    assert (index.look_up(hashes).ravel() == np.arange(20_000)).all()
    others = word_hashes([f"他{k}" for k in range(1_000)]).T.reshape(2, -1, 10)
    assert (index.look_up(others) == UNKNOWN).all()
