"""What a dry run says of a step beside its command: batch arithmetic, memory, disk, cost. All from files, no model."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sozo.data.checkpoints import checkpoints
from sozo.data.errors import UserError
from sozo.data.settings import read_yaml
from sozo.models.sampling import Sampling
from sozo.models.settings import OF_NOUNS
from sozo.studies.study.config import Study
from sozo.studies.study.steps import LIST, Step
from sozo.training.estimates import GIB, GPUS, drawing_hours

if TYPE_CHECKING:
    from sozo.training.plan import Lengths, TrainingPlan

_LONGEST_BUILD = 600  # seconds
_UNKNOWN = (
    "memory, disk and hours are not known: the model's config.json cannot be read here"
)
_AT_ONCE = 256  # answers that one GPU decodes together, where nothing else is said


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
        from sozo.training.plan import arithmetic
        from sozo.training.plan import plan_lines as training_lines

        end = "kept" if study.keep_checkpoints else "dropped when it is done"
        told = training_of(step)
        if study.shape is None:
            return [arithmetic(told), _UNKNOWN]
        return [*training_lines(told, study.shape, _lengths(study), f", {end}")]
    lines = _sampling(study, step, step.launcher)
    if hours := step_hours(study, step):
        from sozo.training.plan import said_hours

        lines.append(f"estimated, never run: {said_hours(hours, processes)}")
    return lines


def _sampling(study: Study, step: Step, launcher: Path) -> list[str]:
    flags = step.flags
    count = int(flags["num_answers"])
    batch = int(flags.get("batch_size", 1024))
    sampling = Sampling.parse(flags.get("sampling"))
    each = f", each the best of {sampling.replies}" * (sampling.replies > 1)
    line = (
        f"{count:,} answers{each} in {-(-count // batch):,} batches of {batch:,}, on {step.processes} process(es)"
        f" ({launcher.stem}), seed {flags['seed']}"
    )
    if flags["model"] in OF_NOUNS:
        return [line, "no model draws these lists: no hours of a GPU"]
    element = 4 if flags.get("dtype") == "float32" else 2
    at_once = _at_once(flags)
    if (model := study.shape) is None:
        return [line, _UNKNOWN]
    weights = (
        f"memory for each process, GiB: weights {element * model.parameters / GIB:.3g}"
    )
    if flags.get("backend") == "vllm":
        return [line, f"{weights}, keys and values as much as vLLM is given"]
    cache = model.kv_cache_bytes(
        study.lengths.prompt + at_once * int(flags["max_new_tokens"]), element
    )
    more = "" if "slots" in flags else "; a GPU with room takes more"
    return [
        line,
        f"{weights}, keys and values {cache / GIB:.3g} ({at_once} answers at once{more})",
    ]


def _lengths(study: Study) -> "Lengths":
    from sozo.training.plan import Lengths

    tokens = study.lengths
    return Lengths(tokens.prompt, tokens.answer, int(study.sampling["max_new_tokens"]))


def step_hours(study: Study, step: Step) -> dict[str, float]:
    """Hours of one GPU that a step takes, by the GPU's name.

    Empty without an estimate: of a model whose shape is not known, on a CPU, of nouns alone, at an endpoint, of another
    task.
    """
    if study.shape is None:
        return {}
    if step.trains:
        from sozo.training.plan import plan_hours

        return plan_hours(training_of(step), study.shape, _lengths(study))
    flags = step.flags
    training = map(study.path, filter(None, astuple(study.training)))
    files = [file for file in (step.launcher, *training) if file]
    of_none = (
        flags.get("model") in OF_NOUNS
        or flags.get("backend") == "openai"
        or "task" in flags
    )
    if of_none or any(read_yaml(file).get("use_cpu") for file in files):
        return {}
    sampling = Sampling.parse(flags.get("sampling"))
    count = int(flags["num_answers"]) * sampling.replies
    return {
        gpu.name: drawing_hours(
            study.shape,
            gpu,
            answers=count,
            length=study.lengths.answer,
            prompt=study.lengths.prompt,
            at_once=_at_once(flags),
            vllm=flags.get("backend") == "vllm",
            bf16=flags.get("dtype") != "float32",
        )
        for gpu in GPUS
    }


def _at_once(flags: Mapping[str, str]) -> int:
    """Answers that one process decodes together."""
    return min(int(flags.get("batch_size", 1024)), int(flags.get("slots", _AT_ONCE)))


def study_time(study: Study, steps: Sequence[Step]) -> str:
    """What the steps with an estimate take together, and which steps of a model have none."""
    from sozo.training.plan import wall_time

    wall = dict[str, float]()
    most = 0
    paid = 0.0
    unknown = []
    for step in steps:
        if step.launcher is None:
            continue
        hours = step_hours(study, step)
        for name, of_gpu in hours.items():
            wall[name] = wall.get(name, 0) + of_gpu / step.processes
            most = max(most, step.processes)
        paid += hours.get(GPUS[0].name, 0)
        if not hours and step.flags.get("model") not in OF_NOUNS:
            unknown.append(step.name)
    if study.shape is None:
        return "no estimate of time without the model's config.json"
    if not wall:
        return "no estimate of time on a CPU"
    without = f", without {', '.join(unknown)}" if unknown else ""
    more = (
        "each step's start, loading, scoring and waiting come on top: recipes/README.md"
    )
    return f"estimated, never run: {wall_time(wall, most, paid)}{without}; {more}"


def study_disk(study: Study, steps: Sequence[Step]) -> float | None:
    """GiB that all these steps need together at most; None of a model whose shape is not known.

    Answers and logs are small beside it.
    """
    from sozo.training.plan import disk_of

    if study.shape is None:
        return None
    disks = [disk_of(training_of(step), study.shape) for step in steps if step.trains]
    at_once = [checkpoint * count for checkpoint, count, _ in disks]
    most = sum(at_once) if study.keep_checkpoints else max(at_once, default=0)
    return most + sum(left for *_, left in disks)


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
