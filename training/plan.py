"""What a training will do and need, before anything of it is loaded: the same lines for a run and a study's step."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from itertools import starmap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from accelerate.utils import str_to_bool
from transformers.trainer_utils import SaveStrategy
from trl import ModelConfig

from sozo.data.checkpoints import whole_checkpoint
from sozo.data.errors import UserError
from sozo.data.processes import world_size
from sozo.data.prompts.form import PromptForm, read_form, settled_form
from sozo.data.settings import from_json, read_yaml
from sozo.models.model_support import encode_text
from sozo.models.needs import is_here, not_here
from sozo.models.tiny import tiny_folder, tiny_seed
from sozo.models.weights import load_tokenizer, model_window, pinned
from sozo.tasks import read_run
from sozo.tasks.run_result import RunResult
from sozo.training.absent import absent
from sozo.training.batches import (
    check_prompts,
    fit_batch,
    fit_generation,
    whole_steps,
)
from sozo.training.config import check_start, checked, read_values
from sozo.training.entries import Entry, read_entries
from sozo.training.estimates import (
    DISK_GIB,
    GIB,
    GPUS,
    Architecture,
    architecture_of,
    drawing_hours,
    free_gib,
    training_disk,
    training_hours,
    training_memory,
)
from sozo.training.evaluation import read_evaluate
from sozo.training.methods import recipe
from sozo.training.selection import is_run, select_pairs, select_top, to_stand_beside

_COUNTED = 256  # prompts, or answers of a table, whose tokens are counted
# Per method: the batch's setting, the count of items, what an item is, its answers.
_BATCH = {
    "sft": ("examples_per_step", "top_k", "examples", 1),
    "dpo": ("examples_per_step", "num_pairs", "pairs", 2),
    "grpo": ("completions_per_step", None, "completions", 1),
}


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

    @staticmethod
    def here() -> "Hardware":
        """As accelerate has launched this process."""

        def on(name: str) -> bool:
            return bool(str_to_bool(os.environ.get(name, "false")))

        stage = 3 if on("ACCELERATE_USE_FSDP") else 0
        if on("ACCELERATE_USE_DEEPSPEED"):
            stage = int(os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "0"))
        return Hardware(world_size(), stage)


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many tokens estimates assume."""

    prompt: int
    answer: int  # on average
    longest: int  # what memory must hold


@dataclass(frozen=True)
class TrainingPlan:
    """What decides the cost of a training."""

    method: str
    config: dict[str, Any]  # every setting: flags over the YAML over the defaults
    entries: Sequence[Entry]  # of GRPO
    hardware: Hardware
    batch: int  # items of an optimizer step
    count: int  # items of an epoch

    @property
    def items(self) -> str:
        """What the items are called."""
        return _BATCH[self.method][2]

    @property
    def answers(self) -> int:
        """Answers of an item."""
        return _BATCH[self.method][3]

    @property
    def steps(self) -> int:
        """Optimizer steps: of all epochs, or max_steps."""
        if (most := int(self.config["max_steps"])) > 0:
            return most
        return math.ceil(float(self.config["num_train_epochs"]) * self.steps_of_epoch)

    @property
    def steps_of_epoch(self) -> int:
        """Optimizer steps of one epoch."""
        return math.ceil(self.count * self.updates / self.batch)

    @property
    def updates(self) -> int:
        """How often each completion of GRPO is trained on."""
        return int(self.config.get("num_iterations") or 1)

    @property
    def total(self) -> int:
        """Items of all steps; the last one of an epoch may hold fewer."""
        full = self.steps * self.batch
        if int(self.config["max_steps"]) > 0:
            return full
        rounds = float(self.config["num_train_epochs"]) * self.updates
        return min(full, math.ceil(self.count * rounds))

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
        # Its old name, which TRL sets.
        return bool(self.config["gradient_checkpointing"] if own is None else own)

    @property
    def reference(self) -> bool:
        """Whether a second model is asked for log-probabilities."""
        return self.answers == 2 or (
            self.items == "completions" and self.config["beta"] > 0
        )

    @property
    def vllm(self) -> bool:
        """Whether vLLM draws the completions."""
        return bool(self.config.get("use_vllm")) or self.config.get("sampler") == "vllm"

    def tokens(self, prompt: int, answer: int) -> int:
        """Of a micro-batch of answers of so many tokens to a prompt of so many."""
        rows = self.answers * self.config["per_device_train_batch_size"]
        return (1 if self.config["share_prompt"] else rows) * prompt + rows * answer

    def trained_tokens(self, lengths: Lengths) -> int:
        """Of all steps."""
        micro_batches = self.total // self.config["per_device_train_batch_size"]
        return micro_batches * self.tokens(lengths.prompt, lengths.answer)


