"""A finished run's results in W&B: in the run that trained the model, at the step of the checkpoint.

What was logged is kept in `wandb.json`, so that the same command does not log it twice, and does log what it could not.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.record import write_json
from data.wandb_run import WandbRun, start_wandb, trained_by, training_summary
from eval.deliver.wandb_rows import Described, describe
from eval.run import TaskRun

_MARK = "wandb.json"
_STEP = "train/global_step"  # the x-axis of everything that the trainers log


def log_results(run: TaskRun, model: str, *, wanted: bool | None, folder: Path, home: Path | None = None) -> str | None:
    """Log a finished run, unless it was logged before.

    Args:
        run: The run; one that is not finished is left alone.
        model: Its model, as the user named it. A folder's `sozo_state.json` says which W&B run trained it.
        wanted: None logs where there is such a run; True starts a new one where there is none; False logs nothing.
        folder: Where W&B writes its files.
        home: Where `wandb.json` is kept: all runs under one `home` are one model's. The run's folder if None.

    Returns:
        One line for people; None if there was nothing to do.
    """
    if wanted is False or not (run.folder / "metrics.json").is_file():
        return None
    place = Path(model)
    trained = trained_by(place) if model and place.is_dir() else None
    if trained is None and not wanted:
        return None
    described = describe(run)
    mark = (home or run.folder) / _MARK
    record = _read(mark)
    into = trained or (WandbRun(**record["run"]) if record else None)
    same = record is not None and into is not None and record["run"]["id"] == into.id
    logged: dict[str, dict[str, Any]] = record["logged"] if record and same else {}
    digest = hashlib.sha256((run.folder / "metrics.json").read_bytes()).hexdigest()
    if logged.get(described.kind, {}).get("sha256") == digest:
        return None
    before = training_summary(place) if trained else {}
    before |= {key: value for earlier in logged.values() for key, value in earlier["values"].items()}
    import wandb

    try:
        used, line = _log(described, run.folder, into, _step(place) if model else None, folder, before)
    except (wandb.Error, OSError) as error:
        cause = " ".join(str(error).split())[:300]
        return f"W&B: {run.folder} was not logged ({cause}); fix it and run the same command again, which logs it"
    if used is not None:
        now = {"sha256": digest, "values": described.named}
        write_json(mark, {"run": asdict(used), "logged": {**logged, described.kind: now}})
    return line


def _log(
    what: Described, results: Path, into: WandbRun | None, step: int | None, folder: Path, before: dict[str, Any]
) -> tuple[WandbRun | None, str | None]:
    """The run that was logged into, and the line; nothing where W&B is switched off."""
    import wandb

    # Of this process W&B takes the results only: its console, machine and command line are not the training's.
    settings = wandb.Settings(
        silent=True,
        console="off",
        disable_code=True,
        disable_git=True,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )
    name = None if into else what.source
    run = start_wandb(into, name=name, folder=folder, settings=settings, reinit="create_new")
    try:
        if run.disabled:
            return None, None
        prefix = f"eval/{what.kind}/"
        if run.offline:
            run.summary.update(before)
        values = {key: value for key, value in what.named.items() if not isinstance(value, str)}
        values[f"{prefix}table"] = wandb.Table(columns=list(what.columns), data=[list(row) for row in what.rows])
        if step is not None:
            run.define_metric(_STEP)
            run.define_metric(f"{prefix}*", step_metric=_STEP)
            values[_STEP] = step
        run.log(values)
        run.summary.update({f"{prefix}{key}": value for key, value in what.facts.items()})
        run.log_artifact(_artifact(run.id, what, results, step))
    finally:
        run.finish()
    line = f"W&B: {what.kind} of {what.source} is in the run {run.id} of the project {run.project}"
    if run.offline:
        line += f", offline; upload it with: wandb sync {Path(run.dir).parent}"
    return WandbRun(run.id, run.project, run.entity or None), line


def _artifact(run_id: str, what: Described, results: Path, step: int | None) -> Any:
    import wandb

    name = re.sub(r"[^\w.-]+", "-", f"{run_id}-{what.kind}-{what.source}", flags=re.ASCII)[:128]
    artifact = wandb.Artifact(name, type="evaluation", metadata={"source": what.source, "step": step, **what.facts})
    for file in ("config.json", "metrics.json", *what.files):
        # One by one: adding a folder whole is announced on the terminal.
        for path in sorted((results / file).glob("part-*")) or (results / file,):
            artifact.add_file(str(path), name=path.relative_to(results).as_posix())
    return artifact


def _step(model: Path) -> int | None:
    """The step that a checkpoint or a training ended at."""
    if match := re.fullmatch(r"checkpoint-(\d+)", model.name):
        return int(match[1])
    try:
        step = json.loads((model / "trainer_state.json").read_bytes())["global_step"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return step if isinstance(step, int) else None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        values = json.loads(path.read_bytes())
        _ = values["run"]["id"], values["logged"].items()
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: cannot be read ({type(error).__name__}); remove it to log results anew") from error
    return dict(values)
