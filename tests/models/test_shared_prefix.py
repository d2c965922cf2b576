"""The shared-prefix sampler: the model's own distribution, exactly, whatever slots and order."""

from inspect import signature

import numpy as np
import pytest
import torch
from accelerate.utils import convert_outputs_to_fp32
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from sentences import refused
from small_models import SMALL, gemma, llama, uniforms
from sozo.data.prompts import prompt
from sozo.models import shared_prefix
from sozo.models.model_support import end_tokens, why_not_shared
from sozo.models.shared_prefix import draw, sample_tokens
from sozo.models.tiny import build_tokenizer
from sozo.models.transformers_model import (
    SharedPrefixRollout,
    TransformersGenerator,
    fitting_slots,
)

DAT = prompt("dat")
PROMPT = [5, 9, 3, 7, 7, 2]


@pytest.mark.parametrize("make", [llama, gemma])
def test_float32_weights_under_bfloat16_autocast_as_accelerate_wraps_them(
    make, monkeypatch
):
    """`bf16: true` with `dtype: float32`: keys are wider than values, and logits are float32 again outside."""
    model = make(initializer_range=1.0)
    plain = model.forward
    model.forward = convert_outputs_to_fp32(
        torch.autocast("cpu", torch.bfloat16)(plain)
    )
    seen = []

    def recording(logits, *args):
        seen.append(logits.clone())
        return draw(logits, *args)

    monkeypatch.setattr(shared_prefix, "draw", recording)
    row = sample_tokens(model, PROMPT, uniforms(1, 12), ends=[])[
        0
    ]  # it was not refused by its trial
    with torch.no_grad():
        expected = (
            model(input_ids=torch.tensor([PROMPT + row]))
            .logits[0, len(PROMPT) - 1 : -1]
            .softmax(-1)
        )
        exact = (
            plain(input_ids=torch.tensor([PROMPT + row]))
            .logits[0, len(PROMPT) - 1 : -1]
            .softmax(-1)
        )
    ours = torch.cat(seen).softmax(-1)
    apart = [
        float((ours - other).abs().sum(-1).mean() / 2) for other in (expected, exact)
    ]
    rounding = float((expected - exact).abs().sum(-1).mean() / 2)
    assert (
        rounding > 0.01 or make is gemma
    )  # more than a trial in full precision allows
    assert max(apart) < max(3 * rounding, 0.01)


def test_rows_end_where_they_should():
    model, random = llama(), uniforms(40, 5)
    for row in sample_tokens(model, PROMPT, random, ends=range(200), slots=7):
        assert 1 <= len(row) <= 5
        assert all(token >= 200 for token in row[:-1])
        assert len(row) == 5 or row[-1] < 200
    assert {len(r) for r in sample_tokens(model, PROMPT, random[:, :1], ends=[])} == {1}
    assert {len(r) for r in sample_tokens(model, PROMPT, random, ends=range(700))} == {
        1
    }
    assert {len(r) for r in sample_tokens(model, PROMPT, random, ends=[])} == {5}
    assert sample_tokens(model, PROMPT, random[:0], ends=[]) == []


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_draw_inverts_the_cumulative_distribution(temperature):
    torch.manual_seed(2)
    logits, random = (
        torch.randn(500, 1300) * 2,
        torch.from_numpy(uniforms(500, 1)[:, 0]),
    )
    logits[:, [0, 511, 512, 1299]] = torch.tensor(
        [7.0, 6.5, 7.0, 7.5]
    )  # at the blocks' edges
    logits[:, 100:400] = -torch.inf
    cumulative = (logits.double() / temperature).softmax(1).cumsum(1)
    drawn = draw(logits, random, temperature)
    assert torch.equal(drawn, (cumulative <= random[:, None]).sum(1))
    assert {0, 511, 512, 1299} <= set(drawn.tolist())
    # The ends of the interval stay inside what has mass.
    edge = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]])
    almost_one = torch.tensor([np.nextafter(1.0, 0.0)], dtype=torch.float64)
    assert (
        int(draw(edge, torch.zeros(1, dtype=torch.float64))),
        int(draw(edge, almost_one)),
    ) == (1, 2)


