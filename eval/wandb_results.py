"""A finished run's results in W&B: in the run that trained the model, at the step of the checkpoint.

What was logged is kept in `wandb.json`, so that the same command does not log it twice, and does log what it could not.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data.record import write_json
from data.wandb_run import WandbRun, start_wandb, trained_by
from eval.commands import DatRun
from eval.jcq_run import ANSWERS, LEDGER, QUESTIONS, JcqRun
from eval.sat.run import ROWS, STORIES, SatRun

_MARK = "wandb.json"
_STEP = "train/global_step"  # the x-axis of everything that the trainers log
FinishedRun = DatRun | JcqRun | SatRun


@dataclass(frozen=True, slots=True)
class Described:
    """A run as W&B takes it.

    Args:
        kind: `dat`, `jcq` or `sat`.
        source: Whose results they are.
        values: Metrics by name, without the `eval/KIND/` before it.
        facts: What is no number, for the summary.
        columns: Of the table.
        rows: Of the table.
        files: What goes into the artifact beside `config.json` and `metrics.json`.
    """

    kind: str
    source: str
    values: dict[str, float | None]
    facts: dict[str, str]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    files: tuple[str, ...]


def log_results(
    run: FinishedRun, model: str, *, wanted: bool | None, folder: Path, home: Path | None = None
) -> str | None:
    """Log a finished run, unless it was logged before.

    Args:
        run: The run; one that is not finished is left alone.
        model: Its model, as the user named it. A folder's `sozo_state.json` says which W&B run trained it.
        wanted: None logs where there is such a run; True starts a new one where there is none; False logs nothing.
        folder: Where W&B writes its files.
        home: Where `wandb.json` is kept: all runs under one `home` are one model's. The run's folder if None.

    Returns:
        One line for people; None if there was nothing to do.

    Raises:
        ValueError: `sozo_state.json` or `wandb.json` cannot be read.
    """
    if wanted is False or not (run.folder / "metrics.json").is_file():
        return None
    place = Path(model)
    trained = trained_by(place) if model and place.is_dir() else None
    if trained is None and not wanted:
        return None
    described = describe(run)
    mark = (home or run.folder) / _MARK
    there = _read(mark)
    logged: dict[str, str] = there["logged"] if there else {}
    into = trained or (WandbRun(**there["run"]) if there else None)
    digest = hashlib.sha256((run.folder / "metrics.json").read_bytes()).hexdigest()
    if there and into and there["run"]["id"] == into.id and logged.get(described.kind) == digest:
        return None
    import wandb

    try:
        used, line = _log(described, run.folder, into, _step(place) if model else None, folder)
    except (wandb.Error, OSError) as error:
        cause = " ".join(str(error).split())[:300]
        return f"W&B: {run.folder} was not logged ({cause}); mend it and run the same command again, which logs it"
    if used is not None:
        same = there is not None and there["run"]["id"] == used.id
        write_json(mark, {"run": asdict(used), "logged": {**(logged if same else {}), described.kind: digest}})
    return line


def describe(run: FinishedRun) -> Described:
    """What W&B shows of a run: every mean beside what it rests on."""
    if isinstance(run, DatRun):
        row = run.summary
        low, high = row.ci95 or (None, None)
        dat = {"mean": row.mean, "std": row.std, "ci95_low": low, "ci95_high": high, "valid": row.valid}
        dat |= {"num_responses": row.num_responses, "valid_rate": row.valid_rate, "unique_words": row.unique_words}
        return Described("dat", row.source, dat, {}, ("source", *dat), ((row.source, *dat.values()),), ("responses",))
    if isinstance(run, SatRun):
        story = run.summary
        low, high = story.ci95 or (None, None)
        sat = {"mean": story.mean, "std": story.std, "ci95_low": low, "ci95_high": high}
        sat |= {"scored_stories": story.scored_stories, "num_stories": story.num_stories}
        sat |= {"compliant": story.compliant, "num_rewrites": story.num_rewrites}
        sat |= {"mean_length": story.mean_length, "mean_copied": story.mean_copied}
        cells = (story.source, *sat.values())
        return Described("sat", story.source, sat, {}, ("source", *sat), (cells,), (ROWS, STORIES))
    metrics = run.metrics
    jcq: dict[str, float | None] = {}
    for name, mean in metrics["means"].items():
        jcq |= {name: mean["mean"], f"{name}_ci95_low": mean["low"], f"{name}_ci95_high": mean["high"]}
        jcq |= {f"{name}_n": mean["n"]}
    jcq |= {"num_questions": metrics["num_questions"], "answers": sum(metrics["statuses"].values())}
    jcq |= {f"answers_{status}": count for status, count in metrics["statuses"].items()}
    table = metrics["by_task"]
    by_task = zip(table["columns"], table["cells"][0], strict=True)
    rows = tuple((task, cell["mean"], cell["scored"], cell["asked"]) for task, cell in by_task)
    facts = {"judge": metrics["judge"], "judge_prompt": metrics["prompt"]}
    columns = ("task", "mean", "scored answers", "answers")
    return Described("jcq", metrics["source"], jcq, facts, columns, rows, (LEDGER, ANSWERS, QUESTIONS))


def _log(
    what: Described, results: Path, into: WandbRun | None, step: int | None, folder: Path
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
        values: dict[str, Any] = {f"{prefix}{key}": value for key, value in what.values.items() if value is not None}
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
        path = results / file
        if path.is_dir():
            artifact.add_dir(str(path), name=file)
        else:
            artifact.add_file(str(path))
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
        raise ValueError(f"{path}: cannot be read ({type(error).__name__}); remove it to log results anew") from error
    return dict(values)
