"""Bits per character: equal to a loop over single tokens, whatever the batch, the window and what stands in front."""

import math

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from sentences import refused
from sozo.models.likelihood import bits_per_character
from sozo.models.weights import load_model


@pytest.fixture(scope="module")
def loaded(mini):
    model, tokenizer = load_model(str(mini))
    return model.train(), tokenizer


def lists(tokenizer, *sizes):
    """Texts of so many lines, of words that the model knows."""
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer) - 60, len(tokenizer)))
    return [
        "".join(f"\n{k % 9 + 2}. {words[7 * k % 60]}" for k in range(size))
        for size in sizes
    ]


def token_by_token(model, tokenizer, text, window, begins):
    """The same by one forward pass for each token, behind half a window of others or more."""
    import torch

    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    room, bits, start, end = window - 1, 0.0, 0, window - 1
    model.eval()
    for k, token in enumerate(ids):
        if k == end:
            end = min(len(ids), end + room // 2)
            start = end - room
        with torch.no_grad():
            logits = model(torch.tensor([[begins, *ids[start:k]]])).logits[0, -1]
        bits -= math.log2(logits.double().softmax(-1)[token])
    return bits / len(text)


def test_it_equals_a_loop_over_single_tokens_for_short_and_long_texts(loaded):
    model, tokenizer = loaded
    texts = lists(tokenizer, 3, 40, 1, 90, 9)
    for window in (1024, 16):
        used = min(window, 128)  # the model's own
        expected = [
            token_by_token(model, tokenizer, text, used, tokenizer.eos_token_id)
            for text in texts
        ]
        model.train()
        found = bits_per_character(model, tokenizer, texts, window)
        assert found == pytest.approx(expected, rel=1e-5)
        assert model.training  # its mode is given back
    assert len(set(map(str, found))) == len(texts)


def test_what_stands_in_front_is_the_bos_and_else_the_eos(loaded):
    model, tokenizer = loaded
    text = lists(tokenizer, 4)[0]
    word = tokenizer.get_vocab()[lists(tokenizer, 1)[0].split(". ")[1]]
    tokenizer.bos_token = tokenizer.convert_ids_to_tokens(word)
    try:
        found = bits_per_character(model, tokenizer, [text])
    finally:
        tokenizer.bos_token = None
    assert found == pytest.approx([token_by_token(model, tokenizer, text, 128, word)])
    assert found != bits_per_character(model, tokenizer, [text])


def test_a_text_alone_has_the_value_that_it_has_among_others(loaded, monkeypatch):
    model, tokenizer = loaded
    texts = lists(tokenizer, 30, 2, 70, 11, 1)
    alone = [bits_per_character(model, tokenizer, [text])[0] for text in texts]
    for tokens in (4096, 130):
        monkeypatch.setattr("sozo.models.likelihood._TOKENS", tokens)
        together = bits_per_character(model, tokenizer, texts)
        assert together == pytest.approx(alone, rel=1e-5)


def test_a_text_that_the_vocabulary_cannot_write_has_no_value(loaded):
    model, tokenizer = loaded
    (known,) = lists(tokenizer, 2)
    values = bits_per_character(
        model, tokenizer, ["A text of words that it lacks.", "", known]
    )
    assert values[:2] == [None, None]
    assert values[2] > 0
    assert bits_per_character(model, tokenizer, []) == []


def test_a_text_of_which_the_tokenizer_leaves_out_a_character_has_no_value(loaded):
    model, _ = loaded
    bare = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(BPE({"犬": 4, "猫": 5}, [])), eos_token="</s>"
    )
    assert bare("犬鳥猫", add_special_tokens=False)["input_ids"] == [4, 5]
    texts = ["犬鳥猫", "犬猫\ud83d", "犬猫", "犬\n猫\N{VARIATION SELECTOR-16}"]
    values = bits_per_character(model, bare, texts)
    assert values[:2] == [None, None]
    # Of white space and marks some tokenizers keep nothing, on purpose.
    assert values[2] == pytest.approx(values[3] * 4 / 2)


def test_numbers_that_are_none_are_an_error_with_its_remedy(loaded):
    import torch

    model, tokenizer = loaded
    head = model.get_output_embeddings().weight
    before = head[9].detach().clone()
    try:
        with torch.no_grad():
            head[9] = math.nan
        with refused("likelihood: numbers that are none"):
            bits_per_character(model, tokenizer, lists(tokenizer, 2))
    finally:
        with torch.no_grad():
            head[9] = before


def test_a_tokenizer_that_begins_no_text_is_told_so(loaded):
    model, _ = loaded

    class Bare:
        __call__ = staticmethod(lambda text, **_: {"input_ids": [3] * len(text)})
        bos_token_id = eos_token_id = unk_token_id = None

    with refused("likelihood: nothing begins a text"):
        bits_per_character(model, Bare(), ["a"])
