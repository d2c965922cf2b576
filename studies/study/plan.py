"""What a dry run says of a step beside its command: batch arithmetic, memory, disk, cost. All from files, no model."""

import math
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from sozo.data.checkpoints import checkpoints
from sozo.data.errors import UserError
from sozo.data.settings import read_yaml
from sozo.models.settings import OF_NOUNS
from sozo.studies.study.config import Study
from sozo.studies.study.estimates import (
    GIB,
    H100_SPEED,
    generation_hours,
    training_disk,
    training_hours,
    training_memory,
)
from sozo.studies.study.steps import Step

# Per method: the batch's setting, the count of items, what an item is, its answers.
_BATCH = {
    "sft_dat.py": ("examples_per_step", "top_k", "examples", 1),
    "dpo_dat.py": ("examples_per_step", "num_pairs", "pairs", 2),
    "grpo_dat.py": ("completions_per_step", None, "completions", 1),
}
_LONGEST_BUILD = 600  # seconds


@dataclass(frozen=True)
class Training:
    """What decides the cost of a step that trains."""

    config: dict[str, Any]  # every setting: its flags over its YAML over the defaults
    processes: int
    zero_stage: int  # 0 shards nothing; FSDP shards what ZeRO-3 does
    batch: int  # items of an optimizer step
    count: int  # items of an epoch
    items: str  # what they are called
    answers: int  # of an item

    @property
    def total(self) -> int:
        """Items of all epochs."""
        return int(self.count * self.config["num_train_epochs"])

    @property
    def bf16(self) -> bool:
        """Whether weights are bfloat16; else float32."""
        return self.config["dtype"] == "bfloat16"

    @property
    def lora_rank(self) -> int | None:
        """Rank of the adapter; None trains all weights."""
        return self.config["lora_r"] if self.config["use_peft"] else None

    @property
    def checkpointing(self) -> bool:
        """Whether activations are computed again in the backward pass."""
        own = self.config["activation_checkpointing"]
        return bool(
            self.config["gradient_checkpointing"] if own is None else own
        )  # its old name, which TRL sets

    @property
    def reference(self) -> bool:
        """Whether a second model is asked for log-probabilities."""
        return self.answers == 2 or (
            self.items == "completions" and self.config["beta"] > 0
        )

    def tokens(self, prompt: int, answer: int) -> int:
        """Of a micro-batch of answers of so many tokens to a prompt of so many."""
        rows = self.answers * self.config["per_device_train_batch_size"]
        return (1 if self.config["share_prompt"] else rows) * prompt + rows * answer


def training_of(step: Step) -> Training:
    """The same, read from the step's files as training reads them: what it would refuse is refused here."""
    from sozo.training.config import read_plan  # TRL takes seconds to import
    from sozo.training.entries import entries_of
    from sozo.training.methods import recipe

    assert step.config is not None
    assert step.launcher is not None
    flags = [word for key, value in step.flags.items() for word in (f"--{key}", value)]
    script: Any  # one of three methods' own settings
    try:
        script, config = read_plan(
            *recipe(step.script.partition("_")[0])[1:],
            ["--config", str(step.config), *flags],
        )
        entries = entries_of(script) if hasattr(script, "tasks") else []
    except UserError as error:
        where = "" if str(step.config) in str(error) else f" with {step.config}"
        raise UserError(f"step {step.name}{where}: {error}") from error
    hardware = read_yaml(step.launcher)
    fsdp = hardware["distributed_type"] == "FSDP"
    stage = (
        3
        if fsdp
        else int((hardware.get("deepspeed_config") or {}).get("zero_stage", 0))
    )
    batch_key, count_key, items, answers = _BATCH[step.script]
    processes, per_device = (
        hardware["num_processes"],
        config["per_device_train_batch_size"],
    )
    batch = config[batch_key] or processes * per_device * (
        config["gradient_accumulation_steps"] or 1
    )
    prompts = sum(entry.count for entry in entries)
    count = config[count_key] if count_key else prompts * config["num_generations"]
    if per_device < 1 or batch % (processes * per_device) or count % batch:
        raise UserError(
            f"{step.config}: {count:,} {items} in batches of {batch_key} {batch} cannot be made of {processes}"
            f" process(es) x per_device_train_batch_size {per_device}; each must be a multiple of the next"
        )
    return Training(config, processes, stage, batch, count, items, answers)


