"""Which models can attend from many responses to one copy of their prompt, in sampling and in training."""

from typing import Any


def why_not_shared(model: Any, length: int) -> str | None:
    """Why `model` cannot share a prompt up to `length` tokens of prompt and response together, or None if it can.

    It can where attention is full, or a sliding window that nothing falls out of, and goes through transformers'
    attention interface: Llama, Qwen2, Qwen3, Mistral, Gemma 3 and their like, with a LoRA adapter too.
    """
    model = without_adapter(model)
    config = model.config.get_text_config()
    layers = set(getattr(config, "layer_types", None) or ["sliding_attention"])
    window = getattr(config, "sliding_window", None)
    if config.is_encoder_decoder:
        return "it is an encoder-decoder"
    if others := layers - {"full_attention", "sliding_attention"}:
        return f"it has layers of type {', '.join(sorted(others))}"
    if not getattr(model, "_supports_attention_backend", False):
        return "its attention does not go through transformers' attention interface"
    if getattr(config, "attn_logit_softcapping", None):
        return "it caps attention logits"
    slides = "sliding_attention" in layers and getattr(config, "use_sliding_window", True)
    if slides and window and window < length:
        return f"its sliding window of {window} tokens is shorter than prompt and response ({length})"
    return None


def without_adapter(model: Any) -> Any:
    """The transformers model inside a PEFT model, or the model itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
