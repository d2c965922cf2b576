"""What decides a training run, and what may change between a run and its continuation."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.processes import world_size
from sozo.data.record import provenance, read_json
from sozo.data.settings import deciding
from sozo.training.batches import of_micro_batch

# TRL's fields that decide nothing: where a run writes and what it is called. Of ours each field says so itself.
FREE = {
    "output_dir",
    "resume_from_checkpoint",
    "run_name",
    "report_to",
    "logging_dir",
    "hub_token",
    "push_to_hub",
}
_PER_STEP = ("completions_per_step", "examples_per_step")
# How a step is cut into micro-batches; on how many processes follows from the launch.
_MICRO_BATCHES = {
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "steps_per_generation",
}


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


def bound(script: Any, training: Any) -> str | None:
    """Why the run's steps would be others on other processes or in other micro-batches; None if they would not be."""
    per_step = next(name for name in _PER_STEP if hasattr(training, name))
    if (batch := getattr(training, per_step)) is None:
        return f"{per_step} is not given, so that a step's size follows from them"
    if setting := of_micro_batch(training):
        return f"{setting} makes the loss depend on what is together in a micro-batch"
    if per_step == "completions_per_step":
        return None
    if training.train_sampling_strategy not in ("random", "sequential"):
        return f"train_sampling_strategy {training.train_sampling_strategy} orders the examples by them"
    if (
        training.loss_type in ("nll", "dft")
        and not training.average_tokens_across_devices
    ):
        return "average_tokens_across_devices false weighs tokens by them"
    count = getattr(script, script.count)
    if getattr(training, "packing", False) or (
        count % batch and training.max_steps * batch > count
    ):
        return "an epoch may end in a batch that is not full, and they decide how that is filled"
    return None


def refuse_other_batches(
    folder: Path, settings: dict[str, Any], why: str | None
) -> bool:
    """Refuse to go on in other micro-batches or on other processes where that is `bound` to be another training.

    The cause is named. Compared setting by setting, what is named would be gradient_accumulation_steps, which follows.
    Whether they might change when the folder's run began is what is returned.
    """
    path = folder / "run_config.json"
    begun = read_json(path) if path.exists() else {}
    parts = [
        part
        for part in (begun.get("settings"), begun.get("free"))
        if isinstance(part, dict)
    ]
    sections = [part.get("training") for part in parts]
    old = {
        name: value
        for section in sections
        if isinstance(section, dict)
        for name, value in section.items()
    }
    before = next((part["world_size"] for part in parts if "world_size" in part), None)
    new = settings["training"]
    now = settings["world_size"]
    size = "per_device_train_batch_size"
    generation = "generation_batch_size"
    free = "world_size" in (begun.get("free") or {})
    if before is None or (before == now and old.get(size) == new[size]):
        return free
    what = f"on {before} process(es), but now there are {now}"
    same = f"launch {before}"
    if before == now:
        what = f"with {size} {old.get(size)}, but now it is {new[size]}"
        same = f"give {old.get(size)}"
    if why is None and old.get(generation) != new.get(generation):
        why = f"steps_per_generation {new['steps_per_generation']} makes a generation of {new[generation]} completions"
        steps, rest = divmod(old[generation], new[size] * now)
        same = same if rest else f"give steps_per_generation {steps}"
    if why is not None:
        raise UserError(
            f"{folder}: holds a run {what}; {why}; {same}, or another output folder"
        )
    return free


def split(
    settings: dict[str, Any],
    script: Any,
    training: Any,
    free_arguments: Sequence[Mapping[str, Sequence[str]]] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings that decide the run, and those that may change between it and its continuation, by section.

    Refuses processes and micro-batches that may not change and did.
    """
    why = bound(script, training)
    # A longer run may be bound where the one that was begun was not: its folder is compared by what that recorded.
    free_before = refuse_other_batches(Path(training.output_dir), settings, why)
    settings = {**settings, "script": deepcopy(settings["script"])}  # W&B gets them all
    blocks = settings["script"].get("tasks") or ()
    for block, of_rewards in zip(blocks, free_arguments, strict=False):
        for path, names in of_rewards.items():
            _drop(block.get("reward_args", {}).get(path), names)
    free = FREE | (asdict(script).keys() - deciding(script).keys())
    if training.max_steps > 0:  # `longer` compares it
        free |= {"max_steps"}
    decide = {
        name: section for name, section in settings.items() if name != "provenance"
    }
    other = {}
    if why is None or free_before:
        free |= _MICRO_BATCHES
        other["world_size"] = decide.pop("world_size")
    for name in ("script", "training"):
        # What differs first is named: a step's size before what follows from it.
        section = sorted(
            settings[name].items(), key=lambda item: item[0] not in _PER_STEP
        )
        decide[name] = {key: value for key, value in section if key not in free}
        other[name] = {key: value for key, value in section if key in free}
    return decide, other


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
