"""A finished run's results in W&B: in the run that trained the model, at the checkpoint's step."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from sozo.data.errors import require
from sozo.data.record import read_json
from sozo.data.wandb_run import WandbRun, start_wandb, trained_by, training_summary
from sozo.eval.report.labels import english
from sozo.eval.run import TaskRun
from sozo.tasks import finished_run, task_type, task_types
from sozo.tasks.run_result import RunResult
from sozo.tasks.view import WANDB

# How the parts of a number are called.
_PARTS = {"value": "", "low": "_ci95_low", "high": "_ci95_high"}
_STEP = "train/global_step"  # the x-axis of everything that the trainers log


def log_results(
    run: TaskRun, model: str, wanted: bool | None, output: Path, home: Path
) -> str | None:
    """Log a run, once it is finished; a line for people, None for nothing to do.

    `model` is as the user named it: its folder's `sozo_state.json` says which W&B run trained it. Where none did,
    `wanted` starts one for all runs in `home`; False logs nothing. What was finished before is logged only if `wanted`.
    W&B writes in `output`.
    """
    place = Path(model)
    trained = trained_by(place) if model and place.is_dir() else None
    known = trained is not None and not run.finished_before
    if wanted is False or run.stopped or not (known or wanted):
        return None
    require("wandb", "--wandb")
    import wandb

    source = run.metrics["source"]
    into = trained or WandbRun(sha256(str(home.resolve()).encode()).hexdigest()[:8])
    # `wandb sync` takes the last summary for the whole run: training and what was asked before are in it too.
    before: dict[str, Any] = training_summary(place) if trained else {}
    for name in task_types():
        if done := finished_run(home / name):
            before |= _values(done)
    step = _step(place) if model else None
    called = None if trained else source
    try:
        used = _log(run.result, into, called, step, output, before)
    except (wandb.Error, OSError) as error:
        cause = " ".join(str(error).split())
        return f"W&B: {run.folder} was not logged ({cause}); fix it and run the same command again with --wandb"
    if used.disabled:
        return None
    line = f"W&B: {run.task.name} of {source} is in the run {used.id} of the project {used.project}"
    sync = f", offline; upload it with: wandb sync {Path(used.dir).parent}"
    return line + sync * bool(used.offline)


def _log(
    result: RunResult,
    into: WandbRun,
    name: str | None,
    step: int | None,
    output: Path,
    before: dict[str, Any],
) -> Any:
    """The W&B run that took the results; where W&B is switched off, one that is disabled."""
    import wandb

    # Of this process W&B takes the results only: its console, machine and command line are not the training's.
    quiet = (
        "silent",
        "disable_code",
        "disable_git",
        "x_disable_machine_info",
        "x_disable_meta",
        "x_disable_stats",
    )
    settings = wandb.Settings(
        console="off", x_save_requirements=False, **dict.fromkeys(quiet, True)
    )
    how: dict[str, Any] = {"settings": settings, "reinit": "create_new"}
    used = start_wandb(into, name=name, folder=output, **how)
    try:
        if used.disabled:
            return used
        if used.offline:
            used.summary.update(before)
        row, texts = dict[str, Any](), dict[str, Any]()
        for key, value in _values(result).items():
            (texts if isinstance(value, str) else row)[key] = value
        if step is not None:
            used.define_metric(_STEP)
            used.define_metric(f"eval/{result.task}/*", step_metric=_STEP)
            row[_STEP] = step
        used.log(row)
        used.summary.update(texts)
    finally:
        used.finish()
    return used


def _values(result: RunResult) -> dict[str, float | str]:
    """Numbers and texts by their names in W&B."""
    task, values = task_type(result.task), dict[str, float | str]()
    for column, cell in task.view.fill_columns(WANDB, task.measures, result):
        for part, value in cell.exact.items():
            values[column.name + _PARTS.get(part, f"_{part}")] = value
    if caveats := ", ".join(map(english, result.caveats)):
        values["caveats"] = caveats
    return {f"eval/{result.task}/{name}": value for name, value in values.items()}


def _step(model: Path) -> int | None:
    """The step that a checkpoint or a training ended at."""
    if match := re.fullmatch(r"checkpoint-(\d+)", model.name):
        return int(match[1])
    state = model / "trainer_state.json"
    step = read_json(state, nan=True).get("global_step") if state.is_file() else None
    return step if isinstance(step, int) else None
