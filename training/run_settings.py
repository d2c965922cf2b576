"""What decides a training run, how it is computed, and what may change: three parts of one record."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accelerate.utils import parse_flag_from_env

from sozo.data.processes import world_size
from sozo.data.record import provenance
from sozo.data.settings import deciding

# TRL's fields that decide nothing: where a run writes, what it is called and what it keeps. Of ours each says so itself.
FREE = {
    "output_dir",
    "resume_from_checkpoint",
    "run_name",
    "report_to",
    "logging_dir",
    "logging_steps",
    "save_strategy",
    "save_steps",
    "save_total_limit",
    "hub_token",
    "push_to_hub",
    # What they shard is told by `sharding`.
    "deepspeed",
    "fsdp",
    "fsdp_config",
}
# How a step is cut into micro-batches.
_HOW = {
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "steps_per_generation",
}
_PER_STEP = ("completions_per_step", "examples_per_step")


def resolved_settings(
    script: Any, training: Any, model: Any, facts: dict[str, Any]
) -> dict[str, Any]:
    """All of a run's settings by section, JSON-able and free of keys, with `facts`, processes, code and packages."""
    sections = {
        "script": asdict(script),
        "training": training.to_dict(),
        "model": asdict(model),
        **facts,
    }
    settings = {**sections, "world_size": world_size(), "provenance": provenance()}
    return json.loads(json.dumps(settings, default=str))


def sharding(training: Any) -> str | None:
    """What deals the model's states out to the processes; None if nothing does."""
    if training.fsdp or parse_flag_from_env("ACCELERATE_USE_FSDP"):
        return "FSDP"
    plugin = training.deepspeed_plugin
    return f"ZeRO-{plugin.zero_stage}" if plugin else None


def split(
    settings: dict[str, Any],
    script: Any,
    training: Any,
    free_arguments: Sequence[Mapping[str, Sequence[str]]] = (),
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What a run learns, how it is computed, and what may change between it and its continuation.

    A model's folder is no setting: its digest is compared, and so are rows and not where they are.
    """
    what = deepcopy(settings)
    del what["provenance"]
    how = {"processes": what.pop("world_size"), "sharding": sharding(training)}
    free: dict[str, Any] = {}
    blocks = what["script"].get("tasks") or ()
    for block, of_rewards in zip(blocks, free_arguments, strict=False):
        block.pop("prompts", None)
        for path, names in of_rewards.items():
            _drop(block.get("reward_args", {}).get(path), names)
    start = what["model"]["model_name_or_path"]
    changes = FREE | (asdict(script).keys() - deciding(script).keys())
    changes |= {"model_name_or_path"} if start and Path(start).is_dir() else set()
    for name in ("script", "training", "model"):
        # What differs first is named: a step's size before what follows from it.
        section = sorted(what[name].items(), key=lambda item: item[0] not in _PER_STEP)
        how |= {key: value for key, value in section if key in _HOW}
        free[name] = {key: value for key, value in section if key in changes}
        what[name] = {key: value for key, value in section if key not in changes | _HOW}
    return what, how, free


def _drop(arguments: Any, names: Sequence[str]) -> None:
    """Take `names` out of a reward's arguments, and out of those of the reward that it is around.

    >>> given = {"ledger": "a", "quality_args": {"ledger": "b", "scale": 1}}
    >>> _drop(given, ["ledger"])
    >>> given
    {'quality_args': {'scale': 1}}
    """
    while arguments:
        for name in names:
            arguments.pop(name, None)
        arguments = arguments.get("quality_args")


def hide_token(training: Any) -> None:
    """Hand the hub token over as HF_TOKEN: each checkpoint pickles the settings, and W&B records the command line."""
    if token := training.hub_token:
        os.environ["HF_TOKEN"] = token
        training.hub_token = None
        sys.argv[:] = [word.replace(token, "<HUB_TOKEN>") for word in sys.argv]
