"""Answers that `max_length` cuts are told before a step is made on them."""

from types import SimpleNamespace

import numpy as np
import pytest
from transformers import AutoTokenizer

from fakes import list_text
from sentences import refused, says
from sozo.data.prompts.form import PLAIN
from sozo.training.selection import Selected
from sozo.training.sft_dpo import _TableRun


def looked(mini, limit):
    tokenizer = AutoTokenizer.from_pretrained(mini)
    vocabulary = tokenizer.get_vocab()
    nouns = sorted(word for word, row in vocabulary.items() if row >= 14)[:10]
    texts = [list_text(nouns), "1. 犬"]
    chosen = Selected(["a", "b"], ["問い"] * 2, ["dat"] * 2, texts, np.ones(2), 0, 2)
    run = SimpleNamespace(form=PLAIN)
    training = SimpleNamespace(max_length=limit, process_index=0)
    _TableRun._look_for_cut(run, tokenizer, training, "completion", chosen)


@pytest.mark.parametrize(("limit", "cut"), [(10, True), (1024, False)])
def test_how_many_answers_are_cut_is_told(mini, limit, cut, capsys):
    looked(mini, limit)
    told = capsys.readouterr().out
    assert says("sft: answers are cut", told.strip()) if cut else not told


def test_a_limit_that_leaves_nothing_is_refused(mini):
    with refused("sft: nothing is left of any answer"):
        looked(mini, 1)
