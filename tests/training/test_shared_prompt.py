"""The loss with the prompt computed once: the same log-probabilities, entropies and gradients as TRL's own."""

import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from torch.nn.functional import pad
from transformers import LlamaForCausalLM
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
from trl.trainer.utils import _ChunkedLogProbFunction, add_fused_lm_head

from small_batches import LENGTHS, LONGEST, PROMPT, batch, fused, spied
from small_models import gemma, llama, qwen
from sozo.models.model_support import without_adapter
from sozo.models.tiny import build_tokenizer
from sozo.training.sft_dpo import reference_trainer
from sozo.training.shared_prompt import _attend, answer_logits, packed, share_prompt


def gradients(model, logps):
    """Of a loss that weighs the rows differently, as advantages do."""
    model.zero_grad()
    (logps * torch.linspace(-1, 1, len(logps))[:, None]).sum().backward()
    return [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("make", [llama, qwen, gemma])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_shared_gives_what_repeated_gives(make, checkpointing):
    (model, shapes), inputs = fused(make()), batch()
    repeated = model(**inputs, fused_lm_head=True)
    wanted = gradients(model, repeated.log_probs)
    assert share_prompt(model)
    model.train()
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    shared = model(**inputs, use_cache=False, fused_lm_head=True)
    assert shapes == [(5, 16), (1, 8 + 5 * 7)]
    for name in ("log_probs", "entropy"):
        assert torch.allclose(shared[name], repeated[name], atol=1e-5)
    asked = repeated.label_mask
    assert torch.equal(shared.label_mask, asked)
    assert torch.allclose(
        shared.mean_logits[asked], repeated.mean_logits[asked], atol=1e-5
    )
    assert torch.equal(shared.is_top1[asked], repeated.is_top1[asked])
    assert torch.allclose(shared.loss, repeated.loss, atol=1e-5)
    for ours, theirs in zip(gradients(model, shared.log_probs), wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4 * float(theirs.abs().max()))


def a_shorter_prompt_and_padding_behind(inputs):
    """As rows of two tasks stand in a batch of SFT: padding is behind the answers, so they begin in two columns."""
    for values, padding in zip(inputs.values(), (0, 0, -100), strict=True):
        values[[1, 4]] = pad(values[[1, 4], 3:], (0, 3), value=padding)


@pytest.mark.parametrize("make", [llama, gemma])
@pytest.mark.parametrize(
    ("change", "prompts"),
    [(lambda inputs: None, 8), (a_shorter_prompt_and_padding_behind, 8 + 5)],
)
def test_logits_of_the_answers_are_the_same_with_the_prompt_computed_once(
    make, change, prompts
):
    model, inputs = make(), batch()
    change(inputs)
    shapes, forward = [], model.forward

    def recording(*args, **kwargs):
        shapes.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    model.forward = recording
    results = []
    for shared in (False, True):
        assert share_prompt(model) if shared else True
        logits, labels = answer_logits(model, inputs, model)
        asked = labels != -100
        chosen = logits.log_softmax(-1)[asked].gather(-1, labels[asked][:, None])
        model.zero_grad()
        (chosen[:, 0] * torch.linspace(-1, 1, len(chosen))).sum().backward()
        results.append(
            (
                labels[asked],
                chosen.detach(),
                [p.grad.clone() for p in model.parameters()],
            )
        )
    (labels, alone, before), (same, together, after) = results
    rows, tokens = inputs["input_ids"].shape
    # Each prompt without its last token, which each answer brings, and each answer without its own last one.
    assert (shapes[0], shapes[-1]) == ((rows, tokens), (1, prompts + rows * LONGEST))
    assert torch.equal(labels, same)
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(after, before, rtol=1e-3, atol=1e-4)


def with_padding_in_a_prompt(inputs):
    inputs["attention_mask"][1, 1] = 0


def with_only_different_prompts(inputs):
    inputs["input_ids"][:, 0] = torch.arange(5)


def with_a_hole(inputs):
    inputs["attention_mask"][0, len(PROMPT) + 2] = 0


def with_labels_everywhere(inputs):
    inputs["labels"] = inputs["input_ids"].clone()


def with_nothing_asked(inputs):
    inputs["labels"][:] = -100


def with_positions_of_its_own(inputs):
    inputs["position_ids"] = torch.arange(16).expand(5, -1)


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (llama, with_padding_in_a_prompt),
        (llama, with_only_different_prompts),
        (llama, with_a_hole),
        (llama, with_labels_everywhere),
        (llama, with_nothing_asked),
        (llama, with_positions_of_its_own),
        (lambda: gemma(sliding_window=8), lambda inputs: None),
    ],
)
def test_a_batch_that_cannot_be_shared_is_computed_as_it_is(make, change):
    (model, shapes), inputs = fused(make()), batch()
    change(inputs)
    repeated = model(**inputs, fused_lm_head=True)
    assert share_prompt(model)
    again = model(**inputs, fused_lm_head=True)
    assert shapes == [(5, 16), (5, 16)]
    assert torch.allclose(again.log_probs, repeated.log_probs, atol=1e-6)


