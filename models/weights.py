"""A model by its name: a folder, a folder with a LoRA adapter, a hub id, or `tiny` for the embedded model."""

import hashlib
import math
import shutil
import sys
from contextlib import suppress
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sozo.data.checkpoints import (
    ADAPTER_FILE,
    WHOLE_FILE,
    base_of,
    damaged,
    is_adapter,
    record_of,
)
from sozo.data.contents import refuse_other, text_of
from sozo.data.errors import UserError, one_line_errors
from sozo.data.foreign import brief
from sozo.data.record import read_json, room, whole_folder
from sozo.data.whole_models import misfit, whole_models
from sozo.models.tiny import TINY, ensure_tiny, tiny_seed

_ROUNDED = 0.1  # of what an adapter adds; more must not be lost


def is_model(folder: Path) -> bool:
    """Does the folder hold a model, or a LoRA adapter?"""
    return any((folder / name).is_file() for name in (WHOLE_FILE, ADAPTER_FILE))


def tensors_of(folder: Path) -> frozenset[tuple[str, str, tuple[int, ...], str]]:
    """Name, type, shape and SHA-256 of every tensor in the folder, however they are spread over its safetensors."""
    import torch
    from safetensors import safe_open

    tensors = set()
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (it cannot be iterated)
                tensor = file.get_tensor(name)
                content = hashlib.sha256(
                    tensor.contiguous().flatten().view(torch.uint8).numpy()
                )
                tensors.add(
                    (name, str(tensor.dtype), tuple(tensor.shape), content.hexdigest())
                )
    return frozenset(tensors)


def check_model(name: str) -> None:
    """Refuse a folder that does not exist, holds no model or a damaged checkpoint; a hub id is not looked up."""
    folder = Path(name)
    if tiny_seed(name) is not None:
        return
    refuse_other(folder)
    if is_model(folder):
        bases = [Path(base_of(name))] if is_adapter(name) else []
        for place in filter(Path.is_dir, [folder, *bases]):
            refuse_other(place)
            if wrong := damaged(place):
                remedy = "take another one, or copy the model's own files elsewhere if they are meant so"
                raise UserError(f"{place}: {'; '.join(wrong)}; {remedy}")
            if (place / ADAPTER_FILE).is_file():
                _refuse_unknown_keys(place)
        return
    if folder.is_dir():
        raise UserError(
            f"{name}: holds no model (neither {WHOLE_FILE} nor {ADAPTER_FILE}); give a model's folder"
        )
    if (
        folder.exists() or name.count("/") > 1 or name.startswith((".", "/", "~"))
    ):  # a hub id has one slash at most
        raise UserError(
            f"{name}: no such folder; give a model's folder, a hub id, or {TINY}"
        )


def _refuse_unknown_keys(adapter: Path) -> None:
    """A UserError for keys of an adapter's configuration that PEFT would leave out with a warning."""
    from peft import PeftConfig

    known = {field.name for field in fields(_load(PeftConfig, str(adapter)))}
    values = read_json(adapter / ADAPTER_FILE).items()
    if unknown := [key for key, v in values if v is not None and key not in known]:
        remedy = "install the version that wrote it, or take away what changes nothing"
        raise UserError(
            f"{adapter}: {ADAPTER_FILE} says {brief(unknown[0])}, which PEFT {version('peft')} does not know; {remedy}"
        )


def cannot_load(name: str, error: Exception) -> UserError:
    """What a user is told of a model that does not load, or of an adapter whose base does not."""
    cause = _cause(error)
    file = Path(name) / ADAPTER_FILE
    if is_adapter(name) and not Path(base := base_of(name)).is_dir():
        remedy = f"it stands in {file} as base_model_name_or_path: name there a model's folder, or a hub id"
        return UserError(
            f"{name}: the adapter's base {base} cannot be loaded ({cause}); {remedy}"
        )
    return UserError(
        f"cannot load the model {name} ({cause}); give a model's folder, or a hub id that can be reached"
    )


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def pinned(name: str, revision: str | None) -> tuple[str, str | None]:
    """Where a model's files are (`tiny` is built), and of a hub model the commit, so that all take one version."""
    if tiny_seed(name) is not None:
        return str(ensure_tiny(name)), revision
    if Path(name).is_dir():
        return name, revision
    from transformers import AutoConfig

    return name, getattr(
        _load(AutoConfig, name, revision=revision), "_commit_hash", None
    ) or revision


