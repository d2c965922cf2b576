"""The W&B run that a trained model belongs to, so that its results go into the run that shows how it came about."""

import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sozo.data.checkpoints import SIZES, STATE, VERSION, last_checkpoint
from sozo.data.errors import UserError
from sozo.data.record import read_json, write_json
from sozo.data.secrets import without_credentials


@dataclass(frozen=True, slots=True)
class WandbRun:
    """Where a run is on W&B."""

    id: str
    project: str | None = None  # None takes WANDB_PROJECT, or `sozo`
    # User or team; None takes WANDB_ENTITY, or the login's own
    entity: str | None = None


def write_state(folder: Path, run: Any, files: dict[str, int] | None = None) -> None:
    """Write down which run (`wandb.run`; None without one) trained the model in `folder`; of a checkpoint its files."""
    state: dict[str, Any] = {
        "version": VERSION,
        "wandb_run_id": None,
        "wandb_project": None,
        "wandb_entity": None,
    }
    # WANDB_MODE=disabled hands out a run that is nowhere
    if run is not None and not run.disabled:
        state |= {
            "wandb_run_id": run.id,
            "wandb_project": run.project,
            "wandb_entity": run.entity or None,
        }
    write_json(folder / STATE, state | ({SIZES: files} if files else {}))


def read_state(folder: Path) -> WandbRun | None:
    """The run that trained the model in `folder`, whose `sozo_state.json` must exist; None if without W&B."""
    path = folder / STATE
    if "wandb_run_id" not in (values := read_json(path)):
        raise UserError(
            f"{path}: says nothing of a W&B run; restore it, or move it away"
        )
    run_id, project, entity = (
        values.get(f"wandb_{name}") for name in ("run_id", "project", "entity")
    )
    return None if run_id is None else WandbRun(str(run_id), project, entity)


def trained_by(folder: Path) -> WandbRun | None:
    """The run that trained the model in `folder`, a checkpoint or a training output; None if nobody knows of one."""
    trained = folder if (folder / STATE).is_file() else last_checkpoint(folder)
    return read_state(trained) if trained else None


def training_summary(folder: Path) -> dict[str, float]:
    """The last value of each number that the training in `folder` (or of that checkpoint) logged, by its W&B name."""
    # `wandb sync` puts an offline continuation's summary in the whole run's place: it must repeat what shall stay.
    output = folder.parent if folder.name.startswith("checkpoint-") else folder
    states = (
        place / "trainer_state.json"
        for place in (output, last_checkpoint(output), folder)
        if place
    )
    state = next(filter(Path.is_file, states), None)
    entries = read_json(state, nan=True).get("log_history", []) if state else []
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) for entry in entries
    ):
        raise UserError(
            f"{state}: its log_history is no list of what was logged; restore it"
        )
    logged = {
        key: value for entry in entries for key, value in entry.items() if key != "step"
    }
    numbers = {
        k: v
        for k, v in logged.items()
        if isinstance(v, int | float) and math.isfinite(v)
    }
    # As transformers' WandbCallback names them: the summary at the end keeps its names.
    return {
        k if k.startswith("train_") or k == "total_flos" else f"train/{k}": v
        for k, v in numbers.items()
    }


def start_wandb(
    run: WandbRun | None, *, name: str | None, folder: Path, **options: Any
) -> Any:
    """Continue the run `run`, or start one, and return it; W&B writes in `folder`, `options` are those of `wandb.init`.

    Without a W&B login and without WANDB_MODE it runs offline, so that nothing waits for a network or a key, and says
    nothing: who has no W&B need not read how a run is uploaded.
    """
    import wandb

    sys.argv[:] = without_credentials(sys.argv)  # W&B keeps the command line too
    mode: Any = os.environ.get("WANDB_MODE")
    if not mode and not wandb.login(prompt=False, verify=False):
        mode, quiet = "offline", wandb.Settings(silent=True)
        # For what is said outside the run, such as that it has no URL
        wandb.termsetup(quiet, None)
        options.setdefault("settings", quiet)
    continued = {"id": run.id, "resume": "allow", "entity": run.entity} if run else {}
    project = (run.project if run else None) or os.environ.get("WANDB_PROJECT", "sozo")
    options = {**continued, **without_credentials(options)}
    return wandb.init(
        project=project, name=name, dir=str(folder), mode=mode or "online", **options
    )
