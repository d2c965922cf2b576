"""GPU memory, disk and GPU hours of a step, from the model's shape: estimates to plan with, not measurements.

The formulas and their sources are in recipes/README.md ("The formulas").
"""

from dataclasses import dataclass

GIB = 1024**3
_TILE_TOKENS, _TILE_ENTRIES = 4096, 32_768
_A100_PEAK = 312e12  # dense bfloat16 operations a second
H100_SPEED = 989e12 / _A100_PEAK  # at the same utilisation
_TRAINING = 0.35  # utilisation; generation reads all weights for each token of a batch
_GENERATION = {"vllm": 0.20, "transformers": 0.05}


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a decoder-only model, as its `config.json` gives it."""

    parameters: int  # all weights, tied ones once
    hidden_size: int  # width of the residual stream
    layers: int
    heads: int  # query heads
    kv_heads: int
    intermediate: int  # width of the gated MLP
    vocabulary: int  # rows of the embedding
    head_size: int | None = None  # None is hidden_size / heads

    @property
    def widths(self) -> tuple[int, int, int, int]:
        """Of the residual stream, of all query heads together, of all key heads (values have as much), of the MLP."""
        head = self.head_size or self.hidden_size // self.heads
        return (
            self.hidden_size,
            self.heads * head,
            self.kv_heads * head,
            self.intermediate,
        )

    def lora_parameters(self, rank: int) -> int:
        """Adapter parameters at `rank` on every linear layer (`all-linear`): rank x (inputs + outputs) of each."""
        h, q, k, f = self.widths
        return rank * self.layers * ((h + q) + 2 * (h + k) + (q + h) + 3 * (h + f))

    def kv_cache_bytes(self, tokens: int, element_bytes: int = 2) -> int:
        """Keys and values of `tokens` tokens over all layers."""
        return 2 * self.layers * self.widths[2] * tokens * element_bytes


def training_memory(
    model: Architecture,
    *,
    tokens: int,  # that a GPU takes at once
    processes: int = 1,  # GPUs that share the states
    zero_stage: int = 0,  # 0 (DDP or one GPU) to 3
    bf16: bool = True,  # weights in bfloat16; else float32
    checkpointing: bool = True,
    lora_rank: int
    | None = None,  # of an adapter on every linear layer; None trains all weights
    reference_model: bool = False,  # a frozen copy beside the model; LoRA switches its adapter off instead
) -> dict[str, float]:
    """What one GPU holds in a training step, in GiB, part by part.

    >>> swallow = Architecture(8_030_261_248, 4096, 32, 32, 8, 14_336, 128_256)
    >>> parts = training_memory(swallow, tokens=1224, processes=8, zero_stage=3)
    >>> {name: round(gib, 2) for name, gib in parts.items() if name in ("weights", "gradients", "optimizer")}
    {'weights': 1.87, 'gradients': 1.87, 'optimizer': 11.22}
    """
    lora, element = lora_rank is not None, 2 if bf16 else 4
    trained = (
        model.parameters if lora_rank is None else model.lora_parameters(lora_rank)
    )
    # Adapters are float32 even on frozen bf16 weights.
    gradient, state = (4, 8) if lora or not bf16 else (2, 12 if zero_stage else 4)
    shards = [processes if zero_stage >= stage else 1 for stage in (1, 2, 3)]
    h, q, k, f = model.widths
    layer = element * (4 * h + 2 * q + 2 * k + 4 * f)
    per_token = (
        element * h * model.layers + layer if checkpointing else layer * model.layers
    )
    tile = min(tokens, _TILE_TOKENS) * min(model.vocabulary, _TILE_ENTRIES)
    head = element * tile + 4 * h * tokens + (0 if lora else 4 * model.vocabulary * h)
    return {
        "weights": (element * model.parameters + (4 * trained if lora else 0))
        / shards[2]
        / GIB,
        "gradients": gradient * trained / shards[1] / GIB,
        "optimizer": state * trained / shards[0] / GIB,
        "reference": element * model.parameters / shards[2] / GIB
        if reference_model and not lora
        else 0.0,
        "activations": tokens * per_token / GIB,
        "head": head / GIB,
    }


def training_disk(
    model: Architecture,
    *,
    zero_stage: int = 0,
    bf16: bool = True,
    lora_rank: int | None = None,
) -> tuple[float, float]:
    """GiB of a checkpoint, and of the trained model.

    >>> swallow = Architecture(8_030_261_248, 4096, 32, 32, 8, 14_336, 128_256)
    >>> [round(gib) for gib in training_disk(swallow, zero_stage=3)]
    [105, 15]
    """
    lora, element = lora_rank is not None, 2 if bf16 else 4
    trained = (
        model.parameters if lora_rank is None else model.lora_parameters(lora_rank)
    )
    weights = 4 if lora else element
    # DeepSpeed's are a float32 master and two moments, and beside them the weights again where they are not sharded.
    states = (
        12 + (weights if zero_stage < 3 else 0)
        if zero_stage
        else 8
        if lora or not bf16
        else 4
    )
    return (weights + states) * trained / GIB, weights * trained / GIB


def generation_hours(parameters: int, tokens: int, backend: str) -> float:
    """A100 hours to generate `tokens` tokens; the one prompt that all share costs nothing beside them."""
    return 2 * parameters * tokens / (_A100_PEAK * _GENERATION[backend]) / 3600


def training_hours(
    parameters: int, tokens: int, *, checkpointing: bool, lora: bool, reference: bool
) -> float:
    """A100 hours to train on `tokens` tokens, prompts among them."""
    each = (4 if lora else 6) + 2 * checkpointing + 2 * reference
    return each * parameters * tokens / (_A100_PEAK * _TRAINING) / 3600
