"""What a training will do and need, before anything of it is loaded: the same lines for a run and a study's step."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from accelerate.utils import str_to_bool
from transformers.trainer_utils import SaveStrategy

from sozo.data.checkpoints import is_adapter, whole_checkpoint
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
from sozo.training.absent import absent, check_targets
from sozo.training.batches import check_prompts
from sozo.training.config import parse, read_plan
from sozo.training.entries import Entry, entries_of
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
from sozo.training.methods import recipe
from sozo.training.selection import is_run, select_pairs, select_top

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
    """The plan of a training from the words of its command line; what training would refuse is refused."""
    script: Any
    script, config = read_plan(*recipe(method)[1:], list(words))
    if method not in _BATCH:
        raise UserError(f"there is no plan of {method}, which a package brings")
    entries = entries_of(script) if hasattr(script, "tasks") else []
    batch_key, count_key, items, _ = _BATCH[method]
    per_device = config["per_device_train_batch_size"]
    processes = hardware.processes
    accumulated = config["gradient_accumulation_steps"] or 1
    batch = config[batch_key] or processes * per_device * accumulated
    prompts = sum(entry.count for entry in entries)
    count = config[count_key] if count_key else prompts * config["num_generations"]
    at_once = processes * per_device
    whole = per_device > 0 and batch > 0 and batch % at_once == 0
    if whole and entries:
        micro_batches = config["steps_per_generation"] or batch // at_once
        generation = config["generation_batch_size"] or micro_batches * at_once
        group = config["num_generations"]
        check_prompts(prompts, group, generation, config["max_steps"])
    elif whole:
        whole = count >= batch
        count -= 0 if config["max_steps"] > 0 else count % batch
    if not whole:
        raise UserError(
            f"{count:,} {items} in batches of {batch_key} {batch} cannot be made of {processes}"
            f" process(es) x per_device_train_batch_size {per_device}; each must be a multiple of the next"
        )
    return TrainingPlan(method, config, entries, hardware, batch, count)


def plan_lines(
    plan: TrainingPlan, model: Architecture, lengths: Lengths, end: str = ""
) -> Iterator[str]:
    """Rows, steps, memory, disk and hours of a training; `end` is what becomes of its checkpoints."""
    yield arithmetic(plan)
    yield _tokens_line(plan, lengths)
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
    own, settings = recipe(method)[1:]
    # Both need a GPU, which a plan does without.
    anywhere = ["--bf16", "false", "--tf32", "false"]
    asked: Any
    training: Any
    asked, training, chosen = parse(own, settings, [*words, *anywhere])
    told = make_plan(method, words, Hardware.here())
    name = str(chosen.model_name_or_path)
    measured = from_json(asked.evaluate, "evaluate")
    blocks = [told.config, measured, *(entry.model_dump() for entry in told.entries)]
    learned = [
        *getattr(asked, "answers", ()),
        *filter(is_run, getattr(asked, "beside", ())),
    ]
    tables, unread = _tables(learned)
    lacking = [*not_here(blocks, {name}), *unread, *_without_rewards(told.entries)]
    lacking += absent(training, chosen)
    checks = [] if unread else _checks(told, asked, training)
    lacking += _refused(checks)
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
        if unread:
            raise UserError("they depend on the answers")
        model = architecture_of(name, chosen.model_revision)
        form = read_form(
            *settled_form(asked.system_prompt, training.chat_template_kwargs, name)
        )
        tokenizer = None
        if tiny_seed(name) is None or tiny_folder(name).is_dir():
            path = pinned(name, chosen.model_revision)[0]
            tokenizer = load_tokenizer(path, chosen.model_revision)
            fits = partial(_fit, told, training, chosen, path, tokenizer, form)
            lacking += _refused([fits])
        lengths, how = _lengths(told, tables, tokenizer, form)
        lines += [*plan_lines(told, model, lengths), how]
        needed = needed_gib(told, model)
        free = free_gib(Path(told.config["output_dir"]))
        if needed > free:
            lacking.append(
                f"disk: {needed:,.3g} GiB are needed, {free:,.3g} are free; another output_dir"
            )
    except UserError as error:
        lines += [arithmetic(told), f"memory, disk and hours are not known: {error}"]
    lines.append(f"{told.config['output_dir']}: nothing was run")
    return lines, list(dict.fromkeys(lacking))


def _refused(checks: Iterable[Callable[[], Any]]) -> Iterator[str]:
    """What training would say of each of these checks of its own that fails."""
    for check in checks:
        try:
            check()
        except UserError as error:
            yield str(error)


def _checks(plan: TrainingPlan, asked: Any, training: Any) -> Iterator[Callable]:
    """What training checks behind its settings, of itself."""
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
    chosen: Any,
    path: str,
    tokenizer: Any,
    form: PromptForm,
) -> None:
    """Refuse what does not fit the model at `path`, by its config and its tokenizer."""
    from trl import get_peft_config

    from sozo.training.grpo import fit_prompts
    from sozo.training.sft_dpo import cut_examples

    window = model_window(path, chosen.model_revision)
    if plan.entries:
        fit_prompts(plan.entries, training, tokenizer, form, window)
    else:
        cut_examples(training, tokenizer, form, window)
    lora = get_peft_config(chosen)
    if lora and not is_adapter(path):
        check_targets(lora, path, chosen.model_revision)


def _without_rewards(entries: Sequence[Entry]) -> Iterator[str]:
    """Why rewards of entries cannot be made."""
    for entry in entries:
        try:
            _ = entry.rewards  # imported, and made of their arguments
        except UserError as error:
            yield str(error)


def _tables(paths: Sequence[str]) -> tuple[list[RunResult], list[str]]:
    """The tables that SFT and DPO learn from, and why some cannot be read."""
    tables = []
    unread = []
    for path in paths:
        run = read_run(Path(path))
        try:
            if run.table().num_rows == 0:
                raise UserError(f"{path}: holds no answers")
        except UserError as error:
            unread.append(str(error))
        tables.append(run)
    return tables, unread


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
