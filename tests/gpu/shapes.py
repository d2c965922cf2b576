"""Models of the recipes' shapes with random weights, made without a hub, and the little that they are trained on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from sozo.data.prompts import prompt
from sozo.data.schema import write_columns
from sozo.training.estimates import Architecture

_ROOT = Path(__file__).parents[2]
_RECIPES = {"tiny": "tiny", "0.3b": "gemma-3-270m", "8b": "swallow-8b"}
_DEVIATION = 3.0  # of the logits: distributions that are neither flat nor certain


@dataclass(frozen=True, slots=True)
class Shape:
    """A model's shape, and how much of what it is checked with."""

    name: str
    architecture: Architecture
    rows: int  # answers in a step; four times as many are sampled at once
    answer: int  # tokens of each
    adapter: (
        bool  # trained as a LoRA adapter: with all weights it would not fit one GPU
    )
    checkpointing: bool


def shape(name: str) -> Shape:
    """The shape called `name`: that of its recipe, with an output layer of its own.

    A random output layer that is tied to the embeddings would repeat the last token for ever. Where a recipe's model
    ties them, half the vocabulary takes their place: as many weights.
    """
    file = _ROOT / "recipes" / _RECIPES[name] / "reproduce.yaml"
    given = Architecture(**yaml.safe_load(file.read_text("utf-8"))["architecture"])
    h, q, k, f = given.widths
    layers = given.layers * (2 * h * q + 2 * h * k + 3 * h * f + 2 * h) + h
    tied = given.parameters - layers < 1.5 * given.vocabulary * h
    vocabulary = given.vocabulary // 2 if tied else given.vocabulary
    untied = replace(
        given, vocabulary=vocabulary, parameters=layers + 2 * vocabulary * h
    )
    rows, answer, large = {
        "tiny": (4, 16, False),
        "0.3b": (8, 64, False),
        "8b": (8, 64, True),
    }[name]
    return Shape(name, untied, rows, answer, large, large)


def build(shape: Shape, folder: Path, device: str) -> None:
    """Save model and tokenizer in `folder`, in bfloat16, so that float32 begins with the same weights; once."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    if (folder / "config.json").is_file():
        return
    a = shape.architecture
    sizes = {
        "vocab_size": a.vocabulary,
        "hidden_size": a.hidden_size,
        "intermediate_size": a.intermediate,
    }
    sizes |= {
        "num_hidden_layers": a.layers,
        "num_attention_heads": a.heads,
        "num_key_value_heads": a.kv_heads,
    }
    sizes |= {
        "head_dim": a.head_size or a.hidden_size // a.heads,
        "max_position_embeddings": 4096,
    }
    tokens = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(
        torch.bfloat16
    )  # 8B in float32 would need twice the memory of what is saved
    try:
        with torch.device(device):
            model = LlamaForCausalLM(
                LlamaConfig(**sizes, **tokens, tie_word_embeddings=False)
            )
    finally:
        torch.set_default_dtype(before)
    with torch.no_grad():
        model.lm_head.weight.normal_(0, _DEVIATION / a.hidden_size**0.5)
    partial = folder.with_name(f"{folder.name}.partial")
    model.save_pretrained(partial)
    tokenizer(a.vocabulary).save_pretrained(partial)
    partial.rename(folder)


def tokenizer(vocabulary: int) -> Any:
    """One token for each character of the DAT prompt; all others are words `w0;`, `w1;`, ..."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = ["<pad>", "</s>", "<unk>", *sorted(set(prompt("dat")))]
    tokens += [word(k) for k in range(vocabulary - len(tokens))]
    fast = Tokenizer(
        models.WordLevel(
            {token: i for i, token in enumerate(tokens)}, unk_token="<unk>"
        )
    )
    fast.pre_tokenizer = pre_tokenizers.Split(Regex(r"w[0-9]+;|[\s\S]"), "isolated")
    fast.decoder = decoders.Fuse()
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=fast, padding_side="left", model_max_length=4096, **special
    )


def word(number: int) -> str:
    """The text of a token."""
    return f"w{number};"


def write_table(shape: Shape, folder: Path) -> None:
    """Answers for SFT and DPO: words in a row, scored by their order."""
    count = 4 * shape.rows
    texts = [
        "".join(word((37 * row + k) % 1000) for k in range(shape.answer))
        for row in range(count)
    ]
    scores = [1 - row / count for row in range(count)]
    columns: dict[str, list[Any]] = {"id": [f"{row:04d}" for row in range(count)]}
    columns |= {"text": texts, "score": scores}
    write_columns(folder / "part-00000.parquet", columns)


def even_words(completions: list[str], **kwargs: Any) -> list[float]:
    """What GRPO is paid here: the share of a completion's words that have an even number."""
    numbers = [
        [part for part in text.split(";") if part[1:].isdigit()] for text in completions
    ]
    return [
        sum(int(part[1:]) % 2 == 0 for part in parts) / max(1, len(parts))
        for parts in numbers
    ]