def make_plan(method: str, words: Sequence[str], hardware: Hardware) -> TrainingPlan:
    """The plan of a training from the words of its command line; what training would refuse is refused.

    TRL's settings are not made, since making them needs the GPU that they ask for and takes memory on it.
    """
    script, *groups = recipe(method)[1:]
    values = read_values((script, *groups, ModelConfig), words)
    own = script(**{f.name: values[f.name] for f in fields(script)})
    read_evaluate(own.evaluate)
    return _plan_of(method, own, values, hardware)


def _plan_of(
    method: str, own: Any, values: dict[str, Any], hardware: Hardware
) -> TrainingPlan:
    """The same of a method's own settings, and of all by name."""
    if method not in _BATCH:
        raise UserError(f"there is no plan of {method}, which a package brings")
    batch_key, count_key, *_ = _BATCH[method]
    told = SimpleNamespace(**values)
    fit_batch(told, batch_key, hardware.processes)
    if count_key:
        entries = []
        count = values[count_key]
        step = whole_steps(count_key, count, told)
        count += sum(starmap(to_stand_beside, getattr(own, "beside", {}).items()))
        count -= count % step
    else:
        entries = read_entries(own.tasks, own.num_prompts)
        fit_generation(told, hardware.processes)
        at_once = told.per_device_train_batch_size * hardware.processes
        generation = told.generation_batch_size or told.steps_per_generation * at_once
        prompts = sum(entry.count for entry in entries)
        check_prompts(prompts, told.num_generations, generation, told.max_steps)
        count = prompts * told.num_generations
    batch = getattr(told, batch_key)
    return TrainingPlan(method, vars(told), entries, hardware, batch, count)


def plan_lines(
    plan: TrainingPlan, model: Architecture, lengths: Lengths, end: str = ""
) -> Iterator[str]:
    """Rows, steps, memory, disk and hours of a training; `end` is what becomes of its checkpoints."""
    yield arithmetic(plan)
    yield _tokens_line(plan, lengths)
    if (warmup := plan.config["warmup_steps"]) > plan.steps:
        yield (
            f"note: warmup_steps {warmup:g} are more than the run's steps: it never comes to its learning_rate"
        )
    if plan.config.get("packing"):
        yield (
            "note: packing puts several examples into one row of up to max_length tokens, so that an epoch has fewer "
            "steps than this; a step's rows are counted as examples here"
        )
    yield from _memory(plan, model, lengths)
    checkpoint, count, left = disk_of(plan, model)
    yield (
        f"disk, GiB: checkpoints {checkpoint:.3g} each, {count} at once at most{end}; {left:.3g} stay;"
        f" {saved(plan)} checkpoint(s) and the model are written in {_writing(plan, model) / 60:.2g} minutes"
        f" (at {DISK_GIB:g} GiB a second)"
    )
    if hours := plan_hours(plan, model, lengths):
        yield f"estimated, never run: {said_hours(hours, plan.hardware.processes)}"