def all_padded(inputs):
    """As a micro-batch of the shorter prompt is, where its generation batch has a longer one."""
    inputs["attention_mask"][:, :3] = 0


def an_answer_whose_first_token_is_not_asked(inputs):
    """It counts as a prompt's last token: that row shares with nobody."""
    inputs["labels"][0, len(PROMPT)] = -100


def a_long_answer_to_a_short_prompt(inputs):
    """Answers to the other prompt are not made as long."""
    inputs["labels"][4, 2:] = inputs["input_ids"][4, 2:]


def nothing_asked_of_a_row(inputs):
    """As GRPO does with a completion that was cut off."""
    inputs["labels"][1] = -100


def three_prompts(inputs):
    inputs["input_ids"][[0, 3], 0] = 11
    inputs["attention_mask"][[1, 4], :3] = 0


@pytest.mark.parametrize("make", [llama, qwen, gemma])
@pytest.mark.parametrize(
    ("change", "tokens"),
    [
        (all_padded, 5 + 5 * 7),
        (a_shorter_prompt_and_padding_behind, 8 + 3 * 7 + 5 + 2 * 7),
        (an_answer_whose_first_token_is_not_asked, 8 + 4 * 7 + 9 + 6),
        (a_long_answer_to_a_short_prompt, 8 + 4 * 7 + 1 + 14),
        (nothing_asked_of_a_row, 8 + 5 * 7),
        (three_prompts, 8 + 2 * 7 + 8 + 1 + 5 + 2 * 7),
    ],
)
def test_each_prompt_of_a_mixed_batch_is_computed_once(make, change, tokens):
    (model, shapes), inputs = fused(make()), batch()
    change(inputs)
    inputs["labels"][inputs["attention_mask"] == 0] = -100
    repeated = model(**inputs, fused_lm_head=True)
    asked = repeated.label_mask
    wanted = gradients(model, repeated.log_probs * asked)
    share_prompt(model)
    shared = model(**inputs, fused_lm_head=True)
    assert shapes == [(5, 16), (1, tokens)]
    assert torch.equal(shared.label_mask, asked)
    for name in ("log_probs", "entropy", "mean_logits"):
        assert torch.allclose(shared[name][asked], repeated[name][asked], atol=1e-5)
    for ours, theirs in zip(
        gradients(model, shared.log_probs * asked), wanted, strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-4 * float(theirs.abs().max()))


def test_other_calls_go_through_untouched():
    model, ids = llama(), batch()["input_ids"]
    before = model(input_ids=ids).logits
    add_fused_lm_head(model)
    share_prompt(model)
    assert torch.equal(model(input_ids=ids).logits, before)
    assert torch.equal(model(ids).logits, before)
    assert torch.isfinite(model(input_ids=ids, labels=ids).loss)
    assert "sozo" not in model.config.to_json_string()
    drawn, wanted = (
        m.generate(ids[:, :9], do_sample=False, max_new_tokens=4, pad_token_id=0)
        for m in (model, llama())
    )
    assert torch.equal(drawn, wanted)


def test_what_cannot_share_says_so(caplog):
    model = llama()
    model.config._attn_implementation = "eager"
    assert not share_prompt(model)
    assert "attn_implementation is eager, not sdpa" in caplog.text
    caplog.clear()
    assert not share_prompt(model)
    assert caplog.text == ""


def test_the_output_layer_sees_no_token_of_a_prompt(monkeypatch):
    (model, _), seen = fused(llama()), []
    through_head = _ChunkedLogProbFunction.apply

    def recording(hidden, *args):
        seen.append(len(hidden))
        return through_head(hidden, *args)

    monkeypatch.setattr(_ChunkedLogProbFunction, "apply", recording)
    assert share_prompt(model)
    model(**batch(), fused_lm_head=True)
    assert seen == [len(LENGTHS) * LONGEST]


