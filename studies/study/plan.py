"""What a dry run says of a step beside its command: batch arithmetic, memory, disk. All from files, no model."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sozo.data.checkpoints import checkpoints
from sozo.data.errors import UserError
from sozo.models.sampling import Sampling
from sozo.models.settings import OF_NOUNS
from sozo.studies.study.config import Study
from sozo.studies.study.steps import LIST, Step
from sozo.training.estimates import GIB, UNKNOWN

if TYPE_CHECKING:
    from sozo.training.plan import TrainingPlan

_LONGEST_BUILD = 600  # seconds


def training_of(step: Step) -> "TrainingPlan":
    """The plan of a step, read as training reads it: what that would refuse is refused here."""
    from sozo.training.plan import Hardware, make_plan  # TRL takes seconds to import

    assert step.config is not None
    assert step.launcher is not None
    hardware = replace(Hardware.of_file(step.launcher), processes=step.processes)
    try:
        return make_plan(step.script, step.settings, hardware)
    except UserError as error:
        where = "" if str(step.config) in str(error) else f" with {step.config}"
        raise UserError(f"step {step.name}{where}: {error}") from error


def plan_lines(study: Study, step: Step) -> list[str]:
    """Lines about one step."""
    if step.script == LIST:
        how = "those that the model's tokenizer writes with the fewest tokens"
        return [f"{int(step.flags['first']):,} nouns at most: {how}"]
    if step.launcher is None:
        return []
    processes = step.processes
    if task := step.flags.get("task"):
        return [
            f"the items of {task}, on {processes} process(es) ({step.launcher.stem})"
        ]
    if step.trains:
        from sozo.training.plan import plan_lines as training_lines

        end = "kept" if study.keep_checkpoints else "dropped when it is done"
        return list(training_lines(training_of(step), study.shape, f", {end}"))
    return _sampling(study, step, step.launcher)


def _sampling(study: Study, step: Step, launcher: Path) -> list[str]:
    flags = step.flags
    count = int(flags["num_answers"])
    batch = int(flags.get("batch_size", 1024))
    sampling = Sampling.parse(flags.get("sampling"))
    each = f", each the best of {sampling.replies}" * (sampling.replies > 1)
    each += f", each one of {sampling.in_one_reply} in one reply" * (
        sampling.in_one_reply > 1
    )
    line = (
        f"{count:,} answers{each} in {-(-count // batch):,} batches of {batch:,}, on {step.processes} process(es)"
        f" ({launcher.stem}), seed {flags['seed']}"
    )
    if flags["model"] in OF_NOUNS:
        return [line]
    element = 4 if flags.get("dtype") == "float32" else 2
    if (model := study.shape) is None:
        return [line, UNKNOWN]
    weights = element * model.parameters / GIB
    return [line, f"memory for each process, GiB: weights {weights:.3g}"]


def study_disk(study: Study, steps: Sequence[Step]) -> float | None:
    """GiB that all these steps need together at most; None of a model whose shape is not known.

    Answers and logs are small beside it.
    """
    if (shape := study.shape) is None:
        return None
    plans = [training_of(step) for step in steps if step.trains]
    models = [plan.states(shape).model for plan in plans]
    at_once = [
        plan.disk(shape) - left for plan, left in zip(plans, models, strict=True)
    ]
    most = sum(at_once) if study.keep_checkpoints else max(at_once, default=0)
    return most + sum(models)


def machine_faults() -> Iterator[str]:
    """What of this machine would let a step hang or fail hours later, each in a line."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    for lock in sorted(
        Path(os.environ.get("TORCH_EXTENSIONS_DIR", home / "torch_extensions")).glob(
            "**/lock"
        )
    ):
        if time.time() - lock.stat().st_mtime > _LONGEST_BUILD:
            yield f"{lock}: a killed DeepSpeed start has left it, and every other one waits for it without a word"
    shared = Path("/dev/shm")  # noqa: S108
    if shared.is_dir() and (size := shutil.disk_usage(shared).total) < GIB:
        yield f"shared memory: {size / GIB:.2g} GiB; NCCL and vLLM need 1 GiB or more: docker run --shm-size=16g ..."


def drop_checkpoints(folder: Path) -> bool:
    """Delete the checkpoints of a finished training run, which nothing resumes; whether there were any."""
    dropped = checkpoints(folder)
    for checkpoint in dropped:
        shutil.rmtree(
            checkpoint, ignore_errors=True
        )  # that one cannot be deleted spoils nothing
    return bool(dropped)
