"""Answers that `max_length` cuts, or that the tokenizer cannot write, are told before a step is made on them."""

from types import SimpleNamespace

import numpy as np
import pytest
from transformers import AutoTokenizer

from fakes import list_text
from sentences import refused, says
from sozo.data.prompts.form import PLAIN
from sozo.training import sft_dpo
from sozo.training.selection import Selected


def looked(mini, limit, monkeypatch):
    tokenizer = AutoTokenizer.from_pretrained(mini)
    vocabulary = tokenizer.get_vocab()
    nouns = sorted(word for word, row in vocabulary.items() if row >= 14)[:10]
    texts = [list_text(nouns), "1. 犬"]
    chosen = Selected(["a", "b"], ["問い"] * 2, ["dat"] * 2, texts, np.ones(2), 0, 2)
    run = SimpleNamespace(form=PLAIN, _columns={"completion": chosen})
    monkeypatch.setattr(sft_dpo, "stored_dataset", lambda rows, training: rows)
    training = SimpleNamespace(max_length=limit, process_index=0)
    sft_dpo._TableRun.dataset(run, tokenizer, training)


@pytest.mark.parametrize(("limit", "cut"), [(10, True), (1024, False)])
def test_how_many_answers_are_cut_is_told(mini, limit, cut, capsys, monkeypatch):
    looked(mini, limit, monkeypatch)
    told = capsys.readouterr().out
    *cuts, unknown = told.splitlines()
    assert [says("sft: answers are cut", line) for line in cuts] == [True] * cut
    # No token is 犬.
    assert says("sft: answers with unknown words", unknown)


def test_a_limit_that_cuts_all_is_refused(mini, monkeypatch):
    with refused("sft: all answers are cut"):
        looked(mini, 1, monkeypatch)