def arithmetic(plan: TrainingPlan) -> str:
    """Items, optimizer steps and how a step is shared: what needs no model."""
    config = plan.config
    hardware = plan.hardware
    per_device = config["per_device_train_batch_size"]
    accumulated = plan.batch // (hardware.processes * per_device)
    return (
        f"{plan.total:,} {plan.items} / {plan.batch} a step = {plan.steps:,} optimizer steps; {plan.batch} ="
        f" {hardware.processes} process(es) x {per_device} each x {accumulated} accumulation step(s)"
        f" ({hardware.name}, learning rate {config['learning_rate']:g})"
    )


def _tokens_line(plan: TrainingPlan, lengths: Lengths) -> str:
    """How many tokens are drawn and trained on, and why so many steps."""
    drawn = plan.total // plan.updates * lengths.answer
    parts = [f"{drawn:,} drawn"] if plan.items == "completions" else []
    parts.append(f"{plan.trained_tokens(lengths):,} trained on, prompts among them")
    why = f"{plan.config['num_train_epochs']:g} epoch(s) of {plan.count:,} {plan.items}"
    if int(plan.config["max_steps"]) > 0:
        why = f"max_steps decides, not {why}"
    return f"tokens: {', '.join(parts)}; {why}"


def _memory(plan: TrainingPlan, model: Architecture, lengths: Lengths) -> Iterator[str]:
    stage = plan.hardware.zero_stage
    parts = training_memory(
        model,
        tokens=plan.tokens(lengths.prompt, lengths.longest),
        processes=plan.hardware.processes,
        zero_stage=stage,
        bf16=plan.bf16,
        checkpointing=plan.checkpointing,
        lora_rank=plan.lora_rank,
        reference_model=plan.reference
        and not plan.config.get("precompute_ref_log_probs"),
    )
    named = ", ".join(f"{part} {gib:.3g}" for part, gib in parts.items())
    sharding = f"ZeRO-{stage}" if stage else "not sharded"
    yield f"memory for each process, {sharding}, GiB: {named}; together {sum(parts.values()):.3g}"
    if plan.items == "completions" and stage == 3:
        size = 2 * model.parameters / GIB
        yield f"while it generates, without vLLM, ZeRO-3 gathers the whole weights: {size:.1f} GiB on each GPU"
    no_master = plan.config["bf16"] and not stage and plan.lora_rank is None
    if no_master and not plan.config["use_cpu"]:
        yield "note: bf16 weights without DeepSpeed have no float32 master; small steps are lost"


def plan_hours(
    plan: TrainingPlan, model: Architecture, lengths: Lengths
) -> dict[str, float]:
    """Hours of one GPU that training, drawing and saving take together, by the GPU's name; empty on a CPU."""
    config = plan.config
    if config["use_cpu"]:
        return {}
    hours = {}
    for gpu in GPUS:
        hours[gpu.name] = training_hours(
            model.parameters,
            plan.trained_tokens(lengths),
            gpu,
            checkpointing=plan.checkpointing,
            lora=plan.lora_rank is not None,
            reference=plan.reference,
        )
        hours[gpu.name] += _writing(plan, model) / 3600 * plan.hardware.processes
        if plan.items == "completions":
            hours[gpu.name] += drawing_hours(
                model,
                gpu,
                answers=plan.total // plan.updates,
                length=lengths.answer,
                prompt=lengths.prompt,
                at_once=plan.batch // plan.hardware.processes,
                vllm=plan.vllm,
                bf16=plan.bf16,
            )
    return hours


def _writing(plan: TrainingPlan, model: Architecture) -> float:
    """Seconds that checkpoints and the trained model take."""
    each, _, left = disk_of(plan, model)
    return (saved(plan) * each + left) / DISK_GIB


def said_hours(hours: Mapping[str, float], processes: int) -> str:
    """Hours of one GPU, by its name, as what `processes` of them take."""
    wall = {name: together / processes for name, together in hours.items()}
    return wall_time(wall, processes, hours[GPUS[0].name])


