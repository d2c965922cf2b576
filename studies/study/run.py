"""A study in one command: each step of its list a process of its own, once what it reads is finished.

Killed and run again, the study continues where it stopped: a step is skipped when it is finished and its settings and
inputs are unchanged, and no result that took long is ever deleted or overwritten. Further processes of the same command,
here or on another machine that sees the folder, take the steps that nobody works on. Checkpoints go when their step is
finished (keep_checkpoints: true in the YAML keeps them). Logs are in `<output_dir>/logs`, the table in
`<output_dir>/table`.
"""

import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sozo.data.checkpoints import checkpoints, last_checkpoint
from sozo.data.errors import UserError
from sozo.data.preemption import PREEMPTED
from sozo.data.progress import console
from sozo.data.record import refuse_foreign
from sozo.data.study_folder import STUDY, StudyFolder, write_study
from sozo.models.tiny import ensure_tiny, tiny_seed
from sozo.studies.study import record
from sozo.studies.study.claims import note_claims
from sozo.studies.study.config import Study
from sozo.studies.study.plan import plan_lines
from sozo.studies.study.process import run_logged, tail
from sozo.studies.study.record import State
from sozo.studies.study.rehearsal import cut_off
from sozo.studies.study.steps import Step, StudyList

terminal = console(stderr=True, highlight=False, markup=False)


def to_do(steps: Sequence[Step]) -> list[Step]:
    """The steps that are not finished; what has changed is refused."""
    return [step for step in steps if record.state(step) != State.FINISHED]


def status(steps: Sequence[Step]) -> Iterator[str]:
    """What each step's folder says, or why it is not taken."""
    for step in steps:
        try:
            said = str(record.state(step))
            if said != State.FINISHED and record.runs(step):
                said = "runs"
                if step.log.is_file():
                    said += f": {tail(step.log, 1)[:200]}"
        except UserError as error:
            said = str(error)
        yield f"{step.name}: {said}"


def plan(study: Study, steps: Sequence[Step], launch: list[str]) -> Iterator[str]:
    """Lines of a shell script: each step's command with what it needs."""
    for line, step in zip(status(steps), steps, strict=True):
        yield f"# {line}"
        yield from (f"#   {line}" for line in plan_lines(study, step))
        yield f"{shlex.join(step.words(launch))}\n"


def run_study(
    study: Study,
    steps: Sequence[Step],
    launch: list[str],
    *,
    rehearse: bool = False,
) -> None:
    """Run what is not finished and nobody works on, until all is finished."""
    for model in dict.fromkeys(map(study.model_at, study.seeds)):
        if tiny_seed(model) is not None:
            ensure_tiny(model)  # with its bar, which no step's log shows
    folder = Path(study.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    refuse_foreign(folder, STUDY, [step.folder.name for step in steps])
    rows = StudyList(study).rows
    write_study(folder, StudyFolder(study.name, study.paper_model, rows))
    note_claims(folder, [*study.claims, *study.exploratory])
    terminal.print(f"{len(to_do(steps))} of {len(steps)} steps are to do")
    while left := to_do(steps):
        step = next(filter(record.claim, filter(record.ready, left)), None)
        if step is None:  # another process makes what the others read
            time.sleep(1)
        elif record.state(step) != State.FINISHED:
            position = f"[{steps.index(step) + 1}/{len(steps)}] {step.name}:"
            _run(step, launch, position, rehearse)
            for checkpoint in checkpoints(step.folder):
                if not study.keep_checkpoints:
                    shutil.rmtree(checkpoint, ignore_errors=True)


def _run(step: Step, launch: list[str], position: str, rehearse: bool) -> None:
    """Run one step; a training that is rehearsed runs its second half once more, from the checkpoint."""
    log = step.log
    again = " (continues)" * (record.state(step) == State.CUT_OFF)
    record.start(step)
    terminal.print(f"{position} running{again}, log {log}")
    started = time.monotonic()

    def took() -> str:
        return f"{time.monotonic() - started:.0f}s"

    def tell() -> None:
        terminal.print(f"{position} {took()}, {tail(log, 1)[:200]}")

    command = step.words(launch)
    try:
        status = run_logged(command, log, tell)
        if rehearse and step.trains and not status:
            cut_off(step.folder)
            status = run_logged(command, log, tell)
    except SystemExit:  # SIGTERM, behind which the step has ended
        status = PREEMPTED
    if status == PREEMPTED:
        last = last_checkpoint(step.folder)
        where = f" from {last.name}" if last else ""
        terminal.print(
            f"{position} preempted after {took()}; with the same command it continues{where}"
        )
        sys.exit(PREEMPTED)
    if status or record.state(step) != State.FINISHED:
        terminal.print(f"The end of {log}:\n{tail(log, 12)}")
        how = f"exit status {status}" if status else "it ended without metrics.json"
        raise UserError(
            f"step {step.name} failed ({how}) after {took()}; once that is fixed, the same command continues"
        )
    terminal.print(f"{position} finished in {took()}")
