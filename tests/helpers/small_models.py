"""Small models of public architectures, with random weights."""

import numpy as np
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CONFIG_MAPPING,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

SMALL = {
    "vocab_size": 700,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
}


def llama(**changes):
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**(SMALL | changes))).eval()


def save_characters(folder, texts, seed=0):
    """A model in a folder that can write each character of the texts."""
    letters = sorted(set("".join(texts)))
    known = {token: k for k, token in enumerate(["</s>", "<unk>", *letters])}
    made = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    made.decoder = decoders.Fuse()
    special = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, **special)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    sizes |= {"num_attention_heads": 2, "vocab_size": len(known)}
    ends = {"eos_token_id": 0, "bos_token_id": None, "pad_token_id": 0}
    torch.manual_seed(seed)
    LlamaForCausalLM(LlamaConfig(**sizes, **ends)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def qwen(**changes):
    torch.manual_seed(0)
    return Qwen2ForCausalLM(Qwen2Config(**(SMALL | changes))).eval()


def gemma(**changes):
    torch.manual_seed(0)
    settings = {
        "head_dim": 8,
        "sliding_window": 64,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    return Gemma3ForCausalLM(Gemma3TextConfig(**(SMALL | settings | changes))).eval()


def uniforms(n, most, seed=0):
    return np.random.default_rng(seed).random((n, most))


def peaked(make):
    """Answers of it begin with the same few tokens for the most part."""
    model = make(initializer_range=0.05, tie_word_embeddings=False)
    model.lm_head.weight.data[:] = model.lm_head.weight * 12
    return model


# What architectures call the same things; a name that a configuration does not know is left out.
SETTINGS = {
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
        settings = {key: value for key, value in SETTINGS.items() if key in known}
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