def test_logits_that_break_later_are_an_error():
    model, random = llama(), uniforms(6, 9)
    third = sample_tokens(model, PROMPT, random, ends=[])[2][2]
    model.model.embed_tokens.weight.data[third] = torch.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        sample_tokens(model, PROMPT, random, ends=[], slots=4, check_every=4)


def test_the_model_comes_back_as_it_was():
    model = llama()
    before, state = model.config._attn_implementation, torch.get_rng_state()
    sample_tokens(model, PROMPT, uniforms(4, 5), ends=[])
    assert model.config._attn_implementation == before
    assert torch.equal(torch.get_rng_state(), state)
    model.train()
    model(
        input_ids=torch.tensor([PROMPT]), labels=torch.tensor([PROMPT])
    ).loss.backward()
    model.lm_head.weight.data.fill_(torch.nan)
    with pytest.raises(FloatingPointError, match="not finite"):
        sample_tokens(model, PROMPT, uniforms(4, 5), ends=[])
    assert model.config._attn_implementation == before


def test_what_cannot_be_shared_is_refused_and_generated_plainly(tokenizer):
    gemma2 = Gemma2ForCausalLM(
        Gemma2Config(**SMALL, head_dim=8, eos_token_id=1, pad_token_id=0)
    ).eval()
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=8, n_layer=1, n_head=2))
    assert why_not_shared(llama(), 100) is None
    assert why_not_shared(gpt2, 10) is None or "attention" in why_not_shared(gpt2, 10)
    assert "caps" in why_not_shared(gemma2, 20)
    assert "window of 64" in why_not_shared(gemma(), 65)
    assert why_not_shared(gemma(), 64) is None
    with refused("shared_prefix: a model that cannot share"):
        sample_tokens(gemma2, PROMPT, uniforms(2, 3), ends=[])
    generator = TransformersGenerator(gemma2, tokenizer, max_new_tokens=4, slots=2)
    assert generator.describe()["sampler"].startswith("model.generate (it caps")
    one, two = (
        generator.answer([DAT] * 5, seed=1, batch=0),
        generator.answer([DAT] * 5, seed=1, batch=0),
    )
    assert one == two
    assert len(one) == 5


@pytest.fixture
def tokenizer():
    return build_tokenizer(["犬", "猫", "水"])


def test_what_ends_a_answer_is_the_models_and_the_tokenizers(tokenizer):
    model = llama(vocab_size=len(tokenizer), eos_token_id=1)
    for told, ends in ((None, [1]), (1, [1]), (5, [1, 5]), ([7, 5], [1, 5, 7])):
        model.generation_config.eos_token_id = told
        assert end_tokens(model, tokenizer) == ends


def test_a_broken_model_is_one_line(tokenizer):
    model = llama(vocab_size=len(tokenizer), eos_token_id=1)
    model.lm_head.weight.data.fill_(torch.nan)
    with refused("transformers_model: logits are not finite"):
        TransformersGenerator(model, tokenizer, name="broken one").answer(
            [DAT] * 2, seed=0, batch=0
        )


class FakeTrainer:
    """What a rollout asks of TRL's trainer."""

    def __init__(self, model, tokenizer, step=0, process=0):
        from types import SimpleNamespace

        from accelerate import Accelerator

        self.accelerator = Accelerator(cpu=True)
        self.model_wrapped, self.processing_class = model, tokenizer
        self.chat_template_kwargs, self.is_fsdp_enabled = {}, False
        self.state, self.args = (
            SimpleNamespace(global_step=step),
            SimpleNamespace(process_index=process),
        )


