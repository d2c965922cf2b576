"""A study in one command: its steps, each a process of its own, or what they would run; its page.

Each step is a command of its own under `accelerate launch`. Killed and run again, the study continues where it stopped:
a step is skipped when it is finished and its settings and inputs are unchanged, and no result that took long is ever
deleted or overwritten. Checkpoints go when their step is finished (keep_checkpoints: true in the YAML keeps them). Logs
are in `<output_dir>/logs`, the table in `<output_dir>/table`.
"""

import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sozo.data.checkpoints import STATE, checkpoints, damaged
from sozo.data.errors import UserError
from sozo.data.preemption import PREEMPTED
from sozo.data.progress import console
from sozo.data.record import refuse_foreign
from sozo.data.run_folder import LOCK, lock
from sozo.data.study_folder import STUDY, StudyFolder, write_study
from sozo.models.tiny import ensure_tiny, tiny_seed
from sozo.scoring.second_encoder import SecondEncoder
from sozo.studies.study.beside_paper import UNTRAINED, gate
from sozo.studies.study.claims import note_claims
from sozo.studies.study.config import Study
from sozo.studies.study.plan import (
    drop_checkpoints,
    machine_faults,
    plan_lines,
    study_disk,
    training_of,
)
from sozo.studies.study.process import launched, run_logged, tail
from sozo.studies.study.record import Records, State
from sozo.studies.study.rehearsal import cut_off
from sozo.studies.study.steps import Step, study_rows
from sozo.studies.study.table11 import table11
from sozo.training.estimates import free_gib

terminal = console(stderr=True, highlight=False, markup=False)


def chosen(steps: list[Step], only: str | None, processes: int | None) -> list[Step]:
    """The steps, or one of them alone, on so many processes; None are those of the YAML's launcher."""
    names = [step.name for step in steps]
    if only and only not in names:
        raise UserError(f"--only {only}: no such step; there are {', '.join(names)}")
    return [
        replace(step, of_launcher=processes)
        for step in steps
        if only in (None, step.name)
    ]


def to_do(study: Study, steps: Sequence[Step]) -> list[Step]:
    """The steps that are not finished."""
    records = Records(Path(study.output_dir))
    return [step for step in steps if records.state(step) != State.FINISHED]


def run_step(
    step: Step,
    records: Records,
    launch: list[str],
    position: str,
    grace: int,
    *,
    keep_checkpoints: bool = True,
    rehearse: bool = False,
) -> None:
    """Run one step, or skip it if it is finished; of a finished one checkpoints are dropped or kept.

    To `rehearse` a training is to run it, and the second half of it once more, from the checkpoint.
    """
    state = records.state(step)
    if state == State.FINISHED:
        dropped = not keep_checkpoints and drop_checkpoints(records.folder / step.name)
        terminal.print(
            f"{position} {step.name}: finished before{', checkpoints dropped' * dropped}"
        )
        return
    log = records.folder / "logs" / f"{step.name}.log"
    records.start(step)
    terminal.print(
        f"{position} {step.name}: running{' (continues)' * (state == State.CUT_OFF)}, log {log}"
    )
    started = time.monotonic()

    def tell() -> None:
        minutes = (time.monotonic() - started) / 60
        terminal.print(
            f"{position} {step.name}: {minutes:.0f} min, {tail(log, 1)[:200]}"
        )

    words = launched(launch)
    try:
        for again in range(1 + (rehearse and step.trains)):
            if again:
                cut_off(records.folder / step.name)
            if status := run_logged(
                step.command(words, sys.executable), log, tell, grace
            ):
                break
    except SystemExit:  # SIGTERM, behind which the step has ended
        status = PREEMPTED
    took = time.strftime("%H:%M:%S", time.gmtime(time.monotonic() - started))
    if status == PREEMPTED:
        terminal.print(
            f"{position} {step.name}: preempted after {took}; with the same command it {_goes_on(step, records.folder)}"
        )
        sys.exit(PREEMPTED)
    if status or not (records.folder / step.name / "metrics.json").is_file():
        terminal.print(f"The end of {log}:\n{tail(log, 12)}")
        how = f"exit status {status}" if status else "it ended without metrics.json"
        raise UserError(
            f"step {step.name} failed ({how}) after {took}; once that is fixed, the same command continues"
        )
    dropped = not keep_checkpoints and drop_checkpoints(records.folder / step.name)
    terminal.print(
        f"{position} {step.name}: finished in {took}{', checkpoints dropped' * dropped}"
    )