def wall_time(wall: Mapping[str, float], processes: int, gpu_hours: float) -> str:
    """So many hours on so many GPUs, by their name, and hours of the first kind that are paid for."""
    each = []
    for name, hours in wall.items():
        digits = 0 if hours >= 1 / 6 else 1
        each.append(f"{hours * 60:,.{digits}f} minutes on {processes} {name}")
    return f"{', '.join(each)} ({gpu_hours:.1f} {GPUS[0].name} hours)"


def saved(plan: TrainingPlan) -> int:
    """How many checkpoints a training writes that no signal ends."""
    strategy = SaveStrategy(plan.config["save_strategy"])
    if strategy == SaveStrategy.NO:
        return 0
    every = float(plan.config["save_steps"])
    apart = every if every >= 1 else every * plan.steps
    if strategy == SaveStrategy.EPOCH:
        apart = plan.steps_of_epoch
    return math.ceil(plan.steps / apart)  # the last step is always saved


def disk_of(plan: TrainingPlan, model: Architecture) -> tuple[float, int, float]:
    """GiB of a checkpoint, how many there are at once, and GiB of what stays."""
    checkpoint, left = training_disk(
        model,
        zero_stage=plan.hardware.zero_stage,
        bf16=plan.bf16,
        lora_rank=plan.lora_rank,
    )
    # The oldest goes when the newest is whole. SIGTERM writes one, whatever the strategy.
    limit = plan.config["save_total_limit"]
    count = saved(plan) or 1
    return checkpoint, min(count, int(limit) + 1) if limit else count, left


def needed_gib(plan: TrainingPlan, model: Architecture) -> float:
    """GiB that a training needs on disk at most."""
    checkpoint, count, left = disk_of(plan, model)
    return checkpoint * count + left