def model_window(name: str, revision: str | None = None) -> int | None:
    """How many tokens a model has positions for by its config, before it is loaded; None if that does not say."""
    return getattr(_text_config(name, revision), "max_position_embeddings", None)


def _text_config(name: str, revision: str | None) -> Any:
    """The config of a model, or of an adapter's base, as far as it is of text."""
    from transformers import AutoConfig

    whole = name
    if is_adapter(name):
        whole = base_of(name)
        revision = _adapter_config(name).revision
    try:
        return AutoConfig.from_pretrained(whole, revision=revision).get_text_config()
    except Exception as error:  # as in `_load`
        raise cannot_load(name, error) from error


def _load(kind: Any, name: str, **options: Any) -> Any:
    """What `kind`, of transformers or PEFT, loads by that name."""
    try:
        return kind.from_pretrained(name, **options)
    except UserError:
        raise
    except (
        Exception
    ) as error:  # whatever a folder or the hub holds, the user needs one line
        raise cannot_load(name, error) from error


def load_model(
    path: str, *, revision: str | None = None, dtype: str = "auto", merged: bool = False
) -> tuple[Any, Any]:
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
        mergeable = not getattr(
            adapted.peft_config["default"], "lora_bias", False
        )  # for which the base may have no place
        merges = merged or (mergeable and adapted.dtype.itemsize >= 4)
        try:
            model = adapted.merge_and_unload() if merges else adapted.get_base_model()
        except RuntimeError as error:
            raise UserError(
                f"{path}: cannot be merged into its base ({_cause(error)})"
            ) from error
    else:
        with whole_models():
            model = _load(AutoModelForCausalLM, path, revision=revision, dtype=dtype)
    return model, load_tokenizer(path, revision)


def load_adapter(path: str, *, is_trainable: bool = False, **options: Any) -> Any:
    """A LoRA adapter over its base model, which stays as it is; `options` are of how that one is loaded.

    A UserError where the two do not fit: every weight of the adapter has its place, and every place its weight.
    """
    import transformers

    config = _adapter_config(path)
    options |= {"revision": config.revision}
    base = _load_base(transformers.AutoModelForCausalLM, path, options)
    # It may have been trained in another class, whose names are others: in one that PEFT recorded, or, as TRL does, in
    # that which the base's config names.
    recorded = (config.auto_mapping or {}).get("base_model_class", "")
    own = getattr(transformers, recorded, None) or _own_class(path, config)
    try:
        return _adapted(base, config, path, is_trainable=is_trainable)
    except UserError:
        if own is None or isinstance(base, own):
            raise
    del base  # before another one takes as much memory
    return _adapted(
        _load_base(own, path, options),
        _adapter_config(path),
        path,
        is_trainable=is_trainable,
    )


def check_adapter(path: str) -> None:
    """Refuse a LoRA adapter that does not fit its base model, of which no weight is read: for engines that never say.

    The base is of the class that its config names, as engines load it.
    """
    import torch
    from transformers import AutoConfig

    config = _adapter_config(path)
    if own := _own_class(path, config):
        with torch.device("meta"):
            base = own(_load_base(AutoConfig, path, {"revision": config.revision}))
        _adapted(base, config, path, low_cpu_mem_usage=True)


def _adapter_config(path: str) -> Any:
    from peft import PeftConfig

    _refuse_unknown_keys(Path(path))
    config = _load(PeftConfig, path)
    if config.task_type not in (None, "CAUSAL_LM"):
        raise UserError(
            f"{path}: is an adapter for {config.task_type}; give one for CAUSAL_LM"
        )
    if not config.base_model_name_or_path:
        raise UserError(
            f"{path}: {ADAPTER_FILE} names no base model; name it there as base_model_name_or_path"
        )
    return config


