"""Three wrong values of every setting of the three methods, and what is said of each before a model is loaded.

    python tests/helpers/wrong_settings.py

writes them to tests/files/wrong_settings.csv, which `test_wrong_settings.py` holds. The settings are those of the
dataclasses that the parsers are made of; their wrong values follow from their kinds, and stand here where a kind does
not tell. Each is a line of a YAML file: a flag goes the same way as a text there.
"""

import csv
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_type_hints

import yaml
from trl import ModelConfig

from fakes import list_text
from sozo.data.errors import UserError
from sozo.data.schema import write_columns
from sozo.models.tiny import ensure_tiny
from sozo.training.methods import OWN, recipe
from sozo.training.plan import plan as dry_run

TABLE = Path(__file__).parents[1] / "files" / "wrong_settings.csv"
COLUMNS = ("methods", "setting", "value", "outcome", "said")
NAN, INF = float("nan"), float("inf")

# What works, and little besides, so that what is said is said of the wrong value.
_MODEL: dict[str, Any] = {"use_cpu": True, "bf16": False, "use_peft": True}
_MODEL["model_name_or_path"] = "tiny"
_BATCH = {"per_device_train_batch_size": 4, "report_to": "none"}
WORKS: dict[str, dict[str, Any]] = {
    "sft": {**_MODEL, **_BATCH, "top_k": 4},
    "dpo": {**_MODEL, **_BATCH, "num_pairs": 4},
    "grpo": {**_MODEL, **_BATCH, "tasks": ["dat"], "num_prompts": 4},
}
WORKS["grpo"] |= {"num_generations": 4, "max_completion_length": 24}
# Of which sft and dpo choose theirs.
_TEXTS = [list_text([word] * 10) for word in "犬猫海山川空花雨"]
LISTS = {
    "id": [*map(str, range(8))],
    "text": _TEXTS,
    "score": [k / 8 for k in range(8)],
}

# By kind: of another kind, out of range, no number or not there.
_BY_KIND: dict[Any, tuple] = {
    bool: ("maybe", 2, [True]),
    int: ("many", 1.5, -2),
    float: ("many", NAN, -1.0),
    dict: ("no-such", "{", [1]),
    list: (3, {"a": 1}, True),
    str: ("no-such", 3, [1]),
}
# By name, before those of their kind.
_BY_NAME: dict[str, tuple] = {
    "accelerator_config": ("no-such.json", {"no_such": 1}),
    "activation_checkpointing_kwargs": ({"no_such": 1},),
    "adam_beta1": (1.0,),
    "adam_beta2": (1.5,),
    "answers": ([], "no-such"),
    "attn_implementation": ("no-such", "flash_attention_2"),
    "beside": (["runs/own"], {"runs/own": 0}, {"runs/own": 4}),
    "data_seed": (2**65,),
    "dataset_kwargs": ({"no_such": True},),
    "deepspeed": ("no-such.json", {"zero_optimization": 3}),
    "eval_strategy": ("steps",),
    "entropy_coef": (NAN, INF),
    "entropy_coef_max": (NAN, INF),
    "entropy_coef_min": (NAN, INF),
    "evaluate": ({"every": 0, "tasks": ["dat"]}, {"every": 1, "tasks": ["dot"]}),
    "f_alpha_divergence_coef": (NAN, INF),
    "fp16": (True,),
    "gradient_checkpointing_kwargs": ({"no_such": 1},),
    "include_for_metrics": (["no-such"],),
    "learning_rate": (-1, INF),
    "load_best_model_at_end": (True,),
    "lora_dropout": (1.0,),
    "lora_target_modules": (["no-such"],),
    "lora_target_parameters": (["no-such"],),
    "load_in_4bit": (True,),
    "load_in_8bit": (True,),
    "loss_weights": ([NAN], ["many"], [1.0, 1.0]),
    "lr_scheduler_kwargs": ({"no_such": 1},),
    "lr_scheduler_type": ("reduce_lr_on_plateau", "warmup_stable_decay"),
    "max_completion_length": (0, None),
    "max_length": (0,),
    "max_steps": (-2,),
    "model_init_kwargs": ({"no_such": 1},),
    "num_train_epochs": (0, INF),
    "optim": ("adamw_8bit", "galore_adamw"),
    "optim_args": ("no_such=1", "no-such"),
    "output_dir": ("/bin/sh", 3, [1]),
    "pad_to_multiple_of": (0, "many"),
    "report_to": ("no-such", "tensorboard", None),
    "reward_weights": ([NAN], ["many"], [1.0, 1.0]),
    "sampler": ("vllm", "no-such"),
    "seed": (-1, 2**32),
    "tasks": (["no-such"], [{"task": "dat", "noun_checker": "mecab"}], 3),
    "temperature": (0, INF),
    "top_p": (0, 1.5),
    "use_liger_kernel": (True,),
    "vllm_gpu_memory_utilization": (0, 1.5),
    "vllm_group_port": (70000,),
    "vllm_server_base_url": ("no-such",),
    "vllm_server_port": (70000,),
    "vllm_structured_outputs_regex": ("(",),
}

