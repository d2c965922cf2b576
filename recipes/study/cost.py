"""GPU hours of a step by a stated model: an estimate, to be replaced by measurements.

Floating point operations for each token of a model of P parameters (Kaplan et al., 2020, section 2.1): 2 P forward,
6 P forward and backward; checkpointing computes the forward pass again (8 P), LoRA spares the weights' gradients (4 P,
6 P). Hours = operations / (peak x utilisation). Utilisation (Chowdhery et al., 2022, section 4.1, for training) is
assumed, not measured: 35% in training; in generation, which reads all weights for each token of a batch, 20% with vLLM
and 5% without.
"""

from __future__ import annotations

A100_PEAK = 312e12  # dense bfloat16 operations a second
TRAINING = 0.35
GENERATION = {"vllm": 0.20, "transformers": 0.05}


def generation_hours(parameters: int, tokens: int, backend: str) -> float:
    """GPU hours to generate `tokens` tokens; the one prompt that all share costs nothing beside them.

    >>> round(generation_hours(8_000_000_000, 131_072 * 60, "vllm"), 2)
    0.56
    """
    return 2 * parameters * tokens / (A100_PEAK * GENERATION[backend]) / 3600


def training_hours(
    parameters: int, tokens: int, *, checkpointing: bool, lora: bool = False, reference: bool = False
) -> float:
    """GPU hours to train on `tokens` tokens, prompts among them; `reference` adds a forward pass (DPO, GRPO with beta).

    >>> round(training_hours(8_000_000_000, 16_384 * 260, checkpointing=True), 2)
    0.69
    """
    each = (4 if lora else 6) + 2 * checkpointing + 2 * reference
    return each * parameters * tokens / (A100_PEAK * TRAINING) / 3600
