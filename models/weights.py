"""A model by its name: a folder, a folder with a LoRA adapter, a hub id, or `tiny` for the embedded model."""

import hashlib
import math
import sys
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError, one_line_errors
from sozo.data.record import read_json, room, whole_folder
from sozo.models.processes import run_module
from sozo.models.tiny import TINY, ensure_tiny, tiny_seed

_ROUNDED = 0.1  # of what an adapter adds; more must not be lost
ADAPTER_FILE, _WHOLE = "adapter_config.json", "config.json"


def is_model(folder: Path) -> bool:
    """Does the folder hold a model, or a LoRA adapter?"""
    return any((folder / name).is_file() for name in (_WHOLE, ADAPTER_FILE))


def tensors_of(folder: Path) -> frozenset[tuple[str, str, tuple[int, ...], str]]:
    """Name, type, shape and SHA-256 of every tensor in the folder, however they are spread over its safetensors."""
    import torch
    from safetensors import safe_open

    tensors = set()
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (it cannot be iterated)
                tensor = file.get_tensor(name)
                content = hashlib.sha256(tensor.contiguous().flatten().view(torch.uint8).numpy())
                tensors.add((name, str(tensor.dtype), tuple(tensor.shape), content.hexdigest()))
    return frozenset(tensors)


def is_adapter(folder: str) -> bool:
    """Does the folder hold a LoRA adapter and not a whole model?"""
    return (Path(folder) / ADAPTER_FILE).is_file() and not (Path(folder) / _WHOLE).is_file()


def check_model(name: str) -> None:
    """Refuse a folder that does not exist or holds no model; a hub id is not looked up."""
    folder = Path(name)
    if tiny_seed(name) is not None or is_model(folder):
        return
    if folder.is_dir():
        raise UserError(f"{name}: holds no model (neither {_WHOLE} nor {ADAPTER_FILE}); give a model's folder")
    if folder.exists() or name.count("/") > 1 or name.startswith((".", "/", "~")):  # a hub id has one slash at most
        raise UserError(f"{name}: no such folder; give a model's folder, a hub id, or {TINY}")


def cannot_load(name: str, error: Exception) -> UserError:
    """What a user is told of a model that does not load, or of an adapter whose base does not."""
    cause, file = _cause(error), Path(name) / ADAPTER_FILE
    if is_adapter(name) and not Path(base := _base(name)).is_dir():
        remedy = f"it stands in {file} as base_model_name_or_path: name there a model's folder, or a hub id"
        return UserError(f"{name}: the adapter's base {base} cannot be loaded ({cause}); {remedy}")
    return UserError(f"cannot load the model {name} ({cause}); give a model's folder, or a hub id that can be reached")


def _base(adapter: str) -> str:
    return str(read_json(Path(adapter) / ADAPTER_FILE).get("base_model_name_or_path"))


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def pinned(name: str, revision: str | None) -> tuple[str, str | None]:
    """Where a model's files are (`tiny` is built), and of a hub model the commit, so that all take one version."""
    if tiny_seed(name) is not None:
        return str(ensure_tiny(name)), revision
    if Path(name).is_dir():
        return name, revision
    from transformers import AutoConfig

    return name, getattr(_load(AutoConfig, name, revision=revision), "_commit_hash", None) or revision


def model_window(name: str, revision: str | None = None) -> int | None:
    """How many tokens a model has positions for by its config, before it is loaded; None if that does not say."""
    from transformers import AutoConfig

    whole, revision = (_base(name), None) if is_adapter(name) else (name, revision)
    try:
        config = AutoConfig.from_pretrained(whole, revision=revision).get_text_config()
    except Exception as error:  # as in `_load`
        raise cannot_load(name, error) from error
    return getattr(config, "max_position_embeddings", None)


def _load(kind: Any, name: str, **options: Any) -> Any:
    """What `kind`, of transformers or PEFT, loads by that name."""
    try:
        return kind.from_pretrained(name, **options)
    except Exception as error:  # whatever a folder or the hub holds, the user needs one line
        raise cannot_load(name, error) from error


