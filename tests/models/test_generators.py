"""Generators: every batch is a function of (seed, batch index), and the decoder is the model's own distribution."""

from collections import Counter

import pytest
import torch

from sampling_worker import NOUNS
from sentences import refused
from small_models import llama
from sozo.data.jumandic import load_nouns
from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import prompt
from sozo.models.model_support import encode_text
from sozo.models.nouns import RandomNouns
from sozo.models.tiny import build_tokenizer
from sozo.models.transformers_model import TransformersGenerator
from sozo.scoring.parse import split_list

DAT = prompt("dat")

# Random nouns


def test_ten_distinct_nouns_each_time():
    for nouns in (NOUNS[:10], NOUNS, load_nouns()):
        for completion in RandomNouns(nouns).answer([""] * 200, seed=0, batch=3):
            words = split_list(completion.text)
            assert len(set(words)) == 10
            assert set(words) <= set(nouns)


def test_every_noun_is_equally_likely_in_every_place():
    answers = RandomNouns(NOUNS).answer([""] * 12_000, seed=5, batch=0)
    drawn = [split_list(answer.text) for answer in answers]
    for place in range(10):
        counts = Counter(words[place] for words in drawn)
        # 1,000 expected each, standard deviation 30.
        assert all(abs(counts[noun] - 1000) < 160 for noun in NOUNS), counts


def test_seed_and_batch_decide_alone():
    one, two, prompts = RandomNouns(NOUNS), RandomNouns(NOUNS), [DAT] * 5
    two.answer(["何か"] * 7, seed=9, batch=9)
    first = one.answer(prompts, seed=1, batch=2)
    assert first == two.answer(["何か"] * 5, seed=1, batch=2)  # whatever is asked
    assert first == one.answer([DAT] * 8, seed=1, batch=2)[:5]
    for seed, batch in ((2, 2), (1, 3), (2, 1)):
        assert first != one.answer(prompts, seed=seed, batch=batch)


def test_lists_that_cannot_be_scored_are_drawn_again():
    def accepts(texts):
        return ["犬" not in split_list(text) for text in texts]

    def drawn(accepts):
        answers = RandomNouns(NOUNS, accepts=accepts).answer(
            [""] * 200, seed=0, batch=0
        )
        return [answer.text for answer in answers]

    every = drawn(None)
    assert drawn(lambda texts: [True] * len(texts)) == every
    good = [text for text in every if all(accepts([text]))]
    kept = drawn(accepts)
    assert kept[: len(good)] == good
    assert len(kept) == 200
    assert all(accepts(kept))
    assert 0 < len(good) < 100  # ten of twelve nouns: one list in six lacks a given one
    with refused("nouns: hardly any list can be scored"):
        drawn(lambda texts: [False] * len(texts))


def test_bad_nouns_and_seeds_are_errors():
    with refused("nouns: not ten distinct ones"):
        RandomNouns(NOUNS[:9])
    with refused("nouns: not ten distinct ones"):
        RandomNouns([*NOUNS, "犬"])
    with refused("nouns: a negative seed"):
        RandomNouns(NOUNS).answer([""], seed=-1, batch=0)


# Transformers


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer(tiny_nouns()[:100])


@pytest.fixture(scope="module")
def model(tokenizer):
    sizes = {"vocab_size": len(tokenizer), "initializer_range": 0.02}
    return llama(**sizes, eos_token_id=1, pad_token_id=0)


def test_transformers_batches_are_repeatable_and_leave_the_caller_alone(
    model, tokenizer
):
    generator = TransformersGenerator(model, tokenizer, name="tiny", max_new_tokens=12)
    model.train()
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = generator.answer([DAT] * 4, seed=1, batch=0)
    assert torch.equal(torch.rand(3), expected)
    assert model.training
    model.eval()
    generator.answer([DAT] * 4, seed=2, batch=0)
    assert generator.answer([DAT] * 4, seed=1, batch=0) == first
    assert generator.answer([DAT] * 4, seed=1, batch=1) != first
    assert len({c.text for c in first}) == 4
    assert generator.answer([], seed=1, batch=0) == []


@pytest.mark.parametrize("obstacle", [None, "forced"])
def test_transformers_samples_the_models_own_distribution(
    obstacle, model, tokenizer, monkeypatch
):
    """A model whose config wants greedy, truncated, repetition-averse text still gives all of its distribution."""
    before = model.generation_config
    changed = type(before)(**before.to_dict())
    changed.update(top_k=1, top_p=0.1, repetition_penalty=9.0, min_p=0.9, max_length=3)
    monkeypatch.setattr(model, "generation_config", changed)
    if obstacle:
        monkeypatch.setattr(
            "sozo.models.shared_prefix.why_not_sampled", lambda *_: obstacle
        )
    generator = TransformersGenerator(model, tokenizer, max_new_tokens=1)
    answers = generator.answer([DAT] * 600, seed=0, batch=0)
    # A random model is near uniform over its vocabulary, far more than 50 tokens.
    assert len({answer.text for answer in answers}) > 60
    assert model.generation_config.repetition_penalty == 9.0
    assert torch.is_grad_enabled()
    with pytest.raises(ValueError, match="temperature"):
        TransformersGenerator(model, tokenizer, temperature=0)


def test_each_prompt_has_its_own_answer(model, tokenizer):
    """What is asked often is shared, what is asked once is padded on the left: each is the model's own distribution."""
    noun = tiny_nouns()
    often = f"1. {noun[0]}"
    once = [f"1. {noun[1]}", f"1. {noun[2]}\n2. {noun[3]}", f"1. {noun[4]}"]
    prompts = [often, once[0], often, *once[1:], *[often] * 3]
    sharp = TransformersGenerator(
        model, tokenizer, max_new_tokens=3, temperature=1e-7, slots=2
    )
    answers = sharp.answer(prompts, seed=0, batch=0)
    for text, answer in zip(prompts, answers, strict=True):
        asked = encode_text(tokenizer, text)
        ids = list(asked)
        while len(ids) < len(asked) + 3 and ids[-1] != tokenizer.eos_token_id:
            with torch.no_grad():
                ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        expected = tokenizer.decode(ids[len(asked) :], skip_special_tokens=True)
        assert answer.text == expected


def test_finish_reasons_and_special_tokens(model, tokenizer):
    generator = TransformersGenerator(model, tokenizer, max_new_tokens=60)
    completions = generator.answer([DAT] * 40, seed=3, batch=0)
    assert {c.finish_reason for c in completions} == {"stop", "length"}
    for completion in completions:
        assert "</s>" not in completion.text
        assert "<pad>" not in completion.text