def test_a_rollout_is_a_function_of_seed_and_step(tokenizer):
    model = llama(vocab_size=len(tokenizer), eos_token_id=1).train()
    prompts = ["1. 犬", "1. 猫", "1. 犬", [{"role": "user", "content": "1. 水"}]]

    def roll(step, seed=3, calls=1, process=0, prompts=prompts):
        rollout = SharedPrefixRollout(temperature=1.0, max_new_tokens=6, seed=seed)
        for _ in range(calls):
            out = rollout(prompts, FakeTrainer(model, tokenizer, step, process))
        return out

    out = roll(1)
    assert out["prompt_ids"] == [[4, 14], [4, 15], [4, 14], [4, 16]]
    assert out["logprobs"] is None
    assert all(1 <= len(ids) <= 6 for ids in out["completion_ids"])
    assert model.training
    assert roll(1) == out
    others = [roll(2), roll(1, seed=4), roll(1, calls=2)]
    assert all(other["completion_ids"] != out["completion_ids"] for other in others)
    # Two processes draw what one does.
    halves = [
        roll(1, process=process, prompts=prompts[2 * process :][:2])
        for process in range(2)
    ]
    assert (
        halves[0]["completion_ids"] + halves[1]["completion_ids"]
        == out["completion_ids"]
    )
    trainer = FakeTrainer(model, tokenizer)
    trainer.is_fsdp_enabled = True
    with refused("transformers_model: a rollout under FSDP"):
        SharedPrefixRollout(temperature=1.0, max_new_tokens=6, seed=0)(prompts, trainer)
    trainer.is_fsdp_enabled = False
    model.lm_head.weight.data.fill_(torch.nan)
    with refused("transformers_model: a rollout of a broken model"):
        SharedPrefixRollout(temperature=1.0, max_new_tokens=6, seed=0)(prompts, trainer)


def test_slots_are_as_many_as_memory_holds():
    model = llama()
    # Two layers' keys and values of two heads of eight numbers for ten tokens, and 700 logits, in float32.
    one = 4 * (2 * 2 * 2 * 8 * 10 + 700)
    assert fitting_slots(model, 10) == 256  # a CPU
    assert [fitting_slots(model, 10, 2 * one * fit) for fit in (5, 700, 5000)] == [
        256,
        700,
        1024,
    ]


@pytest.mark.parametrize("prompts", [[DAT] * 3, [DAT, DAT, f"{DAT}犬 海"]])
def test_an_answer_ends_where_the_models_window_ends(prompts, capsys):
    tokenizer = build_tokenizer(["犬", "海"])
    model = llama(
        vocab_size=len(tokenizer), eos_token_id=None, max_position_embeddings=24
    )
    generator = TransformersGenerator(
        model, tokenizer, name="short", max_new_tokens=4096, slots=2
    )
    generator._ends = []  # it would go on for ever
    completions = generator.answer(prompts, seed=0, batch=0)
    assert [completion.finish_reason for completion in completions] == ["length"] * len(
        prompts
    )
    said = "short: its window of 24 tokens has room for answers of "
    assert capsys.readouterr().err.count(said) == 1
    generator.answer(prompts, seed=1, batch=1)
    assert said not in capsys.readouterr().err  # once
    assert generator.describe()["window"] == 24


class Renamed(LlamaForCausalLM):
    """As transformers has it from 5.24 on; it warns of the old name, and 5.40 will not know it."""

    def forward(self, input_ids=None, cache=None, **inputs):
        parameters = signature(LlamaForCausalLM.forward).parameters
        name = "cache" if "cache" in parameters else "past_key_values"
        assert "past_key_values" not in inputs
        return super().forward(input_ids=input_ids, **{name: cache}, **inputs)


@pytest.mark.filterwarnings("error:.*past_key_values")
def test_the_cache_has_the_name_that_the_model_gives_it():
    torch.manual_seed(0)
    model = Renamed(LlamaConfig(**SMALL)).eval()
    numbers = uniforms(6, 5)
    assert sample_tokens(model, PROMPT, numbers, ends=[]) == sample_tokens(
        llama(), PROMPT, numbers, ends=[]
    )
