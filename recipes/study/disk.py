"""The disk that a study fills: checkpoints while a step trains, a model when it is done. Estimates, from files."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

from study.config import Study, read_yaml
from study.estimates import GIB, training_disk
from study.plan import optimizer_steps, training_config, zero_stage
from study.steps import Step


def disk_lines(study: Study, step: Step) -> list[str]:
    """What a step that trains writes."""
    if not step.trains:
        return []
    checkpoint, count, left = _disk(study, step)
    end = "kept" if study.keep_checkpoints else "dropped when it is done"
    return [f"disk, GiB: checkpoints {checkpoint:.3g} each, {count} at once at most, {end}; {left:.3g} stay"]


def study_disk(study: Study, steps: Sequence[Step]) -> str:
    """What all these steps need together, and what there is. Responses and logs are small beside it."""
    disks = [_disk(study, step) for step in steps if step.trains]
    at_once = [checkpoint * count for checkpoint, count, _ in disks]
    most = sum(at_once) if study.keep_checkpoints else max(at_once, default=0)
    folder = Path(study.output_dir).absolute()
    free = shutil.disk_usage(next(p for p in (folder, *folder.parents) if p.exists())).free / GIB
    return f"disk at most: {most + sum(left for *_, left in disks):.3g} GiB; free now: {free:.3g} GiB"


def drop_checkpoints(folder: Path) -> bool:
    """Delete the checkpoints of a finished training run, which nothing resumes; whether there were any."""
    checkpoints = list(folder.glob("checkpoint-*"))
    for checkpoint in checkpoints:
        shutil.rmtree(checkpoint, ignore_errors=True)  # that one cannot be deleted spoils nothing
    return bool(checkpoints)


def _disk(study: Study, step: Step) -> tuple[float, int, float]:
    """GiB of a checkpoint, how many there are at once, and GiB of what stays."""
    config, model = training_config(step), study.architecture
    lora, bf16 = bool(config.get("use_peft")), config.get("dtype") == "bfloat16"
    rank = int(config.get("lora_r", 16)) if lora else None
    stage = zero_stage(read_yaml(step.launcher)) if step.launcher else 0
    checkpoint, left = training_disk(model, zero_stage=stage, bf16=bf16, lora_rank=rank)
    if lora and config["model_name_or_path"] != study.model:  # an adapter before it is merged into a model of its own
        left += (2 if bf16 else 4) * model.parameters / GIB
    steps, every = optimizer_steps(step), float(config.get("save_steps", 500))
    saved = math.ceil(steps / (every if every >= 1 else every * steps))  # the last step is always saved
    limit = config.get("save_total_limit")  # the oldest goes when the newest is whole
    return checkpoint, min(saved, int(limit) + 1) if limit else saved, left
