"""Generators: every batch is a function of (seed, batch index), and the decoder is the model's own distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes import read_answer_table
from sampling_worker import dat_by, sample
from sozo.data.errors import UserError
from sozo.data.jumandic import load_nouns
from sozo.data.prompts import prompt
from sozo.models.model_support import encode_text
from sozo.models.nouns import RandomNouns
from sozo.models.transformers_model import TransformersGenerator
from sozo.scoring.parse import split_list
from sozo.tasks.dat.scorer import DatScorer, DatSettings

DAT = prompt("dat")
NOUNS = ["犬", "猫", "水", "山", "川", "本", "車", "空", "海", "石", "鳥", "花"]


@pytest.fixture(scope="module")
def scorer() -> DatScorer:
    return DatScorer.from_settings(DatSettings(noun_checker="jumandic"))


def words_of(text: str) -> tuple[str, ...]:
    words = split_list(text)
    assert words is not None
    return words


# Random nouns


def test_ten_distinct_nouns_each_time() -> None:
    for nouns in (NOUNS[:10], NOUNS, load_nouns()):
        for completion in RandomNouns(nouns).answer([""] * 200, seed=0, batch=3):
            words = words_of(completion.text)
            assert len(set(words)) == 10
            assert set(words) <= set(nouns)


def test_every_noun_is_equally_likely_in_every_place() -> None:
    drawn = [
        words_of(c.text)
        for c in RandomNouns(NOUNS).answer([""] * 12_000, seed=5, batch=0)
    ]
    for place in range(10):
        counts = Counter(words[place] for words in drawn)
        # 1,000 expected each, standard deviation 30.
        assert all(abs(counts[noun] - 1000) < 160 for noun in NOUNS), counts


def test_seed_and_batch_decide_alone() -> None:
    one, two, prompts = RandomNouns(NOUNS), RandomNouns(NOUNS), [DAT] * 5
    two.answer(["何か"] * 7, seed=9, batch=9)
    first = one.answer(prompts, seed=1, batch=2)
    assert first == two.answer(["何か"] * 5, seed=1, batch=2)  # whatever is asked
    assert first == one.answer([DAT] * 8, seed=1, batch=2)[:5]
    others = [
        one.answer(prompts, seed=seed, batch=batch)
        for seed, batch in ((2, 2), (1, 3), (2, 1))
    ]
    assert first not in others


def test_lists_that_cannot_be_scored_are_drawn_again() -> None:
    def accepts(texts: Sequence[str]) -> list[bool]:
        return ["犬" not in words_of(text) for text in texts]

    prompts = [""] * 200
    drawn = RandomNouns(NOUNS).answer(prompts, seed=0, batch=0)
    assert (
        RandomNouns(NOUNS, accepts=lambda texts: [True] * len(texts)).answer(
            prompts, seed=0, batch=0
        )
        == drawn
    )
    good = [completion for completion in drawn if accepts([completion.text])[0]]
    kept = RandomNouns(NOUNS, accepts=accepts).answer(prompts, seed=0, batch=0)
    assert (kept[: len(good)], len(kept), all(accepts([c.text for c in kept]))) == (
        good,
        200,
        True,
    )
    assert 0 < len(good) < 100  # ten of twelve nouns: one list in six lacks a given one
    with pytest.raises(
        UserError, match="hardly any list of these 12 nouns can be scored"
    ):
        RandomNouns(NOUNS, accepts=lambda texts: [False] * len(texts)).answer(
            prompts, seed=0, batch=0
        )


def test_bad_nouns_and_seeds_are_errors() -> None:
    for nouns in (NOUNS[:9], [*NOUNS, "犬"]):
        with pytest.raises(UserError, match="distinct nouns"):
            RandomNouns(nouns)
    with pytest.raises(UserError, match="must not be negative"):
        RandomNouns(NOUNS).answer([""] * 1, seed=-1, batch=0)


# Transformers


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    pieces = [
        "<pad>",
        "<s>",
        "</s>",
        "<unk>",
        *sorted(set(prompt("dat")) | set("".join(NOUNS))),
    ]
    backend = Tokenizer(
        WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    backend.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
    )


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config)


def test_transformers_batches_are_repeatable_and_leave_the_caller_alone(
    model: Any, tokenizer: Any
) -> None:
    import torch

    generator = TransformersGenerator(model, tokenizer, name="tiny", max_new_tokens=12)
    model.train()
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = generator.answer([DAT] * 4, seed=1, batch=0)
    assert torch.equal(torch.rand(3), expected)
    assert model.training
    generator.answer([DAT] * 4, seed=2, batch=0)
    assert generator.answer([DAT] * 4, seed=1, batch=0) == first
    assert generator.answer([DAT] * 4, seed=1, batch=1) != first
    assert len({c.text for c in first}) == 4
    assert generator.answer([DAT] * 0, seed=1, batch=0) == []


@pytest.mark.parametrize("obstacle", [None, "forced"])
def test_transformers_samples_the_models_own_distribution(
    obstacle: str | None, model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model whose config wants greedy, truncated, repetition-averse text still gives all of its distribution."""
    import torch

    before = model.generation_config
    changed = type(before)(**before.to_dict())
    changed.update(top_k=1, top_p=0.1, repetition_penalty=9.0, min_p=0.9, max_length=3)
    monkeypatch.setattr(model, "generation_config", changed)
    seen: dict[str, Any] = {}
    original = type(model)._sample

    def spy(*args: Any, **kwargs: Any) -> Any:
        seen.update(config=kwargs["generation_config"])
        return original(*args, **kwargs)

    monkeypatch.setattr(type(model), "_sample", spy)
    if obstacle:
        monkeypatch.setattr(
            "sozo.models.shared_prefix.why_not_sampled", lambda *_: obstacle
        )
    generator = TransformersGenerator(model, tokenizer, max_new_tokens=1)
    texts = [
        completion.text for completion in generator.answer([DAT] * 600, seed=0, batch=0)
    ]
    # A random model is near uniform over its vocabulary, far more than 50 tokens.
    assert len(set(texts)) > 60
    if obstacle:
        assert (
            seen["config"].top_k,
            seen["config"].top_p,
            seen["config"].do_sample,
        ) == (0, 1.0, True)
    else:
        assert not seen
    assert model.generation_config.repetition_penalty == 9.0
    assert torch.is_grad_enabled()