def plan_lines(study: Study, step: Step) -> list[str]:
    """Lines about one step."""
    if step.launcher is None:
        return []
    processes = read_yaml(step.launcher)["num_processes"]
    if task := step.flags.get("task"):
        return [
            f"the items of {task}, on {processes} process(es) ({step.launcher.stem})"
        ]
    lines = (
        _training(study, step, step.launcher.stem)
        if step.trains
        else _sampling(study, step, step.launcher)
    )
    if hours := step_hours(study, step):
        lines.append(
            f"estimated, never run: {_wall_time(hours / processes, processes)} ({hours:.1f} A100 hours)"
        )
    return [*lines, _disk_line(study, step)] if step.trains else lines


def _sampling(study: Study, step: Step, launcher: Path) -> list[str]:
    flags, model, processes = (
        step.flags,
        study.architecture,
        read_yaml(launcher)["num_processes"],
    )
    count, batch = int(flags["num_answers"]), int(flags.get("batch_size", 1024))
    line = (
        f"{count:,} answers in {-(-count // batch):,} batches of {batch:,}, on {processes} process(es)"
        f" ({launcher.stem}), seed {flags['seed']}"
    )
    if flags["model"] in OF_NOUNS:
        return [line, "no model draws these lists: 0 A100 hours"]
    element, at_once = (
        4 if flags.get("dtype") == "float32" else 2,
        min(batch, int(flags.get("slots", 256))),
    )
    weights = (
        f"memory for each process, GiB: weights {element * model.parameters / GIB:.3g}"
    )
    if flags.get("backend") == "vllm":
        return [line, f"{weights}, keys and values as much as vLLM is given"]
    cache = model.kv_cache_bytes(
        study.tokens.prompt + at_once * int(flags["max_new_tokens"]), element
    )
    more = "" if "slots" in flags else "; a GPU with room takes more"
    return [
        line,
        f"{weights}, keys and values {cache / GIB:.3g} ({at_once} answers at once{more})",
    ]


def _training(study: Study, step: Step, launcher: str) -> list[str]:
    training, model = training_of(step), study.architecture
    config, processes, stage, batch = (
        training.config,
        training.processes,
        training.zero_stage,
        training.batch,
    )
    per_device = config["per_device_train_batch_size"]
    arithmetic = (
        f"{training.total:,} {training.items} / {batch} a step = {training.total // batch:,} optimizer steps; {batch} ="
        f" {processes} process(es) x {per_device} each x {batch // (processes * per_device)} accumulation step(s)"
        f" ({launcher}, learning rate {config['learning_rate']:g})"
    )
    memory = training_memory(
        model,
        tokens=training.tokens(
            study.tokens.prompt, int(study.sampling["max_new_tokens"])
        ),
        processes=processes,
        zero_stage=stage,
        bf16=training.bf16,
        checkpointing=training.checkpointing,
        lora_rank=training.lora_rank,
        reference_model=training.reference
        and not config.get("precompute_ref_log_probs"),
    )
    parts = ", ".join(f"{part} {gib:.3g}" for part, gib in memory.items())
    sharding = f"ZeRO-{stage}" if stage else "not sharded"
    lines = [
        arithmetic,
        f"memory for each process, {sharding}, GiB: {parts}; together {sum(memory.values()):.3g}",
    ]
    if training.items == "completions" and stage == 3:
        size = 2 * model.parameters / GIB
        lines.append(
            f"while it generates, without vLLM, ZeRO-3 gathers the whole weights: {size:.1f} GiB on each GPU"
        )
    if (
        not config["use_cpu"]
        and not stage
        and config["bf16"]
        and training.lora_rank is None
    ):
        lines.append(
            "note: bf16 weights without DeepSpeed have no float32 master; small steps are lost"
        )
    return lines


