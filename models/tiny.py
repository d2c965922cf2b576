"""The embedded model `tiny`: a two-layer Llama over 6,144 dictionary nouns that learns the DAT on a laptop.

One token per noun, per list number and for the whole DAT prompt, so an answer is 21 tokens. Its noun embeddings start
from the principal components of the packaged word vectors; the rest is random. SFT on random lists of its nouns then
teaches it the form of an answer. Deterministic for a seed: `tiny` is made with seed 0, `tiny@3` with seed 3, which
decides the random weights, the lists and their order.
"""

import hashlib
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sozo.data.cache import cache_home, make_cache
from sozo.data.errors import UserError
from sozo.data.extras import install_command
from sozo.data.nouns import tiny_nouns
from sozo.data.progress import console
from sozo.data.prompts import as_completion, prompt
from sozo.data.prompts.form import PLAIN
from sozo.models.processes import quiet_libraries, run_module
from sozo.scoring.parse import NUM_WORDS, write_list

TINY = "tiny"
_SETTINGS: dict[str, Any] = {
    "revision": 3,
    "hidden": 128,
    "layers": 2,
    "embedding_norm": 0.5,
}
_SETTINGS |= {"lists": 7168, "batch": 32, "learning_rate": 3e-3}
_CHAT_TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content + eos_token }}"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}"
)


def tiny_seed(name: str | None) -> int | None:
    """The seed of the embedded model that a name stands for; None for the name of any other model.

    >>> tiny_seed("tiny"), tiny_seed("tiny@3"), tiny_seed("org/model")
    (0, 3, None)
    """
    match = re.fullmatch(rf"{TINY}(?:@([0-9]{{1,9}}))?", name or "")
    return int(match[1] or 0) if match else None


def tiny_folder(name: str = TINY) -> Path:
    """Where the warm-started model is kept: SOZO_CACHE (default ~/.cache/sozo), by all that decides its weights."""
    try:
        versions = [
            version(package) for package in ("torch", "transformers", "trl", "ja-ginza")
        ]
    except PackageNotFoundError as error:
        needed = install_command("train", "offline")
        raise UserError(
            f"the embedded model needs the package {error.name}: {needed}"
        ) from error
    settings = _SETTINGS | {"seed": tiny_seed(name)}
    decisive = json.dumps([settings, versions, prompt("dat"), tiny_nouns()])
    digest = hashlib.sha256(decisive.encode()).hexdigest()[:12]
    return cache_home() / f"{TINY}-{digest}"


def ensure_tiny(name: str = TINY) -> Path:
    """The folder of the warm-started model, made first if it is not there (half a minute on two cores)."""
    folder = tiny_folder(name)
    if not (folder / "config.json").is_file():
        console(stderr=True).print(
            f"{name}: the embedded model is built once, into {folder}"
        )
        # In a process of its own it comes out the same inside any distributed run.
        make_cache(folder.parent)
        failure = "the embedded model could not be made"
        run_module(
            "sozo.models.tiny", str(folder), str(tiny_seed(name)), failure=failure
        )
    return folder


def noun_vectors(nouns: Sequence[str]) -> np.ndarray:
    """The nouns' unit vectors in the packaged encoder, shape (nouns, 300)."""
    from sozo.scoring.embeddings import WordVectors, make_encoder

    return WordVectors(make_encoder("ja-ginza")).unit(nouns)


