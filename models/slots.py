"""How many responses are decoded at once where nobody says: 256, and on a GPU as many as its memory holds."""

from typing import Any

USUAL, MOST = 256, 1024


def fitting_slots(model: Any, max_new_tokens: int, free: int | None = None) -> int:
    """Slots of up to `max_new_tokens` for `model` where it is now: between USUAL and MOST.

    A step of a large model costs the same launches for any number of rows, so more rows cost less each. `free` bytes
    of a GPU's memory are asked for unless given; half of them are for keys and values and a row of logits, the other
    half for what else a step needs. A CPU has USUAL: there more rows cost as much more.
    """
    if free is None:
        if model.device.type != "cuda":
            return USUAL
        import torch

        free, _ = torch.cuda.mem_get_info(model.device)
    return max(USUAL, min(MOST, free // 2 // bytes_of_a_slot(model, max_new_tokens)))


def bytes_of_a_slot(model: Any, max_new_tokens: int) -> int:
    """Keys and values of `max_new_tokens` tokens in each layer, and a token's logits, in the model's own type."""
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    token = 2 * config.num_hidden_layers * (getattr(config, "num_key_value_heads", None) or heads) * size
    return int((token * max_new_tokens + config.vocab_size) * model.dtype.itemsize)
