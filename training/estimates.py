"""GPU memory, disk and GPU hours of a step, from the model's shape: estimates to plan with, not measurements.

The formulas and their sources are in recipes/README.md ("The formulas").
"""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from sozo.data.checkpoints import base_of, is_adapter
from sozo.data.errors import UserError
from sozo.models.tiny import tiny_seed

GIB = 1024**3
DISK_GIB = 1.0  # written in a second by all processes together: assumed, of a file system in a network
_TILE_TOKENS = 4096
_TILE_ENTRIES = 32_768
_UTILISATION = 0.35  # of the peak


@dataclass(frozen=True, slots=True)
class Gpu:
    """What a GPU can do at most."""

    name: str
    peak: float  # dense bfloat16 operations a second
    bandwidth: float  # bytes a second from its memory


GPUS = (Gpu("A100", 312e12, 2.04e12), Gpu("H100", 989e12, 3.35e12))
# Seconds that launching a layer's kernels for one token takes without vLLM's CUDA graphs, however many answers it is
# for: 19 to 24 ms in all for 18 layers, measured on one H200 (benchmarks/README.md).
_LAUNCH = 0.022 / 18


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


# Of the embedded model, which may still have to be built.
TINY = Architecture(1_313_152, 128, 2, 4, 4, 512, 6158)


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
    lora = lora_rank is not None
    element = 2 if bf16 else 4
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
    lora = lora_rank is not None
    element = 2 if bf16 else 4
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


def free_gib(folder: Path) -> float:
    """GiB that are free where a folder is or will be."""
    folder = folder.absolute()
    place = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(place).free / GIB


def drawing_hours(
    model: Architecture,
    gpu: Gpu,
    *,
    answers: int,
    length: int,  # tokens of an answer
    prompt: int,  # tokens before it
    at_once: int,  # answers that one GPU decodes together
    vllm: bool,
    bf16: bool = True,
) -> float:
    """Hours of one GPU to draw answers: a token of each waits for the weights' bytes, the operations or the launches.

    >>> swallow = Architecture(8_030_261_248, 4096, 32, 32, 8, 14_336, 128_256)
    >>> told = {"answers": 131_072, "length": 60, "prompt": 200, "at_once": 256}
    >>> round(drawing_hours(swallow, GPUS[0], vllm=True, **told), 2)
    0.32
    """
    at_once = min(at_once, answers)
    element = 2 if bf16 else 4
    keys = model.kv_cache_bytes(prompt + length // 2, element)
    reading = (element * model.parameters + at_once * keys) / gpu.bandwidth
    computing = 2 * model.parameters * at_once / (gpu.peak * _UTILISATION)
    launching = 0.0 if vllm else _LAUNCH * model.layers
    token = max(reading, computing, launching)
    return math.ceil(answers / at_once) * length * token / 3600


def training_hours(
    parameters: int,
    tokens: int,
    gpu: Gpu,
    *,
    checkpointing: bool,
    lora: bool,
    reference: bool,
) -> float:
    """Hours of one GPU to train on `tokens` tokens, prompts among them."""
    each = (4 if lora else 6) + 2 * checkpointing + 2 * reference
    return each * parameters * tokens / (gpu.peak * _UTILISATION) / 3600


def architecture_of(name: str, revision: str | None = None) -> Architecture:
    """The shape of a model: a folder, an adapter (its base's), tiny, or a hub id, of which config.json is fetched.

    The parameters are counted on the model itself, made without memory. UserError where there is no config.json, or no
    decoder.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    if tiny_seed(name) is not None:
        return TINY
    if is_adapter(name):
        name = base_of(name)
        revision = None
    try:
        config = AutoConfig.from_pretrained(name, revision=revision)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
        text = config.get_text_config()
        return Architecture(
            parameters=sum(weight.numel() for weight in model.parameters()),
            hidden_size=text.hidden_size,
            layers=text.num_hidden_layers,
            heads=text.num_attention_heads,
            kv_heads=getattr(text, "num_key_value_heads", text.num_attention_heads),
            intermediate=getattr(text, "intermediate_size", 4 * text.hidden_size),
            vocabulary=text.vocab_size,
            head_size=getattr(text, "head_dim", None),
        )
    except (OSError, ValueError, AttributeError) as error:
        first = str(error).partition("\n")[0]
        raise UserError(f"{name}: no shape to plan with ({first})") from error
