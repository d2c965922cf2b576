"""A model by its name, as weights and tokenizer in memory; a LoRA adapter comes merged into its base model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from data.errors import UserError
from models.folder import TINY, cannot_load, cause, is_adapter
from models.tiny import ensure_tiny


def pinned(name: str, revision: str | None) -> tuple[str, str | None]:
    """Where a model's files are, and their version: `tiny` is built, the commit of a hub model looked up.

    So all processes, and weights and tokenizer, take one version of it.

    Raises:
        UserError: The model cannot be found or made.
    """
    if name == TINY:
        return str(ensure_tiny()), revision
    if Path(name).is_dir():
        return name, revision
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(name, revision=revision)
    except Exception as error:  # whatever the hub holds, the user needs one line
        raise cannot_load(name, error) from error
    return name, getattr(config, "_commit_hash", None) or revision


def load_model(path: str, *, revision: str | None = None, dtype: str = "auto") -> tuple[Any, Any]:
    """Model and tokenizer of a folder or a hub id, on the CPU; `dtype` is auto, bfloat16, float16 or float32.

    Raises:
        UserError: One of them cannot be loaded.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    try:
        if not is_adapter(path):
            model = AutoModelForCausalLM.from_pretrained(path, revision=revision, dtype=dtype)
            return model, load_tokenizer(path, revision)
        from peft import AutoPeftModelForCausalLM

        adapted = AutoPeftModelForCausalLM.from_pretrained(path, dtype=dtype)
        base = adapted.peft_config["default"]
        model = adapted.merge_and_unload()
    except UserError:
        raise
    except Exception as error:  # whatever a folder or the hub holds, the user needs one line
        raise cannot_load(path, error) from error
    if (Path(path) / "tokenizer_config.json").is_file():
        return model, load_tokenizer(path)
    return model, load_tokenizer(base.base_model_name_or_path, base.revision)


def load_tokenizer(path: str, revision: str | None = None) -> Any:
    """The tokenizer of a model.

    Raises:
        UserError: There is no such model, or it has no tokenizer.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path, revision=revision)
    except Exception as error:
        if not Path(path).is_dir():
            raise cannot_load(path, error) from error
        raise UserError(
            f"{path}: its tokenizer cannot be loaded ({cause(error)}); save the tokenizer in the model's folder"
        ) from error
