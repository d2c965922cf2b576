"""What vLLM's engine draws is what sozo's own sampler draws: in distribution, and to a fiftieth of a nat a token."""

import re
import shutil
from collections import Counter
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import psutil
import pytest
import torch
from scipy.stats import chi2_contingency

from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.models.generators import Loaded
from sozo.models.model_support import encode_text
from sozo.models.settings import GeneratorSettings, resolve
from sozo.models.weights import load_model
from sozo.training.vllm_watch import fixed_sequences, vllm_log_probabilities

ENGLISH = "Name ten nouns that are as different from each other as possible."
PROMPTS = [prompt("dat"), ENGLISH, "Name an animal."]
DRAWN, RARE = (
    512,
    20,
)  # answers of each sampler; words that came less often than this share one of eight classes
NATS = 0.02


@pytest.fixture(scope="module")
def loaded():
    """The engine of each model starts once for all tests."""
    with Loaded() as engines:
        yield engines


def generator(folder, loaded, backend="vllm", **settings):
    fixed = {
        "dtype": "float32",
        "max_new_tokens": 12,
        "slots": 128 if backend == "transformers" else None,
    }
    asked = GeneratorSettings(folder, backend, **fixed | settings)
    return resolve(asked).load(loaded=loaded)


def first_words(answers):
    return [
        match[0] if (match := re.search(r"[^\W\d]+", answer.text)) else answer.text
        for answer in answers
    ]


def log_probabilities(model, sequences):
    rows = []
    with torch.no_grad():
        for before, answer in sequences:
            logits = model(torch.tensor([before + answer])).logits[
                0, len(before) - 1 : -1
            ]
            rows.append(logits.log_softmax(-1)[torch.arange(len(answer)), answer])
    return torch.cat(rows).numpy()


def engines_log_probabilities(writer, sequences):
    generation = SimpleNamespace(
        mode="colocate", llm=writer._engine.llm(0), enable_sleep_mode=False
    )
    return vllm_log_probabilities(generation, sequences)