def test_each_prompt_has_its_own_answer(model: Any, tokenizer: Any) -> None:
    """What is asked often is shared, what is asked once is padded on the left: each is the model's own distribution."""
    import torch

    generator = TransformersGenerator(model, tokenizer, max_new_tokens=1, slots=64)
    often, once = "犬猫", ["水", "山川水犬", "犬"]
    prompts = [often, once[0], often, *once[1:], *[often] * 3]
    answers = generator.answer(prompts, seed=1, batch=0)
    assert len(answers) == len(prompts)
    assert generator.answer(prompts, seed=1, batch=0) == answers
    assert generator.answer(prompts, seed=1, batch=1) != answers
    assert generator.answer([], seed=1, batch=0) == []
    sharp = TransformersGenerator(
        model, tokenizer, max_new_tokens=3, temperature=1e-7, slots=2
    )
    with torch.no_grad():
        for text, answer in zip(
            prompts, sharp.answer(prompts, seed=0, batch=0), strict=True
        ):
            ids, end = (
                encode_text(tokenizer, text),
                model.generation_config.eos_token_id,
            )
            for _ in range(3):
                ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
                if ids[-1] == end:
                    break
            assert answer.text == tokenizer.decode(
                ids[len(encode_text(tokenizer, text)) :], skip_special_tokens=True
            )


def test_finish_reasons_and_special_tokens(model: Any, tokenizer: Any) -> None:
    completions = TransformersGenerator(model, tokenizer, max_new_tokens=60).answer(
        [DAT] * 40, seed=3, batch=0
    )
    reasons = Counter(c.finish_reason for c in completions)
    assert set(reasons) == {"stop", "length"}
    for completion in completions:
        assert "</s>" not in completion.text
        assert "<pad>" not in completion.text
        if completion.finish_reason == "stop":
            assert len(completion.text) < 60


def test_the_chat_template_is_used_where_there_is_one(
    model: Any, tokenizer: Any
) -> None:
    from copy import deepcopy

    assert (
        tokenizer.decode(encode_text(tokenizer, prompt("dat"))) == prompt("dat") + "\n"
    )
    chatty = deepcopy(tokenizer)
    chatty.chat_template = "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}犬{% endif %}"
    assert (
        chatty.decode(encode_text(chatty, prompt("dat"))) == f"<s>{prompt('dat')}</s>犬"
    )


def test_transformers_rows_carry_the_generators_facts(
    model: Any, tokenizer: Any, scorer: DatScorer, tmp_path: Path
) -> None:
    generator = TransformersGenerator(
        model, tokenizer, name="tiny", max_new_tokens=5, temperature=0.5
    )
    sample(tmp_path, 3, 8, task=dat_by(scorer), writer=generator)
    rows = list(read_answer_table(tmp_path))
    assert [(r.source, r.seed, r.temperature, r.reason) for r in rows] == [
        ("tiny", 3, 0.5, "format")
    ] * 3
    assert all(r.finish_reason in ("stop", "length") for r in rows)
    with pytest.raises(ValueError, match="temperature"):
        TransformersGenerator(model, tokenizer, temperature=0)
