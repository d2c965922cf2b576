"""How much GPU memory a training step needs, from the model's shape: an estimate to plan with, not a measurement.

Model states (Rajbhandari et al., 2020, ZeRO, section 3.1), bytes for each of P parameters in mixed precision with Adam:

    weights 2 (bf16) + gradients 2 (bf16) + optimizer 12 (float32 master weights, momentum, variance) = 16

ZeRO divides by the number of processes N: stage 1 the optimizer states, stage 2 the gradients too, stage 3 the weights
too. In float32 the weights are their own master: 4 + 4 + 8, 16 as well. Without DeepSpeed, weights loaded in bf16 have
no float32 master (2 + 2 + 4): less memory, but steps smaller than a weight's last digit are lost, so full training in
bf16 wants DeepSpeed. With LoRA only the A adapter parameters have gradients and states (16 A); the frozen weights cost
2 P.

Activations (counted as Korthikanti et al., 2022, section 4, count them, for a Llama layer with SwiGLU, no dropout and
an attention that keeps no score matrix), bytes for each token and layer, with hidden size h, intermediate size f, query
width q and key width k (heads, key-value heads x head size):

    2 (4 h + 2 q + 2 k + 4 f)

the inputs of two norms, of the attention and of the MLP (4 h), queries and attention output (2 q), keys and values
(2 k), gate, up, activated gate, product (4 f). Checkpointing keeps each layer's input, 2 h, and one layer in full.

Head: TRL never holds all logits (`trl.kernels.chunked_logprob`). One tile of at most 4,096 tokens x 32,768 entries, the
float32 gradient of its inputs, 4 h for each token, and where the head is trained that of its weights, 4 V h.

What is left out: allocator fragmentation, communication buffers, gathered layers, CUDA itself; leave 10 GiB of an 80 GB
GPU free. On a CPU the tile is not one but several float32 copies.
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1024**3
_TILE_TOKENS, _TILE_ENTRIES = 4096, 32_768


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a decoder-only model, as its `config.json` gives it."""

    parameters: int  # all weights, tied ones once
    hidden_size: int  # width of the residual stream
    layers: int  # decoder layers
    heads: int  # query heads
    kv_heads: int  # key-value heads
    intermediate: int  # width of the gated MLP
    vocabulary: int  # rows of the embedding
    head_size: int | None = None  # width of a head; None is hidden_size / heads

    @property
    def query_width(self) -> int:
        """All query heads together."""
        return self.heads * (self.head_size or self.hidden_size // self.heads)

    @property
    def key_width(self) -> int:
        """All key heads together; the values have as much."""
        return self.kv_heads * (self.head_size or self.hidden_size // self.heads)

    def lora_parameters(self, rank: int) -> int:
        """Adapter parameters at `rank` on every linear layer (`all-linear`): rank x (inputs + outputs) of each.

        >>> Architecture(0, 4, 2, 2, 1, 8, 0).lora_parameters(1)
        128
        """
        h, q, k, f = self.hidden_size, self.query_width, self.key_width, self.intermediate
        return rank * self.layers * ((h + q) + 2 * (h + k) + (q + h) + 3 * (h + f))

    def kv_cache_bytes(self, tokens: int, element_bytes: int = 2) -> int:
        """Keys and values of `tokens` tokens over all layers."""
        return 2 * self.layers * self.key_width * tokens * element_bytes


@dataclass(frozen=True, slots=True)
class Memory:
    """What one GPU holds in a training step, in GiB."""

    weights: float
    gradients: float
    optimizer: float
    reference: float
    activations: float
    head: float

    @property
    def total(self) -> float:
        """All of it, in GiB."""
        return self.weights + self.gradients + self.optimizer + self.reference + self.activations + self.head


def tokens_at_once(responses: int, prompt: int, response: int, *, share_prompt: bool = True) -> int:
    """Tokens of a micro-batch: the prompt once (`training.shared_prompt`) or with every response.

    Args:
        responses: For DPO two for each pair.
        prompt: Tokens of the prompt.
        response: Tokens of the longest response.

    >>> tokens_at_once(4, 200, 256), tokens_at_once(4, 200, 256, share_prompt=False)
    (1224, 1824)
    """
    return (prompt if share_prompt else responses * prompt) + responses * response


def training_memory(
    model: Architecture,
    *,
    tokens: int,
    processes: int = 1,
    zero_stage: int = 0,
    bf16: bool = True,
    checkpointing: bool = True,
    lora_rank: int | None = None,
    reference_model: bool = False,
) -> Memory:
    """The estimate of this module's formulas.

    Args:
        model: Its shape.
        tokens: Tokens a GPU takes at once: see `tokens_at_once`.
        processes: GPUs that share the states, N.
        zero_stage: 0 (DDP or one GPU) to 3.
        bf16: Weights in bfloat16; False is float32.
        checkpointing: Activations are computed again in the backward pass.
        lora_rank: Of an adapter on every linear layer; None trains all weights.
        reference_model: A frozen copy is kept beside the model (GRPO with beta > 0, DPO without precomputed
            log-probabilities; never with LoRA, which switches the adapter off instead).

    >>> swallow = Architecture(8_030_261_248, 4096, 32, 32, 8, 14_336, 128_256)
    >>> memory = training_memory(swallow, tokens=tokens_at_once(4, 200, 256), processes=8, zero_stage=3)
    >>> round(memory.weights, 2), round(memory.gradients, 2), round(memory.optimizer, 2)
    (1.87, 1.87, 11.22)
    """
    if not 0 <= zero_stage <= 3 or min(tokens, processes) < 1:
        raise ValueError("zero_stage is 0 to 3; tokens and processes are at least 1")
    element = 2 if bf16 else 4
    shared = [processes if zero_stage >= stage else 1 for stage in (1, 2, 3)]
    trained = model.parameters if lora_rank is None else model.lora_parameters(lora_rank)
    gradient_bytes, state_bytes = _state_bytes(bf16, zero_stage, lora=lora_rank is not None)
    weights = element * model.parameters + (4 * trained if lora_rank is not None else 0)
    h, q, k, f = model.hidden_size, model.query_width, model.key_width, model.intermediate
    layer = element * (4 * h + 2 * q + 2 * k + 4 * f)
    per_token = element * h * model.layers + layer if checkpointing else layer * model.layers
    tile = min(tokens, _TILE_TOKENS) * min(model.vocabulary, _TILE_ENTRIES)
    head = element * tile + 4 * h * tokens + (4 * model.vocabulary * h if lora_rank is None else 0)
    return Memory(
        weights=weights / shared[2] / GIB,
        gradients=gradient_bytes * trained / shared[1] / GIB,
        optimizer=state_bytes * trained / shared[0] / GIB,
        reference=element * model.parameters / shared[2] / GIB if reference_model and lora_rank is None else 0.0,
        activations=tokens * per_token / GIB,
        head=head / GIB,
    )


def _state_bytes(bf16: bool, zero_stage: int, *, lora: bool) -> tuple[int, int]:
    """Bytes for each trained parameter: gradient, optimizer state."""
    if lora or not bf16:  # adapters are float32 even on frozen bf16 weights
        return 4, 8
    return (2, 12) if zero_stage else (2, 4)
