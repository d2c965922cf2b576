"""What a training will do and need, before anything of it is loaded: the same lines for a run and a study's step."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.processes import world_size
from sozo.data.record import free_bytes
from sozo.data.settings import from_json, read_yaml
from sozo.models.needs import is_here, not_here
from sozo.models.tiny import tiny_folder, tiny_seed
from sozo.models.weights import load_tokenizer, model_window, pinned
from sozo.training.config import absent, made, resolve
from sozo.training.decided import sharding
from sozo.training.estimates import (
    GIB,
    UNKNOWN,
    Architecture,
    States,
    architecture_of,
    states,
)
from sozo.training.methods import recipe
from sozo.training.run import opened


@dataclass(frozen=True)
class Hardware:
    """On what a training is launched."""

    processes: int
    zero_stage: int = 0  # 0 shards nothing; FSDP shards what ZeRO-3 does
    name: str = "as launched"

    @staticmethod
    def of_file(path: Path) -> "Hardware":
        """As accelerate's YAML says."""
        given = read_yaml(path)
        zero = (given.get("deepspeed_config") or {}).get("zero_stage", 0)
        stage = 3 if given["distributed_type"] == "FSDP" else int(zero)
        return Hardware(given["num_processes"], stage, path.stem)


@dataclass(frozen=True)
class TrainingPlan:
    """What decides the cost of a training."""

    told: Any  # every setting by name, resolved
    hardware: Hardware
    items: str  # what they are called
    batch: int  # items of an optimizer step
    steps: int  # optimizer steps of all epochs, or max_steps
    checkpoints: int  # at once at most, while the newest is written

    def states(self, model: Architecture) -> States:
        """What a process and the disk hold of them, in GiB."""
        told = self.told
        # DPO's, which can be asked for everything beforehand, and GRPO's, where it weighs something.
        unused = getattr(told, "precompute_ref_log_probs", not getattr(told, "beta", 0))
        return states(
            model,
            processes=self.hardware.processes,
            zero_stage=self.hardware.zero_stage,
            bf16=told.dtype == "bfloat16",
            lora_rank=told.lora_r if told.use_peft else None,
            reference=not unused,
        )


def make_plan(method: str, words: Sequence[str], hardware: Hardware) -> TrainingPlan:
    """The plan of a training from the words of its command line; what training would refuse is refused."""
    _, script, settings = recipe(method)
    return _plan_of(*resolve(script, settings, words, hardware.processes), hardware)


def _plan_of(own: Any, told: Any, hardware: Hardware) -> TrainingPlan:
    items, batch, count = own.epoch(told)
    epoch = math.ceil(count / batch)
    steps = told.max_steps
    if steps <= 0:
        steps = math.ceil(told.num_train_epochs * epoch)
    # Of a run that saves none, SIGTERM's.
    apart = {"no": steps, "epoch": epoch}.get(told.save_strategy, told.save_steps)
    saved = math.ceil(steps / (apart if apart >= 1 else apart * steps))
    kept = told.save_total_limit
    at_once = min(saved, kept + 1) if kept else saved
    return TrainingPlan(told, hardware, items, batch, steps, at_once)


def plan_lines(
    plan: TrainingPlan, model: Architecture | None, end: str = ""
) -> Iterator[str]:
    """Steps, memory and disk of a training; `end` is what becomes of its checkpoints. No model: its shape is not known."""
    told, hardware = plan.told, plan.hardware
    per_device = told.per_device_train_batch_size
    yield (
        f"{plan.steps * plan.batch:,} {plan.items} / {plan.batch} a step = {plan.steps:,} optimizer steps; {plan.batch} ="
        f" {hardware.processes} process(es) x {per_device} each x {told.gradient_accumulation_steps} accumulation step(s)"
        f" ({hardware.name}, learning rate {told.learning_rate:g})"
    )
    if told.warmup_steps > plan.steps:
        yield (
            f"note: warmup_steps {told.warmup_steps:g} are more than the run's steps: it never comes to its learning_rate"
        )
    if model is None:
        yield UNKNOWN
        return
    needed, stage = plan.states(model), hardware.zero_stage
    named = ", ".join(f"{part} {gib:.3g}" for part, gib in needed.memory.items())
    yield (
        f"memory for each process, {f'ZeRO-{stage}' if stage else 'not sharded'}, GiB: {named};"
        f" together {sum(needed.memory.values()):.3g}, and activations"
    )
    if told.bf16 and not (stage or told.use_peft or told.use_cpu):
        yield "note: bf16 weights without DeepSpeed have no float32 master; small steps are lost"
    yield (
        f"disk, GiB: checkpoints {needed.checkpoint:.3g} each, {plan.checkpoints} at once at most{end};"
        f" {needed.model:.3g} stay"
    )


def plan(method: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What `sozo train METHOD --dry-run` says: the plan of these settings, and what is missing for it here."""
    trains, script, settings = recipe(method)
    asked, every = resolve(script, settings, words)
    # Both need a GPU, which a plan does without.
    training, chosen = made(settings, every, bf16=False, tf32=False)
    training.bf16 = not every.fp16 if every.bf16 is None else every.bf16  # as TRL
    training.tf32 = every.tf32
    shards = sharding(training)
    stage = 3 if shards == "FSDP" else int(shards[-1]) if shards else 0
    hardware = Hardware(world_size(), stage)
    told = _plan_of(asked, every, hardware) if asked.epoch else None
    name, output = str(chosen.model_name_or_path), Path(training.output_dir)
    named = [getattr(asked, "tasks", None), from_json(asked.evaluate, "evaluate")]
    lacking = [*not_here(named, {name}), *absent(every)]
    lines = [
        f"{entry.name}: {entry.count:,} prompts an epoch, {training.num_generations} completions of each, paid by "
        + ", ".join(entry.reward_funcs or ["its own reward"])
        for entry in getattr(asked, "entries", ())
    ]
    run = shape = None
    try:
        # What a package's own function would do nobody knows.
        if isinstance(trains, partial):
            run = trains.args[0](asked, training, chosen)  # its TrainingRun
            *_, notes = opened(run, training, Path(name))
            lines += notes
        if is_here(name):
            shape = architecture_of(name, chosen.model_revision)
            if run and (tiny_seed(name) is None or tiny_folder(name).is_dir()):
                path, revision = pinned(name, chosen.model_revision)
                window = model_window(path, revision)
                run.fit(load_tokenizer(path, revision), training, window)
    except UserError as error:
        lacking.append(str(error))
    lines += (
        plan_lines(told, shape)
        if told
        else [f"{method}: steps are not known, as its settings have no `epoch`"]
    )
    if told and shape:
        kept, there = told.states(shape), free_bytes(output) / GIB
        needed = kept.checkpoint * told.checkpoints + kept.model
        if needed > there:
            lacking.append(
                f"room: {needed:,.3g} GiB are needed, {there:,.3g} are free in {output}"
            )
    lines.append(f"{output}: nothing was run")
    return lines, list(dict.fromkeys(lacking))