# Why nothing can be said of a value before a model is there.
_NOT_KNOWN = {
    "any text is a name": "dataset_text_field length_column_name metric_for_best_model project run_name",
    "any text is a message": "system_prompt",
    "the hub knows, and a plan is made without it": "chat_template_path hub_model_id hub_revision "
    "model_revision trackio_bucket_id trackio_space_id trackio_static_space_id",
    "the network knows, when the run begins": "vllm_server_host",
    "transformers' optimizers pass over what they do not know": "optim_args",
    "any key may be one of the model's configuration": "model_init_kwargs",
}
REASON = {name: why for why, names in _NOT_KNOWN.items() for name in names.split()}


def kind_of(hint: Any) -> Any:
    """The kind of a setting, whether or not it may be left out."""
    if getattr(hint, "__origin__", None) is list:
        return list
    kinds = [getattr(part, "__origin__", part) for part in get_args(hint) or (hint,)]
    return next((kind for kind in _BY_KIND if kind in kinds), str)


def wrong_values(name: str, hint: Any) -> list[Any]:
    """Three wrong values of a setting."""
    values = [*_BY_NAME.get(name, ()), *_BY_KIND[kind_of(hint)]]
    return list({repr(value): value for value in values}.values())[:3]


def settings() -> Iterator[tuple[str, str, Any]]:
    """Method, name and kind of every setting."""
    for method in OWN:
        _, *groups = recipe(method)
        for group in (*groups, ModelConfig):
            hints = get_type_hints(group)
            for field in fields(group):
                if field.init:
                    yield method, field.name, hints[field.name]


def said(method: str, changed: dict[str, Any], folder: Path) -> tuple[str, str]:
    """What a plan says of settings: an outcome, and the line."""
    try:
        if line := plan(method, changed, folder):
            # The program that installs is called by where this runs.
            line = line.replace(".venv/bin/pip", "pip").replace(f"{folder}/", "")
            return "missing", line
    except UserError as error:
        line = str(error).replace(f"{folder}/", "")
        line = line.partition("; there are dat")[0]  # which tasks, packages decide
        return "refused" if "\n" not in line else "several lines", line
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error}".partition("\n")[0]
    (name,) = changed
    return ("not known", REASON[name]) if name in REASON else ("left to TRL", "")


@cache
def tiny() -> str:
    """The model's folder; who only reads this file does not wait until the model is made."""
    return str(ensure_tiny("tiny"))


def plan(method: str, changed: dict[str, Any], folder: Path) -> str | None:
    """What the dry run of a training says is missing, if anything."""
    tiny()
    write_columns(folder / "lists" / "part-00000.parquet", LISTS)
    file = folder / "wrong.yaml"
    lines = {**WORKS[method], "output_dir": str(folder / "run")}
    if method != "grpo":
        lines["answers"] = [str(folder / "lists")]
    file.write_text(yaml.safe_dump(lines | changed, allow_unicode=True), "utf-8")
    _, lacking = dry_run(method, ["--config", str(file)])
    return next(iter(lacking), None)


def rows() -> Iterator[dict[str, str]]:
    """The table: a row for each setting, value and thing said, with the methods of which it is true."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, name, hint in settings():
            for value in wrong_values(name, hint):
                outcome, line = said(method, {name: value}, Path(folder))
                text = yaml.safe_dump(value, default_flow_style=True).splitlines()[0]
                found.setdefault((name, text, outcome, line), []).append(method)
    for (name, text, outcome, line), methods in sorted(found.items()):
        row = (" ".join(methods), name, text, outcome, line)
        yield dict(zip(COLUMNS, row, strict=True))


def write() -> None:
    """Write the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows())


if __name__ == "__main__":
    sys.exit(write())
