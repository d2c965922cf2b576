"""What decides a training run, and what may change between a run and its continuation."""

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from sozo.data.processes import world_size
from sozo.data.record import provenance
from sozo.data.settings import deciding

# TRL's fields that decide nothing: where a run writes and what it is called. Of ours each field says so itself.
FREE = {"output_dir", "resume_from_checkpoint", "run_name", "report_to", "logging_dir", "hub_token", "push_to_hub"}
# How SFT and DPO cut a step of `examples_per_step` into micro-batches, which changes rounding only. Some losses of GRPO
# are means over a micro-batch.
_MICRO_BATCHES = {"per_device_train_batch_size", "gradient_accumulation_steps"}


def resolved_settings(script: Any, training: Any, model: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """All of a run's settings by section, JSON-able and free of keys, with `facts`, processes, code and packages."""
    sections = {"script": asdict(script), "training": training.to_dict(), "model": asdict(model), **facts}
    settings = {**sections, "world_size": world_size(), "provenance": provenance()}
    return json.loads(json.dumps(settings, default=str))


def split(settings: dict[str, Any], script: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings that decide the run, and those that may change between it and its continuation, by section."""
    free = FREE | (asdict(script).keys() - deciding(script).keys())
    if settings["training"].get("examples_per_step"):
        free |= _MICRO_BATCHES
    decide, other = {name: section for name, section in settings.items() if name != "provenance"}, {}
    for name in ("script", "training"):
        decide[name] = {key: value for key, value in settings[name].items() if key not in free}
        other[name] = {key: value for key, value in settings[name].items() if key in free}
    if entries := getattr(script, "entries", None):
        from sozo.training.mix import without_free_arguments

        decide["script"] = without_free_arguments(decide["script"], entries)
    return decide, other


def hide_token(training: Any) -> None:
    """Hand the hub token over as HF_TOKEN: each checkpoint pickles the settings, and W&B records the command line."""
    if token := training.hub_token:
        os.environ["HF_TOKEN"] = token
        training.hub_token = None
        sys.argv[:] = [word.replace(token, "<HUB_TOKEN>") for word in sys.argv]
