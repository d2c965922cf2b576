"""An output folder belongs to one run: its settings are written there first, and another run is refused."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trl import ModelConfig

from data.processes import world_size
from data.record import MISSING, first_difference, provenance, write_json
from training.config import ConfigError

# What may change between a run and its continuation. Of a table that has moved, the content is compared.
_FREE = {"output_dir", "resume_from_checkpoint", "run_name", "report_to", "logging_dir", "hub_token", "push_to_hub"}
_FREE |= {"responses"}


def resolved_settings(script: Any, training: Any, model: ModelConfig, facts: dict[str, Any]) -> dict[str, Any]:
    """Everything that decides the run, JSON-able and free of keys: settings, `facts`, code and packages."""
    settings = {
        "script": asdict(script),
        "training": training.to_dict(),
        "model": asdict(model),
        **facts,
        "world_size": world_size(),
        "provenance": provenance(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=str))
    return plain


def claim(output: Path, settings: dict[str, Any], *, main_process: bool) -> bool:
    """Write the run's settings (run_config.json, config.json being the model's); refuse a folder with another run.

    Returns whether this call has written them.
    """
    path = output / "run_config.json"
    if not path.is_file():
        if main_process:
            write_json(path, settings)
        return main_process
    before = json.loads(path.read_text("utf-8"))
    for section in settings:
        difference = first_difference(_deciding(before.get(section)), _deciding(settings[section]), section)
        if difference and section != "provenance":
            key, old, new = (repr(item) if item is not MISSING else "nothing" for item in difference)
            raise ConfigError(
                f"{output} holds a run with {key[1:-1]} = {old}, but now it is {new}; "
                "give another --output_dir, or the same settings to continue it"
            )
    return False


def release(output: Path) -> None:
    """Take the claim back: nothing was trained, so that the folder is free for mended settings."""
    (output / "run_config.json").unlink()
    with contextlib.suppress(OSError):  # something else is in it
        output.rmdir()


def _deciding(section: Any) -> Any:
    return {k: v for k, v in section.items() if k not in _FREE} if isinstance(section, dict) else section


def hide_token(training: Any) -> None:
    """Hand the hub token over as HF_TOKEN: each checkpoint pickles the settings, and W&B records the command line."""
    if token := training.hub_token:
        os.environ["HF_TOKEN"] = token
        training.hub_token = None
        sys.argv[:] = [word.replace(token, "<HUB_TOKEN>") for word in sys.argv]
