"""The loss with the prompt computed once: the same log-probabilities, entropies and gradients as TRL's own."""

import pytest
import torch
from datasets import Dataset
from test_shared_prefix import gemma, llama, qwen
from trl import GRPOConfig
from trl.trainer.utils import add_fused_lm_head

from training.shared_prompt import SharedPromptGRPOTrainer, packed, unpacked
from training.tiny import build_tokenizer

PROMPT, LENGTHS, LONGEST = [5, 9, 3, 7, 7, 2, 8, 8, 1], (7, 3, 1, 5, 7), 7


def batch():
    """Ids and mask of five completions behind one prompt, padded on the right."""
    torch.manual_seed(3)
    prompts = torch.tensor(PROMPT).expand(len(LENGTHS), -1)
    ids = torch.cat([prompts, torch.randint(0, 700, (len(LENGTHS), LONGEST))], dim=1)
    mask = torch.ones_like(ids)
    for row, length in enumerate(LENGTHS):
        mask[row, len(PROMPT) + length :] = 0
    return ids, mask


def gradients(model, logps):
    """Of a loss that weighs the rows differently, as advantages do."""
    model.zero_grad()
    (logps * torch.linspace(-1, 1, len(logps))[:, None]).sum().backward()
    return [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("make", [llama, qwen, gemma])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_packed_row_gives_what_single_rows_give(make, checkpointing):
    model, (ids, mask) = make(), batch()
    add_fused_lm_head(model, temperature=0.9, outputs=("log_probs", "entropy"))
    labels = ids.masked_fill(mask == 0, -100)
    labels[:, : len(PROMPT)] = -100
    plain = model(input_ids=ids, attention_mask=mask, labels=labels, fused_lm_head=True)
    plain_gradients = gradients(model, plain.log_probs[:, -LONGEST:])

    model.config.get_text_config()._attn_implementation = "sozo_shared_prompt"
    model.train()
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    shared = model(**packed(ids, mask, len(PROMPT)), fused_lm_head=True)
    logps = unpacked(shared.log_probs, ids, len(PROMPT))
    assert logps.shape == (5, LONGEST)
    assert torch.allclose(logps, plain.log_probs[:, -LONGEST:], atol=1e-5)
    assert torch.allclose(unpacked(shared.entropy, ids, len(PROMPT)), plain.entropy[:, -LONGEST:], atol=1e-5)
    for ours, theirs in zip(gradients(model, logps), plain_gradients, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4 * float(theirs.abs().max()))


def test_a_packed_row_holds_the_prompt_once():
    ids, mask = batch()
    row = packed(ids, mask, len(PROMPT))
    tokens = len(PROMPT) - 1 + len(LENGTHS) * LONGEST
    assert row["input_ids"].shape == row["position_ids"].shape == row["shift_labels"].shape == (1, tokens)
    assert row["input_ids"][0, :8].tolist() == PROMPT[:-1]
    assert row["input_ids"][0, 8::LONGEST].tolist() == [PROMPT[-1]] * 5  # each predicts its completion's first token
    assert row["position_ids"][0, 8 : 8 + LONGEST].tolist() == list(range(8, 8 + LONGEST))
    assert int((row["shift_labels"] >= 0).sum()) == sum(LENGTHS)


@pytest.fixture
def trainer(tmp_path):
    """Makes a trainer of a small model with 700 tokens."""

    def make(model, **settings):
        tokenizer = build_tokenizer(["犬", "猫", "水"])
        tokenizer.chat_template = None
        settings = {"max_completion_length": 6, "num_generations": 2, "per_device_train_batch_size": 4} | settings
        settings |= {"use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no"}
        args = GRPOConfig(output_dir=str(tmp_path), **settings)
        rows = Dataset.from_list([{"prompt": "1. 犬 2. 猫"}] * 8)

        def reward(completion_ids, **kwargs):
            return [float(len(set(ids))) for ids in completion_ids]

        return SharedPromptGRPOTrainer(
            model, reward_funcs=reward, args=args, train_dataset=rows, processing_class=tokenizer
        )

    return make


def spied(trainer):
    """The trainer, and the shapes of what its model was given in the loss."""
    shapes, forward = [], trainer.model.forward

    def recording(*args, **kwargs):
        if kwargs.get("fused_lm_head"):
            shapes.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    trainer.model.forward = recording
    return shapes


def test_the_trainer_shares_where_it_can(trainer, tmp_path):
    llama().save_pretrained(tmp_path / "model")
    shared = trainer(str(tmp_path / "model"), max_steps=2, beta=0.04)  # beta: a reference model's log-probabilities too
    shapes = spied(shared)
    shared.train()
    assert shapes
    assert all(rows == 1 for rows, _ in shapes)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: gemma(sliding_window=8), "its sliding window of 8 tokens"),
        (lambda: set_eager(llama()), "attn_implementation is eager, not sdpa"),
    ],
)
def test_where_it_cannot_it_computes_as_trl_does_and_says_so_once(trainer, make, reason, caplog):
    plain = trainer(make(), max_steps=2)
    shapes = spied(plain)
    plain.train()
    assert shapes
    assert all(rows == 4 for rows, _ in shapes)
    assert [reason in record.message for record in caplog.records if "computed for every" in record.message] == [True]


def set_eager(model):
    model.config._attn_implementation = "eager"
    return model


def test_other_prompts_images_and_padding_are_left_to_trl(trainer):
    shared = trainer(llama())
    ids, mask = batch()
    model = shared.model

    def both(ids, mask):
        whole, entropies, _ = shared._get_per_token_logps_and_entropies(
            model, ids, mask, LONGEST, batch_size=2, compute_entropy=True
        )
        alone = [shared._get_per_token_logps_and_entropies(model, i, m, LONGEST)[0] for i, m in rows(ids, mask)]
        assert torch.allclose(whole, torch.cat(alone), atol=1e-5)
        assert entropies.shape == whole.shape
        return whole

    def rows(ids, mask):
        return zip(ids.split(1), mask.split(1), strict=True)

    together = both(ids, mask)
    other = ids.clone()
    other[0, 0] = 11
    assert not torch.allclose(both(other, mask)[0], together[0])
    padded = mask.clone()
    padded[:, :2] = 0
    assert not torch.allclose(both(ids, padded), together)