def _own_class(path: str, adapter: Any) -> Any:
    """The class of transformers that an adapter's base says it is of; None where it says none."""
    import transformers

    config = _load_base(transformers.AutoConfig, path, {"revision": adapter.revision})
    return getattr(transformers, (config.architectures or [""])[0], None)


def _load_base(kind: Any, path: str, options: dict[str, Any]) -> Any:
    """What `kind` loads of the base of the adapter in `path`."""
    try:
        with whole_models():
            return kind.from_pretrained(base_of(path), **options)
    except UserError as error:
        raise UserError(
            f"{path}: the adapter's base model cannot be used: {error}"
        ) from error
    except Exception as error:
        raise cannot_load(path, error) from error


def _adapted(base: Any, config: Any, path: str, **options: Any) -> Any:
    """The model `base` with the adapter in `path`; a UserError where PEFT reports that they do not fit."""
    from peft import PeftModelForCausalLM, get_peft_model_state_dict
    from peft.utils import load_peft_weights

    try:
        weights = load_peft_weights(path, device="cpu")
    except Exception as error:  # whatever its file holds
        raise cannot_load(path, error) from error
    _make_room(base, weights)
    config.inference_mode = not options.get("is_trainable")
    try:
        adapted = PeftModelForCausalLM(
            base, config, low_cpu_mem_usage=options.get("low_cpu_mem_usage", False)
        )
    except Exception as error:  # its config.json may ask for anything
        raise _misfit(path, _cause(error)) from error
    # What PEFT would save of it, in the names of the file; the embeddings too, which it saves where they were resized.
    own = get_peft_model_state_dict(
        adapted, adapted.state_dict(), save_embedding_layers=True
    )
    sizes = {
        name: (tuple(weights[name].shape), tuple(own[name].shape))
        for name in weights.keys() & own.keys()
    }
    if others := sorted(name for name, (here, there) in sizes.items() if here != there):
        here, there = sizes[others[0]]
        of = f"{len(others):,} of its weights are of another size"
        raise _misfit(
            path, f"{of}, such as {others[0]}, {here} in the file and {there} there"
        )
    try:
        report = adapted.load_adapter(path, "default", **options)
    except KeyError as error:  # of what is trained as a whole beside LoRA
        raise _misfit(path, misfit([], [str(error.args[0])])) from error
    except Exception as error:
        raise _misfit(path, _cause(error)) from error
    # A weight under the name of one of the base's own takes its place, and PEFT says nothing.
    stray = {
        *report.unexpected_keys,
        *((weights.keys() & adapted.state_dict().keys()) - own.keys()),
    }
    if problem := misfit(stray, report.missing_keys):
        raise _misfit(path, problem)
    return adapted


def _make_room(base: Any, weights: dict[str, Any]) -> None:
    """As many rows in the base's embeddings as those that the adapter brings, where tokens were added for it."""
    embeddings = base.get_input_embeddings()
    head = base.get_output_embeddings()
    names = {
        f"base_model.model.{name}.weight"
        for name, module in base.named_modules()
        if module in (embeddings, head)
    }
    brought = {len(weight) for name, weight in weights.items() if name in names}
    whole = len(brought) == 1 and (
        head is None or head.weight is embeddings.weight or names <= weights.keys()
    )
    if whole and (rows := brought.pop()) > embeddings.num_embeddings:
        base.resize_token_embeddings(rows, mean_resizing=False)


def _misfit(path: str, problem: str) -> UserError:
    remedy = "give the base that it was trained on, and the whole adapter"
    return UserError(
        f"{path}: the adapter does not fit its base {base_of(path)}: {problem}; {remedy}"
    )


