"""From `model_name_or_path` to a folder of weights and a tokenizer that any of the methods can train with."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path
from typing import Any

from trl import ModelConfig

from models.adapter import is_adapter
from models.own_process import run_module
from models.tiny import NAME as TINY
from models.tiny import ensure_tiny
from training.config import ConfigError

logger = logging.getLogger(__name__)


def model_path(model: ModelConfig, training: Any) -> str:
    """Where the model's weights are; `tiny` is built and a LoRA adapter merged into its base model first."""
    name = model.model_name_or_path
    if name is None:
        raise ConfigError("model_name_or_path is missing: a folder, a hub id, or tiny for the embedded model")
    if name == TINY:
        with training.main_process_first(desc="building the embedded model"):
            return str(ensure_tiny())
    if not is_adapter(name):
        return name
    merged = Path(training.output_dir).resolve() / "_merged"  # TRL's push_to_hub leaves "_*" out
    with training.main_process_first(local=False, desc="merging the LoRA adapter"):
        if not merged.is_dir():
            try:
                run_module("models.merge", name, str(merged), model.dtype or "auto")
            except subprocess.CalledProcessError as error:
                raise ConfigError(f"cannot start from the LoRA adapter in {name} (the line above says why)") from error
    return str(merged)


def load_tokenizer(path: str, revision: str | None, *, say: bool = True) -> Any:
    """The tokenizer of a model; one without a pad token pads with its end-of-sequence token, which is said once.

    Raises:
        ConfigError: There is no such model, or its tokenizer cannot end a sequence.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(path, revision=revision)
    except Exception as error:  # whatever a folder or the hub holds, the reader needs one line
        raise ConfigError(f"cannot load the model {path}: {' '.join(str(error).split())[:300]}") from error
    if tokenizer.eos_token is None:
        raise ConfigError(f"the tokenizer of {path} has no eos_token, so the model could never learn to stop; set one")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
        if say:
            logger.warning("the tokenizer of %s has no pad token; padding with %r", path, tokenizer.eos_token)
    return tokenizer