@pytest.mark.parametrize(
    ("method", "lora"),
    [("sft", False), ("dpo", False), ("dpo", True), ("grpo", True)],
)
def test_the_trainers_share(method, lora, tmp_path):
    tokenizer = build_tokenizer(["犬", "猫", "水"])
    tokenizer.chat_template = None
    llama(eos_token_id=1).save_pretrained(tmp_path / "model")
    prompt = "1. 犬 2. 猫"
    settings = {
        "use_cpu": True,
        "bf16": False,
        "report_to": [],
        "save_strategy": "no",
        "max_steps": 2,
    }
    settings |= {"output_dir": str(tmp_path / "out"), "per_device_train_batch_size": 4}
    common = {
        "model": str(tmp_path / "model"),
        "processing_class": tokenizer,
        "peft_config": LoraConfig(target_modules="all-linear") if lora else None,
    }
    if method == "sft":
        rows = [{"prompt": prompt, "completion": " 3. 水 4. 犬"}] * 8
        trainer = SFTTrainer(
            train_dataset=Dataset.from_list(rows), args=SFTConfig(**settings), **common
        )
    elif method == "dpo":
        rows = [{"prompt": prompt, "chosen": " 3. 水", "rejected": " 3. 犬 4. 犬"}] * 8
        trainer = DPOTrainer(
            train_dataset=Dataset.from_list(rows), args=DPOConfig(**settings), **common
        )
    else:
        settings |= {"max_completion_length": 6, "num_generations": 2, "beta": 0.04}
        trainer = GRPOTrainer(
            reward_funcs=lambda completion_ids, **_: [
                float(len(set(ids))) for ids in completion_ids
            ],
            train_dataset=Dataset.from_list([{"prompt": prompt}] * 8),
            args=GRPOConfig(**settings),
            **common,
        )
    models = [
        without_adapter(model)
        for model in (trainer.model, getattr(trainer, "ref_model", None))
        if model
    ]
    seen = [spied(model) for model in models]
    assert all(share_prompt(model) for model in models)
    trainer.train()
    assert len(models) == (1 if lora or method == "sft" else 2)
    assert all(seen)
    assert {rows for shapes in seen for rows, _ in shapes} == {1}


def test_other_numbers_in_the_trial_are_a_warning_and_the_plain_way(
    monkeypatch, caplog
):
    (model, shapes), inputs = fused(llama()), batch()
    repeated = model(**inputs, fused_lm_head=True)
    assert share_prompt(model)
    # As if all tokens of the packed row stood at one position.
    monkeypatch.setattr(
        "sozo.training.shared_prompt.packed",
        lambda ids, layout: (
            (call := packed(ids, layout)) | {"position_ids": 0 * call["position_ids"]}
        ),
    )
    for _ in range(2):
        assert torch.equal(
            model(**inputs, fused_lm_head=True).log_probs, repeated.log_probs
        )
    assert shapes == [(5, 16)] * 3
    assert caplog.text.count("the prompt is computed again") == 1
    assert "LlamaForCausalLM gave other numbers" in caplog.text


def test_the_mask_of_a_packed_row_is_no_mask_without_it():
    states, marker = (
        torch.zeros((1, 2, 5, 4)),
        torch.ones((1, 1, 1, 1), dtype=torch.bool),
    )
    with pytest.raises(RuntimeError, match="was not told how a packed row attends"):
        _attend(torch.nn.Linear(1, 1), states, states, states, marker)


@pytest.mark.parametrize("lora", [False, True])
def test_dpos_reference_shares_the_prompt_too(lora, tmp_path):
    tokenizer = build_tokenizer(["犬", "猫", "水"])
    tokenizer.chat_template = None
    llama(eos_token_id=1).save_pretrained(tmp_path / "model")
    rows = [
        {"prompt": "1. 犬 2. 猫", "chosen": " 3. 水", "rejected": " 3. 犬 4. 犬"}
    ] * 6
    results = []
    for shared in (False, True):
        model = LlamaForCausalLM.from_pretrained(
            tmp_path / "model", dtype=torch.float32
        )
        seen, forward = (
            [],
            model.model.forward,
        )  # below what TRL and we put around the model

        def recording(*args, seen=seen, forward=forward, **kwargs):
            seen.append(len(kwargs["input_ids"]))
            return forward(*args, **kwargs)

        model.model.forward = recording
        settings = {
            "use_cpu": True,
            "bf16": False,
            "report_to": [],
            "save_strategy": "no",
        }
        settings |= {
            "output_dir": str(tmp_path / f"{shared}"),
            "per_device_train_batch_size": 3,
        }
        trainer = reference_trainer(shared)(
            model=model,
            processing_class=tokenizer,
            peft_config=LoraConfig(target_modules="all-linear") if lora else None,
            train_dataset=Dataset.from_list(rows),
            args=DPOConfig(precompute_ref_log_probs=True, max_steps=1, **settings),
        )
        # After the trial's two passes each micro-batch of three pairs is one row instead of six.
        assert seen == ([4, 1, 1, 1] if shared else [6, 6])
        results.append(
            [
                trainer.train_dataset[k]
                for k in ("ref_chosen_logps", "ref_rejected_logps")
            ]
        )
        assert share_prompt(trainer.model) == share_prompt(trainer.model)
    for ours, plain in zip(*reversed(results), strict=True):
        assert list(ours) == pytest.approx(list(plain), abs=1e-4)