def build_tokenizer(nouns: Sequence[str]) -> Any:
    """Word-level tokenizer: special tokens, the DAT prompt, the ten list numbers, the nouns."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
    )
    from transformers import PreTrainedTokenizerFast

    numbers = [f"{k}. " if k == 1 else f"\n{k}. " for k in range(1, NUM_WORDS + 1)]
    tokens = ["<pad>", "</s>", "<unk>", prompt("dat"), *numbers, *nouns]
    tokenizer = Tokenizer(
        models.WordLevel(
            {token: i for i, token in enumerate(tokens)}, unk_token="<unk>"
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n?[0-9]+\. "), "isolated")
    tokenizer.decoder = decoders.Fuse()
    # An added token is cut out before the text is split: the whole prompt is one token.
    tokenizer.add_tokens([AddedToken(prompt("dat"), normalized=False)])
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, padding_side="left", **special
    )
    fast.chat_template, fast.model_max_length = _CHAT_TEMPLATE, 128
    return fast


def build_model(vocabulary_size: int, vectors: np.ndarray) -> Any:
    """A small Llama: random weights, but the last embeddings are the principal components of the nouns' `vectors`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    hidden = _SETTINGS["hidden"]
    sizes = {
        "vocab_size": vocabulary_size,
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
    }
    sizes |= {
        "num_hidden_layers": _SETTINGS["layers"],
        "num_attention_heads": 4,
        "max_position_embeddings": 128,
    }
    tokens = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    model = LlamaForCausalLM(LlamaConfig(**sizes, **tokens, tie_word_embeddings=True))
    centred = vectors - vectors.mean(axis=0)
    meaning = torch.tensor(
        centred @ np.linalg.svd(centred, full_matrices=False).Vh[:hidden].T
    )
    # The nouns are the last tokens. Equal lengths: at first no noun is likelier than another.
    embeddings = model.get_input_embeddings().weight.data
    embeddings[-len(meaning) :] = (
        meaning * _SETTINGS["embedding_norm"] / meaning.norm(dim=1, keepdim=True)
    )
    return model


def warm_start(
    model: Any, tokenizer: Any, texts: Sequence[str], output_dir: Path, **settings: Any
) -> Any:
    """The model fine-tuned in memory to write `texts`, on the CPU; `settings` are further fields of TRL's SFTConfig."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    conversational = bool(tokenizer.chat_template)
    question = PLAIN.prompt(prompt("dat"), conversational=conversational)
    rows = [
        {
            "prompt": question,
            "completion": as_completion(text, conversational=conversational),
        }
        for text in texts
    ]
    fixed = {
        "max_length": None,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
    }
    fixed |= {
        "activation_checkpointing": False,
        "dataloader_pin_memory": False,
        "completion_only_loss": True,
    }
    arguments = SFTConfig(output_dir=str(output_dir), **fixed, **settings)
    data = Dataset.from_list(rows)
    trainer = SFTTrainer(
        model=model, args=arguments, train_dataset=data, processing_class=tokenizer
    )
    trainer.train()
    return trainer.model


def main(folder: Path, seed: int) -> None:
    """Build and warm-start the model and save it in `folder`."""
    from transformers import set_seed

    quiet_libraries(use_cpu=True)
    set_seed(seed)
    nouns, draw = tiny_nouns(), random.Random(seed)
    lists = [
        write_list(draw.sample(nouns, NUM_WORDS)) for _ in range(_SETTINGS["lists"])
    ]
    tokenizer = build_tokenizer(nouns)
    settings = {
        "per_device_train_batch_size": _SETTINGS["batch"],
        "learning_rate": _SETTINGS["learning_rate"],
    }
    settings |= {
        "lr_scheduler_type": "cosine",
        "warmup_steps": 20,
        "num_train_epochs": 1,
        "logging_steps": 20,
    }
    settings |= {"seed": seed, "disable_tqdm": not sys.stderr.isatty()}
    model = build_model(len(tokenizer), noun_vectors(nouns))
    with TemporaryDirectory() as work:
        save(
            folder,
            warm_start(model, tokenizer, lists, Path(work), **settings),
            tokenizer,
        )


def save(folder: Path, model: Any, tokenizer: Any) -> None:
    """Save a model and its tokenizer in `folder`, which appears only when it is complete."""
    # Another process may be building it too
    work = folder.with_name(f"{folder.name}.{os.getpid()}")
    model.save_pretrained(work)
    tokenizer.save_pretrained(work)
    try:
        work.rename(folder)
    except OSError:
        if not (folder / "config.json").is_file():  # else another process was faster
            raise
        shutil.rmtree(work)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
