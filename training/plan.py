"""What a training will do and need, before anything of it is loaded: the same lines for a run and a study's step."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sozo.data.errors import UserError
from sozo.data.processes import world_size
from sozo.data.settings import from_json, read_yaml
from sozo.models.needs import is_here, not_here
from sozo.models.tiny import tiny_folder, tiny_seed
from sozo.models.weights import load_tokenizer, model_window, pinned
from sozo.training.batches import check_prompts, whole_steps
from sozo.training.config import Resolved, resolve
from sozo.training.decided import sharding
from sozo.training.entries import Entry, entries_of
from sozo.training.estimates import (
    GIB,
    UNKNOWN,
    Architecture,
    States,
    architecture_of,
    free_gib,
    states,
)
from sozo.training.methods import OWN, recipe


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
    entries: Sequence[Entry]  # of GRPO
    hardware: Hardware
    items: str  # what they are called
    batch: int  # items of an optimizer step
    steps: int  # optimizer steps of all epochs, or max_steps
    checkpoints: int  # at once at most, while the newest is written

    def states(self, model: Architecture) -> States:
        """What a process and the disk hold of them, in GiB."""
        told = self.told
        of_pairs = self.items == "pairs" and not told.precompute_ref_log_probs
        return states(
            model,
            processes=self.hardware.processes,
            zero_stage=self.hardware.zero_stage,
            bf16=told.dtype == "bfloat16",
            lora_rank=told.lora_r if told.use_peft else None,
            reference=of_pairs or (bool(self.entries) and told.beta > 0),
        )

    def disk(self, model: Architecture) -> float:
        """GiB that it needs at most."""
        found = self.states(model)
        return found.checkpoint * self.checkpoints + found.model


def make_plan(method: str, words: Sequence[str], hardware: Hardware) -> TrainingPlan:
    """The plan of a training from the words of its command line; what training would refuse is refused."""
    settings = resolve(*recipe(method)[1:], words, hardware.processes)
    return _plan_of(method, settings, hardware)


def _plan_of(method: str, settings: Resolved, hardware: Hardware) -> TrainingPlan:
    if method not in OWN:
        raise UserError(f"there is no plan of {method}, which a package brings")
    own, told = settings.own, settings.values
    entries: Sequence[Entry] = ()
    again = 1
    if method == "grpo":
        entries, again = entries_of(own), told.num_iterations
        items, batch = "completions", told.completions_per_step
        at_once = told.per_device_train_batch_size * hardware.processes
        prompts = sum(entry.count for entry in entries)
        generation = at_once * told.steps_per_generation
        check_prompts(prompts, told.num_generations, generation, told.max_steps)
        count = prompts * told.num_generations
    else:
        items = "pairs" if method == "dpo" else "examples"
        batch, count = told.examples_per_step, getattr(own, own.count)
        count -= count % whole_steps(own.count, count, told)
    epoch = math.ceil(count * again / batch)
    steps = told.max_steps
    if steps <= 0:
        steps = math.ceil(told.num_train_epochs * epoch)
    # Of a run that saves none, SIGTERM's.
    apart = {"no": steps, "epoch": epoch}.get(told.save_strategy, told.save_steps)
    saved = math.ceil(steps / (apart if apart >= 1 else apart * steps))
    kept = told.save_total_limit
    at_once = min(saved, kept + 1) if kept else saved
    return TrainingPlan(told, entries, hardware, items, batch, steps, at_once)


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
    limit = told.max_completion_length if plan.entries else told.max_length
    if limit:
        yield f"{plan.batch * (1 + (plan.items == 'pairs')) * limit:,} tokens a step at most{', prompts aside' * bool(plan.entries)}"
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
    trains, *groups = recipe(method)
    settings = resolve(*groups, words)
    # Both need a GPU, which a plan does without.
    asked, training, chosen = settings.made(bf16=False, tf32=False)
    shards = sharding(training)
    stage = 3 if shards == "FSDP" else int(shards[-1]) if shards else 0
    told = _plan_of(method, settings, Hardware(world_size(), stage))
    name = str(chosen.model_name_or_path)
    named = [getattr(asked, "tasks", None), from_json(asked.evaluate, "evaluate")]
    lacking = [*not_here(named, {name}), *settings.absent()]
    lines = [
        f"{entry.name}: {entry.count:,} prompts an epoch, {training.num_generations} completions of each, paid by "
        + ", ".join(entry.reward_funcs or ["its own reward"])
        for entry in told.entries
    ]
    shape = None
    try:
        run = trains.args[0](asked, training, chosen)  # its TrainingRun
        if is_here(name):
            shape = architecture_of(name, chosen.model_revision)
            if tiny_seed(name) is None or tiny_folder(name).is_dir():
                path, revision = pinned(name, chosen.model_revision)
                window = model_window(path, revision)
                run.fit(load_tokenizer(path, revision), training, window)
    except UserError as error:
        lacking.append(str(error))
    lines += plan_lines(told, shape)
    if shape:
        output, use = Path(training.output_dir), told.states(shape)
        free = {f"in {output}": (told.disk(shape), free_gib(output))}
        if torch.cuda.is_available() and not training.use_cpu:
            memory = torch.cuda.mem_get_info()[0] / GIB
            free["on this GPU"] = sum(use.memory.values()), memory
        for where, (needed, there) in free.items():
            if needed > there:
                lacking.append(
                    f"room: {needed:,.3g} GiB are needed, {there:,.3g} are free {where}"
                )
    lines.append(f"{training.output_dir}: nothing was run")
    return lines, list(dict.fromkeys(lacking))