def _goes_on(step: Step, folder: Path) -> str:
    """What becomes of a step that was ended, by what it has left."""
    if (folder / step.name / "metrics.json").is_file():
        return "is finished"
    for path in checkpoints(folder / step.name):
        if (path / STATE).is_file() and not damaged(path):
            return f"continues from {path.name}"
    return "begins anew" if step.trains else "continues"


def plan(study: Study, steps: Sequence[Step], launch: list[str]) -> Iterator[str]:
    """Lines of a shell script: each step's command with what it needs, then the disk of the whole study."""
    records = Records(Path(study.output_dir))
    for number, step in enumerate(steps, 1):
        yield f"# {number} of {len(steps)}: {step.name} ({records.state(step)})"
        yield from (f"#   {line}" for line in plan_lines(study, step))
        yield f"{shlex.join(step.command(launch))}\n"
    trained = [
        step.flags["run_name"]
        for step in steps
        if step.trains and "wandb" in str(training_of(step).told.report_to)
    ]
    project = os.environ.get("WANDB_PROJECT", "sozo")
    free = free_gib(Path(study.output_dir))
    yield f"# {len(steps)} steps"
    if (most := study_disk(study, steps)) is None:
        yield f"# disk: not known, {free:.3g} GiB free"
    else:
        verdict = "enough" if most <= free else "NOT enough"
        yield f"# disk: {most:.3g} GiB at most, {free:.3g} GiB free: {verdict}"
    yield f"# results: {study.step_folder('table')}/result.md, report.html, metrics.json, report-tables/"
    if trained:
        yield f"# W&B, project {project}: {', '.join(trained)} (docs/wandb.md); the table is in files only"
    yield from (f"# {fault}" for fault in machine_faults())


def run_study(
    study: Study,
    steps: Sequence[Step],
    launch: list[str],
    grace: int,
    *,
    go_on: bool = False,
    rehearse: bool = False,
) -> None:
    """Run what is not finished; a UserError behind random or base where these miss the paper, unless it is to go on."""
    started = time.monotonic()
    records = Records(Path(study.output_dir))
    for step in steps:
        plan_lines(study, step)  # an impossible batch is found now, not hours later
    if study.second_encoder:
        SecondEncoder(
            study.second_encoder
        )  # one that cannot be loaded would be found out after the last training
    for fault in machine_faults():
        terminal.print(fault)
    for model in dict.fromkeys(map(study.model_at, study.seeds)):
        if tiny_seed(model) is not None:
            ensure_tiny(model)  # with its bar, which no step's log shows
    lock(records.folder)
    refuse_foreign(records.folder, STUDY, {LOCK})
    write_study(
        records.folder, StudyFolder(study.name, study.paper_model, study_rows(study))
    )
    note_claims(records.folder, [*study.claims, *study.exploratory])
    for number, step in enumerate(steps, 1):
        position = f"[{number}/{len(steps)}]"
        run_step(
            step,
            records,
            launch,
            position,
            grace,
            keep_checkpoints=study.keep_checkpoints,
            rehearse=rehearse,
        )
        if study.paper_model and study.arms is None and step.name in UNTRAINED:
            folders = {
                name: Path(study.step_folder(name))
                for name in UNTRAINED[: 1 + UNTRAINED.index(step.name)]
                if Path(study.step_folder(name), "metrics.json").is_file()
            }
            rows = table11(folders, study.paper_model).rows
            for line in gate(rows, go_on=go_on or rehearse):
                terminal.print(f"{position} {line}")
    if rehearse:
        minutes = (time.monotonic() - started) / 60
        terminal.print(
            f"Rehearsed in {minutes:.0f} minutes; nothing in {study.output_dir} is a result"
        )
