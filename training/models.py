"""From `model_name_or_path` to a folder of weights and a tokenizer that any of the methods can train with."""

import logging
from pathlib import Path
from typing import Any

from trl import ModelConfig

from sozo.data.errors import UserError
from sozo.models.tiny import TINY, ensure_tiny
from sozo.models.weights import is_adapter, load_tokenizer, merge_adapter, pinned

logger = logging.getLogger(__name__)


def pin_revision(model: ModelConfig) -> str | None:
    """Replace the revision of a hub model by the commit it stands for, which is returned; None for all else.

    So model, tokenizer and reference are of one commit, and a run that resumes refuses another.
    """
    name = model.model_name_or_path
    if name in (None, TINY) or Path(str(name)).is_dir():
        return None
    _, model.model_revision = pinned(str(name), model.model_revision)
    return model.model_revision


def model_path(model: ModelConfig, training: Any) -> str:
    """Where the model's weights are; `tiny` is built and a LoRA adapter merged into its base model first."""
    if (name := model.model_name_or_path) is None:
        raise UserError("model_name_or_path is missing: a folder, a hub id, or tiny for the embedded model")
    if name == TINY:
        with training.main_process_first(desc="building the embedded model"):
            return str(ensure_tiny())
    if not is_adapter(name):
        return name
    merged = Path(training.output_dir).resolve() / "_merged"  # TRL's push_to_hub leaves "_*" out
    with training.main_process_first(local=False, desc="merging the LoRA adapter"):
        if not merged.is_dir():
            merge_adapter(name, merged, model.dtype or "auto")
    return str(merged)


def training_tokenizer(path: str, revision: str | None, *, say: bool = True) -> Any:
    """The tokenizer of a model; one without a pad token pads with its end-of-sequence token, which is said once."""
    tokenizer = load_tokenizer(path, revision)
    if tokenizer.eos_token is None:
        raise UserError(f"the tokenizer of {path} has no eos_token, so the model could never learn to stop; set one")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
        if say:
            logger.warning("the tokenizer of %s has no pad token; padding with %r", path, tokenizer.eos_token)
    return tokenizer
