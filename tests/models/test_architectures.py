"""Every causal architecture that can be built small: a prompt computed once gives what a repeated one gives."""

import numpy as np
import pytest
import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from small_batches import batch, fused
from small_models import small
from sozo.models.shared_prefix import draw, sample_tokens, why_not_sampled
from sozo.training.shared_prompt import share_prompt


def gradients(model, logps):
    """Of a loss that weighs the rows differently; None for what it does not depend on."""
    model.zero_grad()
    (logps * torch.linspace(-1, 1, len(logps))[:, None]).sum().backward()
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def close(ours, plain):
    if ours is None or plain is None:
        return ours is plain
    return torch.allclose(
        ours, plain, rtol=1e-2, atol=1e-3 * float(plain.detach().abs().max() + 1)
    )


def trained(model):
    """right, refused or wrong: the loss and the gradients of a batch with and without a shared prompt."""
    inputs = batch()
    try:
        model, shapes = fused(model)
        repeated = model(**inputs, fused_lm_head=True)
        expected = gradients(model, repeated.log_probs)
    except Exception:  # TRL's own head does not fit: nobody trains it
        return "refused"
    share_prompt(model)
    shared = model(**inputs, use_cache=False, fused_lm_head=True)
    pairs = zip(
        [shared.log_probs, *gradients(model, shared.log_probs)],
        [repeated.log_probs, *expected],
        strict=True,
    )
    if not all(close(ours, plain) for ours, plain in pairs):
        return "wrong"
    return "right" if shapes[-1][0] == 1 else "refused"


def sampled(model):
    """right, refused or wrong: tokens of the sampler beside those that the plain forward would have drawn."""
    prompt, uniforms = [5, 9, 3, 7], np.random.default_rng(0).random((6, 5))
    if why_not_sampled(model, 12):
        return "refused"
    for row, numbers in zip(
        sample_tokens(model, prompt, uniforms, ends=[]), uniforms, strict=True
    ):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prompt + row])).logits[
                0, len(prompt) - 1 : -1
            ]
        if draw(logits, torch.tensor(numbers)).tolist() != row:
            return "wrong"
    return "right"


@pytest.mark.slow
def test_every_architecture_is_right_or_refused():
    results = {}
    for name in sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        model = small(name)
        if model is not None:
            results[name] = (sampled(model), trained(model))
    verdicts = list(results.values())
    assert not {
        name: verdict for name, verdict in results.items() if "wrong" in verdict
    }
    assert {"llama", "mistral", "qwen2", "qwen3", "gemma3_text"} <= {
        n for n, v in results.items() if v == ("right",) * 2
    }
    assert len(verdicts) > 100
    assert sum(of_sampler == "right" for of_sampler, _ in verdicts) >= 70


@pytest.mark.parametrize("name", ["diffllama", "doge"])
def test_the_sampler_refuses_what_has_an_attention_of_its_own(name):
    assert sampled(small(name)) == "refused"


def test_a_layer_that_drops_what_attention_must_know_is_not_trusted(caplog):
    # Nemotron's decoder layers hand on the mask alone, and with it every token would see the future.
    assert trained(small("nemotron")) == "refused"
    assert "the prompt is computed again" in caplog.text
    assert "NemotronAttention was not told" in caplog.text


def test_a_learned_mask_is_not_dropped(caplog):
    # Doge's parameter is zero at first: the trial's logits would be equal, and the parameter would never learn.
    assert trained(small("doge")) == "refused"
    assert "DogeAttention makes a mask of its own" in caplog.text