def plan(method: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What `sozo train METHOD --dry-run` says: the plan of these settings, and what is missing for it here."""
    groups = (*recipe(method)[1:], ModelConfig)
    values = read_values(groups, words)
    # Both need a GPU, which a plan does without.
    asked, training, chosen = checked(groups, values | {"bf16": False, "tf32": False})
    told = _plan_of(method, asked, values, Hardware.here())
    name = str(chosen.model_name_or_path)
    measured = from_json(asked.evaluate, "evaluate")
    blocks = [told.config, measured, *(entry.model_dump() for entry in told.entries)]
    learned = [
        *getattr(asked, "answers", ()),
        *filter(is_run, getattr(asked, "beside", ())),
    ]
    tables = list(_tables(learned))
    lacking = [*not_here(blocks, {name}), *absent(training, chosen)]
    lacking += _refused(_checks(told, asked, training, chosen))
    lines = []
    for entry in told.entries:
        paid = ", ".join(entry.reward_funcs or ["its own reward"])
        each = f"{told.config['num_generations']} completions of each"
        lines.append(
            f"{entry.name}: {entry.count:,} prompts an epoch, {each}, paid by {paid}"
        )
    try:
        if not is_here(name):
            raise UserError("its config.json cannot be read here")
        if len(tables) < len(learned):
            raise UserError("they depend on the answers")
        model = architecture_of(name, chosen.model_revision)
        form = read_form(
            *settled_form(asked.system_prompt, training.chat_template_kwargs, name)
        )
        tokenizer = None
        if tiny_seed(name) is None or tiny_folder(name).is_dir():
            path = pinned(name, chosen.model_revision)[0]
            tokenizer = load_tokenizer(path, chosen.model_revision)
            window = model_window(path, chosen.model_revision)
            fits = partial(_fit, told, training, window, tokenizer, form)
            lacking += _refused([fits])
        lengths, how = _lengths(told, tables, tokenizer, form)
        lines += [*plan_lines(told, model, lengths), how]
        needed = needed_gib(told, model)
        free = free_gib(Path(training.output_dir))
        if needed > free:
            lacking.append(
                f"disk: {needed:,.3g} GiB are needed, {free:,.3g} are free; another output_dir"
            )
    except UserError as error:
        lines += [arithmetic(told), f"memory, disk and hours are not known: {error}"]
    lines.append(f"{training.output_dir}: nothing was run")
    return lines, list(dict.fromkeys(lacking))


def _refused(checks: Iterable[Callable[[], Any]]) -> Iterator[str]:
    """What training would say of each of these checks of its own that fails."""
    for check in checks:
        try:
            check()
        except UserError as error:
            yield str(error)


def _checks(
    plan: TrainingPlan, asked: Any, training: Any, chosen: ModelConfig
) -> Iterator[Callable]:
    """What training checks behind its settings, of itself."""
    yield partial(check_start, chosen)
    for entry in plan.entries:
        yield partial(getattr, entry, "rewards")  # imported, and made
    if named := training.resume_from_checkpoint:
        yield partial(whole_checkpoint, Path(training.output_dir), Path(named))
    if plan.method == "sft":
        yield partial(select_top, asked.answers, asked.top_k, asked.beside)
    if plan.method == "dpo":
        rule = {"seed": training.seed, "rule": asked.pairs}
        yield partial(select_pairs, asked.answers, asked.num_pairs, **rule)
    if plan.entries:
        from sozo.training.grpo import check_entries

        yield partial(check_entries, plan.entries, training)
        yield lambda: asked.decide_words(
            [entry.rewards for entry in plan.entries], training
        )


def _fit(
    plan: TrainingPlan,
    training: Any,
    window: int | None,
    tokenizer: Any,
    form: PromptForm,
) -> None:
    """Refuse what does not fit a model's window and its tokenizer."""
    from sozo.training.grpo import fit_prompts
    from sozo.training.sft_dpo import cut_examples

    if plan.entries:
        fit_prompts(plan.entries, training, tokenizer, form, window)
    else:
        cut_examples(training, tokenizer, form, window)


def _tables(paths: Sequence[str]) -> Iterator[RunResult]:
    """The tables that SFT and DPO learn from, as far as they can be read."""
    for path in paths:
        run = read_run(Path(path))
        with suppress(UserError):
            if run.table().num_rows:
                yield run


def _lengths(
    plan: TrainingPlan,
    tables: Sequence[RunResult],
    tokenizer: Any,  # None where it is not here
    form: PromptForm,
) -> tuple[Lengths, str]:
    """What to reckon with, and a line that says how it is known."""
    of_prompt: Callable[[str], int] = len
    of_answer: Callable[[str], int] = len
    how = "characters, one a token"
    if tokenizer:
        of_prompt = partial(_tokens, tokenizer, form)
        of_answer = partial(_bare_tokens, tokenizer)
        how = "the model's tokenizer"
    prompts = [prompt for run in tables for prompt in run.prompts.values()]
    with suppress(UserError):  # what scores them is missing, which is said
        prompts += [item.prompt for entry in plan.entries for item in entry.items]
    prompt = max(map(of_prompt, prompts[:_COUNTED]), default=0)
    if plan.entries:
        limit = plan.config["max_completion_length"]
        return (
            Lengths(prompt, limit, limit),
            f"reckoned with: prompts of {prompt} tokens (by {how}), completions as long as max_completion_length",
        )
    sizes = [of_answer(text) for run in tables for text in _texts(run)]
    usual = sum(sizes) // len(sizes)
    return (
        Lengths(prompt, usual, max(sizes)),
        f"reckoned with: prompts of {prompt} tokens, and {len(sizes)} of the answers, {usual} tokens each (by {how})",
    )


def _tokens(tokenizer: Any, form: PromptForm, text: str) -> int:
    return len(encode_text(tokenizer, text, form))


def _bare_tokens(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(text))


def _texts(run: RunResult) -> list[str]:
    """The first answers of a table."""
    column = run.table()["text"]
    return [text or "" for text in column.slice(0, _COUNTED).to_pylist()]
