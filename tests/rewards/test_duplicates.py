"""The history of the duplicate penalty: what counts as seen, and that it survives on disk."""

import itertools
import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import AXES, FakeNouns, axis_encoder, list_text
from sozo.rewards.duplicates import SeenAnswers
from sozo.scoring.keys import KEY_BYTES, answer_keys, word_hash
from sozo.tasks.dat.scorer import DatScorer

TEN = list(AXES[:10])


def keys_of(*texts):
    return DatScorer(FakeNouns(AXES), axis_encoder()).score(texts).keys


def key_of_words(words):
    return answer_keys(np.array([[word_hash(word) for word in words]]))[0]


def test_the_same_words_are_the_same_answer_whatever_the_spaces():
    text = list_text(TEN)
    others = [f"\n{text}\n ", text.replace(". ", ".\u3000"), f"<think>…</think>{text}"]
    assert len(set(keys_of(text, *others))) == 1


def test_a_key_is_the_same_in_every_process():
    # A known answer: it must not depend on the seed of Python's hash, nor on what was scored before.
    assert key_of_words(TEN) == keys_of(list_text(AXES[2:12]), list_text(TEN))[1]
    assert key_of_words(TEN).hex() == "a731cdeed333cdd32b050f9a119e440f"
    assert len(key_of_words(TEN)) == KEY_BYTES


def naive(keys):
    """The same verdicts from a list of all that came before."""
    return [key is not None and key in keys[:i] for i, key in enumerate(keys)]


streams = st.lists(
    st.one_of(st.none(), st.integers(0, 5).map(lambda k: bytes([k]) * KEY_BYTES)),
    max_size=40,
)


@settings(max_examples=30, deadline=None)
@given(streams, st.lists(st.integers(0, 40)))
def test_verdicts_equal_the_naive_way_however_the_stream_is_cut(keys, cuts):
    seen, verdicts = SeenAnswers(), []
    edges = [0, *sorted(min(cut, len(keys)) for cut in cuts), len(keys)]
    for start, end in itertools.pairwise(edges):
        verdicts += seen.check(keys[start:end])
    assert verdicts == naive(keys)
    assert len(seen) == len(set(keys) - {None})


@settings(max_examples=30, deadline=None)
@given(streams, st.integers(0, 40))
def test_a_resumed_history_goes_on_as_an_unbroken_one(keys, cut):
    seen, resumed = SeenAnswers(), SeenAnswers()
    before = seen.check(keys[:cut])
    resumed.check([b"x" * KEY_BYTES])  # what a history held before is gone
    resumed.restore(json.loads(json.dumps(seen.state())))
    assert before + resumed.check(keys[cut:]) == naive(keys)


def test_the_same_history_is_the_same_text():
    keys = keys_of(*[list_text(AXES[k : k + 10]) for k in range(3)])
    texts = set()
    for order in (keys, keys[::-1]):
        seen = SeenAnswers()
        seen.check(order)
        texts.add(seen.state())
    assert [len(text) for text in texts] == [3 * 2 * KEY_BYTES]
