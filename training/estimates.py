"""GPU memory and disk of a training's states, from the model's shape: estimates to plan with, not measurements.

The formulas and their sources are in recipes/README.md ("The formulas").
"""

from dataclasses import dataclass
from typing import NamedTuple

from sozo.data.checkpoints import base_of, is_adapter
from sozo.data.errors import UserError
from sozo.models.tiny import tiny_seed

GIB = 1024**3
UNKNOWN = "memory and disk are not known: the model's config.json cannot be read here"


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


# Of the embedded model, which may still have to be built.
TINY = Architecture(1_313_152, 128, 2, 4, 4, 512, 6158)


class States(NamedTuple):
    """GiB of what a training keeps beside its activations."""

    memory: dict[str, float]  # of each process, part by part
    checkpoint: float
    model: float  # what stays on the disk


def states(
    model: Architecture,
    *,
    processes: int = 1,  # that share the states
    zero_stage: int = 0,  # 0 (DDP or one GPU) to 3
    bf16: bool = True,  # weights in bfloat16; else float32
    lora_rank: int | None = None,  # None trains all weights
    reference: bool = False,  # a frozen copy; LoRA switches its adapter off instead
) -> States:
    """What AdamW keeps for a model.

    >>> swallow = Architecture(8_030_261_248, 4096, 32, 32, 8, 14_336, 128_256)
    >>> found = states(swallow, processes=8, zero_stage=3)
    >>> {name: round(gib, 2) for name, gib in found.memory.items()}
    {'weights': 1.87, 'gradients': 1.87, 'optimizer': 11.22, 'reference': 0.0}
    >>> round(found.checkpoint), round(found.model)
    (105, 15)
    """
    lora = lora_rank is not None
    trained = model.parameters
    if lora_rank is not None:
        trained = model.lora_parameters(lora_rank)
    element = 2 if bf16 else 4
    own = 4 if lora else element  # adapters are float32 even on frozen bf16 weights
    moments = 8 if own == 4 else 12 if zero_stage else 4
    # DeepSpeed saves a float32 master and two moments, and the weights again where they are not sharded.
    saved = 12 + own * (zero_stage < 3) if zero_stage else moments
    optimizer, gradients, weights = (
        processes if zero_stage >= stage else 1 for stage in (1, 2, 3)
    )
    frozen = element * model.parameters
    memory = {
        "weights": (frozen + 4 * trained * lora) / weights,
        "gradients": own * trained / gradients,
        "optimizer": moments * trained / optimizer,
        "reference": frozen * (reference and not lora) / weights,
    }
    return States(
        {name: size / GIB for name, size in memory.items()},
        (own + saved) * trained / GIB,
        own * trained / GIB,
    )


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
        name, revision = base_of(name), None
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
