"""The paper's training study in one command: base, SFT, DPO 1, DPO 2 and GRPO, and Table 11 beside the paper's.

    python recipes/reproduce.py --config recipes/tiny/reproduce.yaml              # two CPU cores
    python recipes/reproduce.py --config recipes/swallow-8b/reproduce.yaml        # one node of eight GPUs
    python recipes/reproduce.py --config recipes/swallow-8b/reproduce.yaml --dry-run

Each step is a command of its own under `accelerate launch`; --dry-run prints them all, with the batch arithmetic, the
memory a GPU needs, the disk and an estimate of the hours. A YAML may name seeds and arms of its own (docs/study.md).
Killed and run again, the study continues where it stopped: a step is skipped when it is finished and its settings and
inputs are unchanged, and no result that took long is ever deleted or overwritten. Checkpoints go when their step is
finished (keep_checkpoints: true in the YAML keeps them). Logs are in `<output_dir>/logs`, the table in
`<output_dir>/table`. recipes/README.md has several nodes and Slurm.
"""

import argparse
import shlex
import signal
import sys
import time
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.progress import console
from sozo.data.record import refuse_foreign
from sozo.data.run_folder import LOCK, lock
from sozo.data.study_folder import STUDY, StudyFolder, write_study
from sozo.scoring.guard import Guard
from study.claims import note_claims
from study.config import load_study
from study.plan import check_training_flags, drop_checkpoints, machine_faults, plan_lines, study_disk, study_hours
from study.process import run_logged, tail
from study.record import Records, State
from study.steps import Step, study_rows, study_steps

ACCELERATE = ["accelerate", "launch"]
terminal = console(stderr=True, highlight=False, markup=False)


def chosen(steps: list[Step], first: str | None, only: str | None) -> list[Step]:
    """The steps from `first` on, or one of them alone."""
    names = [step.name for step in steps]
    for flag, name in (("--from", first), ("--only", only)):
        if name and name not in names:
            raise UserError(f"{flag} {name}: no such step; there are {', '.join(names)}")
    if only:
        return [step for step in steps if step.name == only]
    return steps[names.index(first) :] if first else steps


def run_step(step: Step, records: Records, launch: list[str], position: str, *, keep_checkpoints: bool = True) -> None:
    """Run one step, or skip it if it is finished; of a finished one checkpoints are dropped or kept."""
    state = records.state(step)
    if state == State.FINISHED:
        dropped = not keep_checkpoints and drop_checkpoints(records.folder / step.name)
        terminal.print(f"{position} {step.name}: finished before{', checkpoints dropped' * dropped}")
        return
    log = records.folder / "logs" / f"{step.name}.log"
    records.start(step)
    terminal.print(f"{position} {step.name}: running{' (continues)' * (state == State.CUT_OFF)}, log {log}")
    started = time.monotonic()
    # The command's own Python is this one, whatever the shell's PATH says.
    words = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch"] if launch == ACCELERATE else launch
    status = run_logged(step.command(words, sys.executable), log)
    took = time.strftime("%H:%M:%S", time.gmtime(time.monotonic() - started))
    if status or not (records.folder / step.name / "metrics.json").is_file():
        terminal.print(f"The end of {log}:\n{tail(log, 12)}")
        how = f"exit status {status}" if status else "it ended without metrics.json"
        raise UserError(f"step {step.name} failed ({how}) after {took}; once that is fixed, the same command continues")
    dropped = not keep_checkpoints and drop_checkpoints(records.folder / step.name)
    terminal.print(f"{position} {step.name}: finished in {took}{', checkpoints dropped' * dropped}")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True, help="recipes/<model>/reproduce.yaml")
    parser.add_argument("--output_dir", help="over the YAML's")
    parser.add_argument("--from", dest="first", metavar="STEP", help="leave the earlier steps as they are")
    parser.add_argument("--only", metavar="STEP", help="this step alone")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and what they need; run nothing")
    instead = "words instead of `accelerate launch`, such as 'srun launch.sh'"
    parser.add_argument("--launcher", default=" ".join(ACCELERATE), help=instead)
    return parser.parse_args()


def main() -> None:
    """Run the study, or print what it would run."""
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    launch, study = shlex.split(args.launcher), load_study(args.config, args.output_dir)
    check_training_flags(study)
    steps, records = chosen(study_steps(study), args.first, args.only), Records(Path(study.output_dir))
    if args.dry_run:  # a shell script
        for number, step in enumerate(steps, 1):
            print(f"# {number} of {len(steps)}: {step.name} ({records.state(step)})")
            print(*(f"#   {line}\n" for line in plan_lines(study, step)), sep="", end="")
            print(f"{shlex.join(step.command(launch))}\n")
        print(*(f"# {fault}\n" for fault in machine_faults()), sep="", end="")
        print(f"# {study_hours(study, steps)}; {study_disk(study, steps)}")
        return
    # A folder that is not there and an impossible batch are found now, not hours later. A hub id has one slash at most.
    for model in dict.fromkeys(map(study.model_at, study.seeds)):
        looks_like_folder = model.count("/") > 1 or model.startswith((".", "~"))
        if looks_like_folder and not Path(model).is_dir():
            raise UserError(f"model {model}: no such folder; make it first (README.md beside the study's YAML)")
    for step in steps:
        plan_lines(study, step)
    if study.guard_encoder:
        Guard(study.guard_encoder)  # one that cannot be loaded would be found out after the last training
    for fault in machine_faults():
        terminal.print(fault)
    lock(records.folder)
    refuse_foreign(records.folder, STUDY, {LOCK})
    write_study(records.folder, StudyFolder(study.name, study.paper_model, study_rows(study)))
    note_claims(records.folder, study.claims)
    for number, step in enumerate(steps, 1):
        position = f"[{number}/{len(steps)}]"
        run_step(step, records, launch, position, keep_checkpoints=study.keep_checkpoints)
    if steps[-1].name == "table":
        table = records.folder / "table"
        print((table / "result.md").read_text("utf-8"))
        print(f"The page: {table / 'report.html'}")


if __name__ == "__main__":
    with one_line_errors("reproduce"):
        main()