def test_first_words_come_as_often(folder, loaded):
    drawn = []
    for backend in ("vllm", "transformers"):
        answers = generator(folder, loaded, backend).answer(
            [PROMPTS[0], PROMPTS[1]] * (DRAWN // 2), 3, 0
        )
        drawn.append(first_words(answers))
    often = Counter(drawn[0] + drawn[1])
    classes = [
        [word if often[word] >= RARE else crc32(word.encode()) % 8 for word in words]
        for words in drawn
    ]
    table = [
        [sample.count(kind) for kind in {*classes[0], *classes[1]}]
        for sample in classes
    ]
    assert len(table[0]) >= 8
    assert chi2_contingency(table).pvalue >= 0.001


def test_each_token_is_as_likely(folder, loaded):
    writer, (model, tokenizer) = (
        generator(folder, loaded),
        load_model(folder, dtype="float32"),
    )
    sequences = list(
        fixed_sequences(
            tokenizer, [[{"role": "user", "content": text}] for text in PROMPTS], 40
        )
    )
    ours, theirs = (
        log_probabilities(model, sequences),
        engines_log_probabilities(writer, sequences),
    )
    assert len(ours) >= 48
    assert np.abs(ours - theirs).max() < NATS


def test_several_prompts_are_answered_in_their_order(real, loaded):
    places = {"France": "Paris", "Japan": "Tokyo"}
    asked = [*places, "Japan", "Japan", "France"]
    writer = generator(real, loaded, sampling="temperature=1e-4", max_new_tokens=16)
    assert (
        writer.temperature == writer.describe()["temperature"] == 0.01
    )  # vLLM has no less, and the record says so
    answers = writer.answer(
        [f"What is the capital of {place}?" for place in asked], 0, 0
    )
    assert [
        places[place] in answer.text
        for place, answer in zip(asked, answers, strict=True)
    ] == [True] * 5, answers


def test_an_answer_ends_at_an_end_token_at_the_limit_and_at_the_window(
    tiny, loaded, capsys
):
    writer = generator(tiny, loaded, max_new_tokens=64, source="t")
    answers = writer.answer([prompt("dat")] * 64, 5, 0)
    ended = [answer for answer in answers if answer.finish_reason == "stop"]
    assert len(ended) > 56
    assert not any(
        "<" in answer.text for answer in ended
    )  # no end mark is left in a text
    assert {
        answer.finish_reason
        for answer in generator(tiny, loaded, max_new_tokens=4).answer(PROMPTS, 0, 0)
    } == {"length"}
    capsys.readouterr()
    writer = generator(tiny, loaded, max_new_tokens=4096, source="t")
    assert writer.answer([prompt("dat")], 0, 0)[0].finish_reason in ("stop", "length")
    said = "t: its window of 128 tokens has room for answers of "
    assert said in capsys.readouterr().err
    tokens = len(encode_text(writer._engine.llm(0).get_tokenizer(), "1. 犬\n" * 70))
    with pytest.raises(
        UserError,
        match=f"^t: a prompt of {tokens} tokens fills the model's window of 128; take a model",
    ):
        writer.answer(["1. 犬\n" * 70], 0, 0)


def test_an_adapter_is_served_over_its_base(real, tmp_path):
    from peft import LoraConfig, get_peft_model
    from vllm import SamplingParams

    model, tokenizer = load_model(real, dtype="float32")
    torch.manual_seed(0)
    lora = LoraConfig(
        r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], init_lora_weights=False
    )
    adapted = get_peft_model(model, lora)
    adapted.peft_config["default"].base_model_name_or_path = real
    adapted.save_pretrained(tmp_path)
    with Loaded() as alone:
        writer = generator(str(tmp_path), alone)
        llm, request = (
            writer._engine.llm(0),
            SamplingParams(max_tokens=16, logprobs=0),
        )  # 0: of what is drawn only
        inputs = [
            {"prompt_token_ids": encode_text(tokenizer, text)} for text in PROMPTS
        ]
        outputs = llm.generate(
            inputs, request, use_tqdm=False, lora_request=writer._engine.lora
        )
        # vLLM's engine for CPUs cannot tell log-probabilities of a prompt under an adapter: it dies.
        drawn = [
            (output.prompt_token_ids, list(output.outputs[0].token_ids))
            for output in outputs
        ]
        told = [
            of[token].logprob
            for o in outputs
            for token, of in zip(
                o.outputs[0].token_ids, o.outputs[0].logprobs, strict=True
            )
        ]
    with adapted.disable_adapter():
        base = log_probabilities(adapted, drawn)
    assert np.abs(log_probabilities(adapted, drawn) - told).max() < NATS
    assert np.abs(base - told).mean() > 10 * NATS


def engines():
    children = psutil.Process().children(recursive=True)
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child.pid for child in alive if "EngineCore" in " ".join(child.cmdline())]


def test_one_engine_answers_two_tasks_and_is_shut_down(tiny):
    before = set(engines())
    with Loaded() as own:
        one, other = (generator(tiny, own, max_new_tokens=limit) for limit in (4, 8))
        lengths = [
            len(writer.answer([prompt("dat")], 0, 0)[0].text) for writer in (one, other)
        ]
        assert lengths[0] < lengths[1]
        assert one._engine is other._engine
        assert len(set(engines()) - before) == 1
    assert set(engines()) == before


def test_an_engine_that_fails_to_start_is_one_line(tiny, tmp_path):
    torn = shutil.copytree(tiny, tmp_path / "torn")
    (torn / "model.safetensors").write_bytes(b"torn")
    with Loaded() as own:
        writer = generator(str(torn), own)
        with pytest.raises(
            UserError,
            match=r"^cannot load the model .*torn \(.+\); give a model's folder",
        ) as error:
            writer.answer([prompt("dat")], 0, 0)
    assert "\n" not in str(error.value)