def load_model(path: str, *, revision: str | None = None, dtype: str = "auto", merged: bool = False) -> tuple[Any, Any]:
    """Model and tokenizer of a folder or a hub id, on the CPU; a LoRA adapter comes in its base model.

    In float32 it is merged. In half precision it stays beside the weights, as it was trained, unless it must be
    `merged`: what it adds to a weight is often less than that one's last digit.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    if is_adapter(path):
        adapted = load_adapter(path, dtype=dtype)
        if merged:
            refuse_rounding(path, adapted)
        merges = merged or adapted.dtype.itemsize >= 4
        model = adapted.merge_and_unload() if merges else adapted.get_base_model()
    else:
        options = {"revision": revision, "dtype": dtype, "output_loading_info": True}
        model, info = _load(AutoModelForCausalLM, path, **options)
        if missing := sorted(info["missing_keys"]):
            problem = f"{len(missing):,} of its weights are missing, such as {missing[0]}, and would be random"
            raise UserError(f"{path}: {problem}; save or download the whole checkpoint")
    return model, load_tokenizer(path, revision)


def load_adapter(path: str, **options: Any) -> Any:
    """A LoRA adapter over its base model, which stays as it is; `options` are PEFT's."""
    from peft import AutoPeftModelForCausalLM

    return _load(AutoPeftModelForCausalLM, path, **options)


def rounding_error(adapted: Any) -> float:
    """By how much merged weights miss what a LoRA adapter adds, as a share of that, if each is rounded to its type."""
    from peft.tuners.lora import LoraLayer

    missed = added = 0.0
    for layer in adapted.modules():
        if isinstance(layer, LoraLayer):
            weight, wanted = layer.get_base_layer().weight.detach(), layer.get_delta_weight("default").detach().float()
            if weight.shape != wanted.shape:  # quantized, or a shard of ZeRO-3
                continue
            kept = (weight.float() + wanted).to(weight.dtype).float() - weight.float()
            missed, added = missed + float((kept - wanted).square().sum()), added + float(wanted.square().sum())
    return math.sqrt(missed / added) if added else 0.0


def refuse_rounding(path: str, adapted: Any) -> None:
    """A UserError where merging would lose more than a tenth of what a LoRA adapter adds."""
    if (error := rounding_error(adapted)) > _ROUNDED:
        lost = f"merged in {str(adapted.dtype).removeprefix('torch.')} it would lose {error:.0%} of what it adds"
        raise UserError(f"{path}: {lost}; give float32 (--dtype float32, or merge to float32)")


def load_tokenizer(path: str, revision: str | None = None) -> Any:
    """The tokenizer of a model; of a LoRA adapter without one that of its base model."""
    from transformers import AutoTokenizer

    name = path
    try:
        if is_adapter(path) and not (Path(path) / "tokenizer_config.json").is_file():
            from peft import PeftConfig

            base = PeftConfig.from_pretrained(path)
            path, revision = base.base_model_name_or_path, base.revision
        return AutoTokenizer.from_pretrained(path, revision=revision)
    except Exception as error:
        if not Path(path).is_dir():
            raise cannot_load(name, error) from error
        failure = f"its tokenizer cannot be loaded ({_cause(error)}); save the tokenizer in the model's folder"
        raise UserError(f"{path}: {failure}") from error


def merge_adapter(adapter: str, folder: Path, dtype: str) -> None:
    """Save `adapter`, merged into its base model in `dtype`, with the tokenizer in `folder`, whole or not at all.

    A UserError where rounding to `dtype` would lose much of what the adapter adds. In a process of its own: under
    ZeRO-3 every model that the trainer's process loads is cut into shards.
    """
    failure = f"cannot merge the LoRA adapter in {adapter}; --use_peft true trains it on as it is"
    run_module("sozo.models.weights", adapter, str(folder), dtype, failure=failure)


if __name__ == "__main__":
    with one_line_errors(f"{sys.argv[1]}: this LoRA adapter cannot be merged"):
        output = Path(sys.argv[2])
        parts = load_model(sys.argv[1], dtype=sys.argv[3], merged=True)
        needed = sum(weight.nbytes for weight in parts[0].parameters())
        with whole_folder(output) as partial, room(output, needed):
            for part in parts:
                part.save_pretrained(partial)
