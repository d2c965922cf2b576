"""A finished run's results in W&B: in the run that trained the model, at the checkpoint's step, logged only once."""

import hashlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import parse_json
from sozo.data.record import read_json, write_json
from sozo.data.wandb_run import WandbRun, start_wandb, trained_by, training_summary
from sozo.eval.evaluated import Evaluated
from sozo.eval.findings import means
from sozo.eval.report.labels import english
from sozo.eval.run import TaskRun
from sozo.eval.seeds import Method
from sozo.tasks.judged import LEDGER
from sozo.tasks.run_result import ITEMS
from sozo.tasks.view import WANDB

_PARTS = {
    "value": "",
    "low": "_ci95_low",
    "high": "_ci95_high",
}  # how the parts of a number are called
_STEP = "train/global_step"  # the x-axis of everything that the trainers log


def log_results(
    run: TaskRun,
    model: str,
    *,
    wanted: bool | None,
    folder: Path,
    home: Path | None = None,
) -> str | None:
    """Log a finished run, unless `wandb.json` says it was before; one line for people, None if there was nothing to do.

    `model` is as the user named it: its folder's `sozo_state.json` says which W&B run trained it. Where none did,
    `wanted` starts one; False logs nothing. W&B writes in `folder`; `home`, which all runs of one model share (None:
    the run's folder), keeps `wandb.json`.
    """
    if wanted is False:
        return None
    place, kind = Path(model), run.task.name
    trained = trained_by(place) if model and place.is_dir() else None
    if trained is None and not wanted:
        return None
    mark = (home or run.folder) / "wandb.json"
    earlier, logged = _read(mark)
    if trained and earlier and trained.id != earlier.id:
        logged = {}
    digest = hashlib.sha256((run.folder / "metrics.json").read_bytes()).hexdigest()
    if logged.get(kind, {}).get("sha256") == digest:
        return None
    import wandb

    before = training_summary(place) if trained else {}
    before |= {
        key: value
        for results in logged.values()
        for key, value in results["values"].items()
    }
    values = {f"eval/{kind}/{key}": value for key, value in _values(run).items()}
    try:
        used = _log(
            run,
            values,
            trained or earlier,
            _step(place) if model else None,
            folder,
            before,
        )
    except (wandb.Error, OSError) as error:
        cause = " ".join(str(error).split())[:300]
        return f"W&B: {run.folder} was not logged ({cause}); fix it and run the same command again, which logs it"
    if used.disabled:
        return None
    logged[kind] = {"sha256": digest, "values": values}
    write_json(
        mark,
        {
            "run": asdict(WandbRun(used.id, used.project, used.entity or None)),
            "logged": logged,
        },
    )
    line = f"W&B: {kind} of {run.metrics['source']} is in the run {used.id} of the project {used.project}"
    return (
        f"{line}, offline; upload it with: wandb sync {Path(used.dir).parent}"
        if used.offline
        else line
    )


def _log(
    run: TaskRun,
    values: dict[str, Any],
    into: WandbRun | None,
    step: int | None,
    folder: Path,
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
    name = None if into else run.metrics["source"]
    used = start_wandb(
        into, name=name, folder=folder, settings=settings, reinit="create_new"
    )
    try:
        if used.disabled:
            return used
        if used.offline:
            used.summary.update(before)
        row = {
            key: value for key, value in values.items() if not isinstance(value, str)
        }
        if step is not None:
            used.define_metric(_STEP)
            used.define_metric(f"eval/{run.task.name}/*", step_metric=_STEP)
            row[_STEP] = step
        used.log(row)
        used.summary.update(
            {key: value for key, value in values.items() if isinstance(value, str)}
        )
        used.log_artifact(_artifact(used.id, run, step))
    finally:
        used.finish()
    return used


def _values(run: TaskRun) -> dict[str, float | str]:
    """Numbers and texts by their names below `eval/TASK/`."""
    task, result = type(run.task), run.result
    shown = task.view.fill_columns(WANDB, task.measures, result)
    values: dict[str, float | str] = {
        column.name: cell.content
        for column, cell in shown
        if isinstance(cell.content, str)
    }
    model = Evaluated(run.metrics["source"], runs={(result.task, result.kind): result})
    columns = [column for column, _ in shown]
    for row in means(Method(model.name, {"": model}), task, columns):
        for part, value in row.cell.exact.items():
            values[row.column + _PARTS.get(part, f"_{part}")] = value
    caveats = ", ".join(map(english, run.result.caveats))
    return values | ({"caveats": caveats} if caveats else {})


def _artifact(run_id: str, run: TaskRun, step: int | None) -> Any:
    import wandb

    task, source = run.task, run.metrics["source"]
    name = re.sub(r"[^\w.-]+", "-", f"{run_id}-{task.name}-{source}", flags=re.ASCII)[
        :128
    ]
    texts = {
        key: value for key, value in _values(run).items() if isinstance(value, str)
    }
    facts = {"source": source, "step": step, **texts}
    artifact = wandb.Artifact(name, type="evaluation", metadata=facts)
    for name in ("config.json", "metrics.json", ITEMS, LEDGER, "answers/part-*"):
        # One by one: adding a folder whole is announced on the terminal.
        for path in sorted(run.folder.glob(name)):
            artifact.add_file(str(path), name=path.relative_to(run.folder).as_posix())
    return artifact


def _step(model: Path) -> int | None:
    """The step that a checkpoint or a training ended at."""
    if match := re.fullmatch(r"checkpoint-(\d+)", model.name):
        return int(match[1])
    state = model / "trainer_state.json"
    step = read_json(state, nan=True).get("global_step") if state.is_file() else None
    return step if isinstance(step, int) else None


def _read(path: Path) -> tuple[WandbRun | None, dict[str, dict[str, Any]]]:
    """The W&B run that was logged into, and what was logged, by task."""
    try:
        record = parse_json(path.read_bytes())
        return WandbRun(**record["run"]), dict(record["logged"].items())
    except FileNotFoundError:
        return None, {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: cannot be read ({type(error).__name__}); move it away to log results anew"
        ) from error
