"""GPU memory and GPU hours of a step, from the model's shape: estimates to plan with, not measurements.

Model states (Rajbhandari et al., 2020, ZeRO, section 3.1), bytes for each of P parameters in mixed precision with Adam:

    weights 2 (bf16) + gradients 2 (bf16) + optimizer 12 (float32 master weights, momentum, variance) = 16

ZeRO divides by the number of processes: stage 1 the optimizer states, stage 2 the gradients too, stage 3 the weights
too. In float32 the weights are their own master: 4 + 4 + 8. Without DeepSpeed, weights loaded in bf16 have no float32
master (2 + 2 + 4): steps smaller than a weight's last digit are lost. With LoRA only the A adapter parameters have
gradients and states (16 A); the frozen weights cost 2 P.

Activations (as Korthikanti et al., 2022, section 4, count them, for a Llama layer with SwiGLU, no dropout and an
attention that keeps no score matrix), bytes for each token and layer, with hidden size h, intermediate size f, query
width q and key width k: 2 (4 h + 2 q + 2 k + 4 f), the inputs of two norms, of the attention and of the MLP (4 h),
queries and attention output, keys and values, gate, up, activated gate, product (4 f). Checkpointing keeps each layer's
input, 2 h, and one layer in full.

Head: TRL never holds all logits (`trl.kernels.chunked_logprob`). One tile of at most 4,096 tokens x 32,768 entries, the
float32 gradient of its inputs, 4 h for each token, and where the head is trained that of its weights, 4 V h.

Left out: allocator fragmentation, communication buffers, gathered layers, CUDA itself; leave 10 GiB of an 80 GB GPU
free. On a CPU the tile is not one but several float32 copies.

Hours = operations / (peak x utilisation). Operations for each token (Kaplan et al., 2020, section 2.1): 2 P forward,
6 P with the backward pass; checkpointing computes the forward pass again, LoRA spares the weights' gradients (2 P), a
reference model adds a forward pass. Utilisation (Chowdhery et al., 2022, section 4.1, for training) is assumed.
"""

from dataclasses import dataclass

GIB = 1024**3
_TILE_TOKENS, _TILE_ENTRIES = 4096, 32_768
_A100_PEAK = 312e12  # dense bfloat16 operations a second
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
        return self.hidden_size, self.heads * head, self.kv_heads * head, self.intermediate

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
    lora_rank: int | None = None,  # of an adapter on every linear layer; None trains all weights
    reference_model: bool = False,  # a frozen copy beside the model; LoRA switches its adapter off instead
) -> dict[str, float]:
    """What one GPU holds in a training step, in GiB, part by part.

    >>> swallow = Architecture(8_030_261_248, 4096, 32, 32, 8, 14_336, 128_256)
    >>> parts = training_memory(swallow, tokens=1224, processes=8, zero_stage=3)
    >>> {name: round(gib, 2) for name, gib in parts.items() if name in ("weights", "gradients", "optimizer")}
    {'weights': 1.87, 'gradients': 1.87, 'optimizer': 11.22}
    """
    lora, element = lora_rank is not None, 2 if bf16 else 4
    trained = model.parameters if lora_rank is None else model.lora_parameters(lora_rank)
    # Adapters are float32 even on frozen bf16 weights.
    gradient, state = (4, 8) if lora or not bf16 else (2, 12 if zero_stage else 4)
    shards = [processes if zero_stage >= stage else 1 for stage in (1, 2, 3)]
    h, q, k, f = model.widths
    layer = element * (4 * h + 2 * q + 2 * k + 4 * f)
    per_token = element * h * model.layers + layer if checkpointing else layer * model.layers
    tile = min(tokens, _TILE_TOKENS) * min(model.vocabulary, _TILE_ENTRIES)
    head = element * tile + 4 * h * tokens + (0 if lora else 4 * model.vocabulary * h)
    return {
        "weights": (element * model.parameters + (4 * trained if lora else 0)) / shards[2] / GIB,
        "gradients": gradient * trained / shards[1] / GIB,
        "optimizer": state * trained / shards[0] / GIB,
        "reference": element * model.parameters / shards[2] / GIB if reference_model and not lora else 0.0,
        "activations": tokens * per_token / GIB,
        "head": head / GIB,
    }


def generation_hours(parameters: int, tokens: int, backend: str) -> float:
    """A100 hours to generate `tokens` tokens; the one prompt that all share costs nothing beside them.

    >>> round(generation_hours(8_000_000_000, 131_072 * 60, "vllm"), 2)
    0.56
    """
    return 2 * parameters * tokens / (_A100_PEAK * _GENERATION[backend]) / 3600


def training_hours(parameters: int, tokens: int, *, checkpointing: bool, lora: bool, reference: bool) -> float:
    """A100 hours to train on `tokens` tokens, prompts among them."""
    each = (4 if lora else 6) + 2 * checkpointing + 2 * reference
    return each * parameters * tokens / (_A100_PEAK * _TRAINING) / 3600