def rounding_error(adapted: Any) -> float:
    """By how much merged weights miss what a LoRA adapter adds, as a share of that, if each is rounded to its type."""
    from peft.tuners.lora import LoraLayer

    missed = added = 0.0
    for layer in adapted.modules():
        if isinstance(layer, LoraLayer):
            weight = layer.get_base_layer().weight.detach()
            wanted = layer.get_delta_weight("default").detach().float()
            if weight.shape != wanted.shape:  # quantized, or a shard of ZeRO-3
                continue
            kept = (weight.float() + wanted).to(weight.dtype).float() - weight.float()
            missed = missed + float((kept - wanted).square().sum())
            added = added + float(wanted.square().sum())
    return math.sqrt(missed / added) if added else 0.0


def refuse_rounding(path: str, adapted: Any) -> None:
    """A UserError where merging would lose more than a tenth of what a LoRA adapter adds."""
    if (error := rounding_error(adapted)) > _ROUNDED:
        lost = f"merged in {str(adapted.dtype).removeprefix('torch.')} it would lose {error:.0%} of what it adds"
        raise UserError(
            f"{path}: {lost}; give float32 (--dtype float32, or merge to float32)"
        )


def load_tokenizer(path: str, revision: str | None = None) -> Any:
    """The tokenizer of a model; of a LoRA adapter without one that of its base model, with the adapter's template."""
    from transformers import AutoTokenizer

    name = path
    asked = revision
    try:
        if is_adapter(path) and not any(Path(path).glob("*token*")):
            from peft import PeftConfig

            base = PeftConfig.from_pretrained(path)
            path = base.base_model_name_or_path
            revision = base.revision
        tokenizer = AutoTokenizer.from_pretrained(path, revision=revision)
        if path != name and (own := Path(name) / "chat_template.jinja").is_file():
            tokenizer.chat_template = text_of(own)
    except Exception as error:
        if not Path(path).is_dir():
            raise cannot_load(name, error) from error
        failure = f"its tokenizer cannot be loaded ({_cause(error)}); save the tokenizer in the model's folder"
        raise UserError(f"{path}: {failure}") from error
    _refuse_beyond(name, asked, tokenizer)
    return tokenizer


def _refuse_beyond(name: str, revision: str | None, tokenizer: Any) -> None:
    """A UserError where the tokenizer makes ids of a text for which the model has no embedding.

    Special tokens that no text and no prompt holds are none of these: Gemma 3 has one for images beyond the last row.
    """
    rows = getattr(_text_config(name, revision), "vocab_size", None)
    vocabulary = tokenizer.get_vocab()
    if rows is None or max(vocabulary.values(), default=0) < rows:
        return
    if is_adapter(name):  # which may bring embeddings of its own
        from peft.utils import load_peft_weights

        brought = load_peft_weights(name, device="cpu")
        rows = max(
            [
                rows,
                *(
                    len(weight)
                    for key, weight in brought.items()
                    if ".lora_" not in key
                ),
            ]
        )
    rendered = ""
    own = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    with suppress(
        Exception
    ):  # a template may refuse such a conversation, or there is none
        rendered = tokenizer.apply_chat_template(
            [{"role": "user", "content": ""}], tokenize=False
        )
    special = {
        number
        for number, token in tokenizer.added_tokens_decoder.items()
        if token.special
    }
    for token, number in vocabulary.items():
        if number >= rows and (
            number not in special or number in own or token in rendered
        ):
            known = f"its tokenizer knows {len(tokenizer):,} tokens, {token!r} as number {number:,}"
            remedy = "save the tokenizer that the model was trained with, or resize the embeddings"
            raise UserError(
                f"{name}: {known}, and the model has embeddings for {rows:,}; {remedy}"
            )


if __name__ == "__main__":
    with one_line_errors(f"{sys.argv[1]}: this LoRA adapter cannot be merged"):
        output = Path(sys.argv[2])
        parts = load_model(sys.argv[1], dtype=sys.argv[3], merged=True)
        needed = sum(weight.nbytes for weight in parts[0].parameters())
        with whole_folder(output) as partial, room(output, needed):
            for part in parts:
                part.save_pretrained(partial)
            if record := record_of(Path(sys.argv[1])):
                shutil.copy(record, partial)