def step_hours(study: Study, step: Step) -> float:
    """A100 hours of a step; 0 of one without an estimate: on a CPU, of nouns alone, at an endpoint, of another task."""
    parameters, length = study.architecture.parameters, study.tokens.answer
    if not step.trains:
        flags, files = (
            step.flags,
            [step.launcher, *map(study.path, filter(None, astuple(study.training)))],
        )
        of_none = (
            flags.get("model") in OF_NOUNS
            or flags.get("backend") == "openai"
            or "num_answers" not in flags
        )
        if of_none or any(read_yaml(file).get("use_cpu") for file in files if file):
            return 0.0
        backend = "vllm" if flags.get("backend") == "vllm" else "transformers"
        return generation_hours(parameters, int(flags["num_answers"]) * length, backend)
    training = training_of(step)
    config = training.config
    if config["use_cpu"]:
        return 0.0
    micro_batches = training.total // config["per_device_train_batch_size"]
    hours = training_hours(
        parameters,
        micro_batches * training.tokens(study.tokens.prompt, length),
        checkpointing=training.checkpointing,
        lora=training.lora_rank is not None,
        reference=training.reference,
    )
    if training.items == "completions":
        backend = (
            "vllm"
            if config["use_vllm"] or config["sampler"] == "vllm"
            else "transformers"
        )
        hours += generation_hours(parameters, training.total * length, backend)
    return hours


def _wall_time(hours: float, processes: int) -> str:
    """So many hours of as many A100, and of as many H100, which are faster by their peak."""
    minutes = hours * 60
    return f"{minutes:,.0f} minutes on {processes} A100, {minutes / H100_SPEED:,.0f} on {processes} H100"


def study_time(study: Study, steps: Sequence[Step]) -> str:
    """What the steps with an estimate take together, and which steps of a model have none."""
    launched = [
        (step_hours(study, step), read_yaml(step.launcher)["num_processes"], step)
        for step in steps
        if step.launcher
    ]
    if not (total := sum(own for own, _, _ in launched)):
        return "no estimate of time on a CPU"
    wall = _wall_time(
        sum(own / count for own, count, _ in launched),
        max(count for own, count, _ in launched if own),
    )
    unknown = [
        step.name
        for own, _, step in launched
        if not own and step.flags.get("model") not in OF_NOUNS
    ]
    without = f", without {', '.join(unknown)}" if unknown else ""
    more = (
        "each step's start, loading, scoring and saving come on top: recipes/README.md"
    )
    return f"estimated, never run: {wall} ({total:.1f} A100 hours){without}; {more}"


def _disk_line(study: Study, step: Step) -> str:
    """What a step that trains writes."""
    checkpoint, count, left = _disk(study, step)
    end = "kept" if study.keep_checkpoints else "dropped when it is done"
    return f"disk, GiB: checkpoints {checkpoint:.3g} each, {count} at once at most, {end}; {left:.3g} stay"


def study_disk(study: Study, steps: Sequence[Step]) -> float:
    """GiB that all these steps need together at most. Answers and logs are small beside it."""
    disks = [_disk(study, step) for step in steps if step.trains]
    at_once = [checkpoint * count for checkpoint, count, _ in disks]
    most = sum(at_once) if study.keep_checkpoints else max(at_once, default=0)
    return most + sum(left for *_, left in disks)


def free_gib(study: Study) -> float:
    """GiB that are free where the study writes."""
    folder = Path(study.output_dir).absolute()
    return (
        shutil.disk_usage(next(p for p in (folder, *folder.parents) if p.exists())).free
        / GIB
    )


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


def _disk(study: Study, step: Step) -> tuple[float, int, float]:
    """GiB of a checkpoint, how many there are at once, and GiB of what stays."""
    training, model = training_of(step), study.architecture
    config, bf16, rank = training.config, training.bf16, training.lora_rank
    checkpoint, left = training_disk(
        model, zero_stage=training.zero_stage, bf16=bf16, lora_rank=rank
    )
    steps, every = int(training.total // training.batch), float(config["save_steps"])
    saved = math.ceil(
        steps / (every if every >= 1 else every * steps)
    )  # the last step is always saved
    limit = config["save_total_limit"]  # the oldest goes when the newest is whole
    return checkpoint, min(saved, int(limit) + 1) if limit else saved, left


def drop_checkpoints(folder: Path) -> bool:
    """Delete the checkpoints of a finished training run, which nothing resumes; whether there were any."""
    dropped = checkpoints(folder)
    for checkpoint in dropped:
        shutil.rmtree(
            checkpoint, ignore_errors=True
        )  # that one cannot be deleted spoils nothing
    return bool(dropped)
