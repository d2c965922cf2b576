"""Every causal architecture that can be built small: a prompt computed once gives what a repeated one gives."""

import numpy as np
import pytest
import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from sozo.models.shared_prefix import draw, sample_tokens, why_not_sampled
from sozo.training.shared_prompt import share_prompt
from test_shared_prompt import batch, fused

# What architectures call the same things; a name that a configuration does not know is left out.
SMALL = {
    **dict.fromkeys(["vocab_size"], 700),
    **dict.fromkeys(["hidden_size", "n_embd", "d_model", "dim", "n_embed"], 32),
    **dict.fromkeys(
        ["intermediate_size", "n_inner", "ffn_dim", "d_ff", "moe_intermediate_size"], 64
    ),
    **dict.fromkeys(["shared_expert_intermediate_size", "dense_intermediate_size"], 64),
    **dict.fromkeys(["num_hidden_layers", "n_layer", "num_layers", "n_layers"], 2),
    **dict.fromkeys(["num_attention_heads", "n_head", "num_heads", "n_heads"], 4),
    **dict.fromkeys(["num_key_value_heads", "n_kv_heads", "num_kv_heads"], 2),
    **dict.fromkeys(["head_dim", "kv_channels"], 8),
    **dict.fromkeys(
        ["max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"], 128
    ),
    **dict.fromkeys(
        ["num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"], 4
    ),
    **dict.fromkeys(["num_experts_per_tok", "moe_topk", "moe_k", "top_k_experts"], 2),
    **dict.fromkeys(
        ["n_group", "topk_group", "n_shared_experts", "moe_num_shared_experts"], 1
    ),
    **dict.fromkeys(["initializer_range", "init_std"], 0.3),
    **dict.fromkeys(["pad_token_id", "bos_token_id"], 0),
    **dict.fromkeys(["eos_token_id"], 1),
    **dict.fromkeys(["vocab_size_per_layer_input"], 700),
    **dict.fromkeys(
        [
            "hidden_size_per_layer_input",
            "q_lora_rank",
            "kv_lora_rank",
            "qk_nope_head_dim",
        ],
        8,
    ),
    **dict.fromkeys(["qk_rope_head_dim", "v_head_dim"], 8),
    **dict.fromkeys(
        ["attention_dropout", "hidden_dropout", "resid_pdrop", "attn_pdrop", "dropout"],
        0.0,
    ),
}
LARGEST = 20_000_000


def small(name):
    """A model of the architecture with random weights, or None where the names above do not make it small."""
    try:
        config_class = CONFIG_MAPPING[name]
        known = config_class().to_dict()
        settings = {key: value for key, value in SMALL.items() if key in known}
        if known.get("layer_types"):
            settings["layer_types"] = known["layer_types"][:2]
        config = config_class(**settings)
        with torch.device("meta"):
            size = sum(
                p.numel()
                for p in transformers.AutoModelForCausalLM.from_config(
                    config
                ).parameters()
            )
        if size > LARGEST:
            return None
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(0, 0.3)
            model(input_ids=torch.tensor([[5, 6, 7]]))
    except (
        Exception
    ):  # an architecture with names or needs of its own: not swept, and counted
        return None
    return model


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


@pytest.mark.parametrize("name", ["diffllama", "doge", "jetmoe"])
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
