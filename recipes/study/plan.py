"""What a dry run says of a step beside its command: batch arithmetic, memory, cost. All from files, without a model."""

from __future__ import annotations

from typing import Any

from data.errors import UserError
from study.config import Study, read_yaml
from study.cost import generation_hours, training_hours
from study.memory import GIB, Memory, tokens_at_once, training_memory
from study.steps import Step

# Per method: the batch's setting, the count of items, what an item is.
_BATCH = {
    "sft_dat.py": ("examples_per_step", "top_k", "examples"),
    "dpo_dat.py": ("examples_per_step", "num_pairs", "pairs"),
    "grpo_dat.py": ("completions_per_step", None, "completions"),
}


def plan_lines(study: Study, step: Step) -> list[str]:
    """Lines about one step."""
    if step.script == "sample_dat.py":
        return _sampling(study, step)
    return _training(study, step) if step.script in _BATCH else []


def _sampling(study: Study, step: Step) -> list[str]:
    assert step.launcher
    launcher, flags = read_yaml(step.launcher), step.flags
    processes, count, batch = launcher["num_processes"], int(flags["num_responses"]), int(flags.get("batch_size", 1024))
    line = (
        f"{count:,} responses in {-(-count // batch):,} batches of {batch:,}, on {processes} process(es)"
        f" ({step.launcher.stem}), seed {flags['seed']}"
    )
    if flags["model"] == "random":
        return [line]
    model, backend = study.architecture, flags.get("backend", "auto")
    element = 4 if flags.get("dtype") == "float32" else 2
    at_once = min(batch, int(flags.get("slots", 256)))
    cache = model.kv_cache_bytes(study.tokens["prompt"] + at_once * int(flags["max_new_tokens"]), element)
    memory = f"memory for each process, GiB: weights {element * model.parameters / GIB:.3g}, keys and values " + (
        "as much as vLLM is given" if backend == "vllm" else f"{cache / GIB:.3g} ({at_once} responses at once)"
    )
    lines = [line, memory]
    if backend == "vllm":
        hours = generation_hours(model.parameters, count * study.tokens["response"], backend)
        lines.append(_hours(hours, processes))
    return lines


def _training(study: Study, step: Step) -> list[str]:
    assert step.launcher
    assert step.config
    launcher, config = read_yaml(step.launcher), read_yaml(step.config)
    deepspeed = launcher.get("deepspeed_config") or {}
    processes, stage = launcher["num_processes"], int(deepspeed.get("zero_stage", 0))
    batch_key, count_key, items = _BATCH[step.script]
    batch, per_device = int(config[batch_key]), int(config["per_device_train_batch_size"])
    count = int(step.flags[count_key]) if count_key else config["num_prompts"] * config["num_generations"]
    if batch % (processes * per_device) or count % batch:
        raise UserError(
            f"{step.config}: {count:,} {items} in batches of {batch_key} {batch} cannot be made of {processes}"
            f" process(es) x per_device_train_batch_size {per_device}; each must be a multiple of the next"
        )
    accumulation, epochs = batch // (processes * per_device), config.get("num_train_epochs", 1)
    total = count * epochs
    arithmetic = (
        f"{total:,} {items} / {batch} a step = {total // batch:,} optimizer steps;"
        f" {batch} = {processes} process(es) x {per_device} each x {accumulation} accumulation step(s)"
        f" ({step.launcher.stem}, learning rate {config['learning_rate']:g})"
    )
    memory = _memory(study, step, config, processes, stage)
    parts = ("weights", "gradients", "optimizer", "reference", "activations", "head")
    shown = ", ".join(f"{part} {getattr(memory, part):.3g}" for part in parts)
    sharding = f"ZeRO-{stage}" if stage else "not sharded"
    lines = [arithmetic, f"memory for each process, {sharding}, GiB: {shown}; together {memory.total:.3g}"]
    if step.script == "grpo_dat.py" and stage == 3:
        size = 2 * study.architecture.parameters / GIB
        lines.append(f"while it generates, without vLLM, ZeRO-3 gathers the whole weights: {size:.1f} GiB on each GPU")
    if not config.get("use_cpu"):
        if not stage and config.get("bf16") and not config.get("use_peft"):
            lines.append("note: bf16 weights without DeepSpeed have no float32 master; small steps are lost")
        lines.append(_hours(_training_hours(study, step, config, total), processes))
    return lines


def _memory(study: Study, step: Step, config: dict[str, Any], processes: int, stage: int) -> Memory:
    return training_memory(
        study.architecture,
        tokens=_tokens(study, step, config, int(study.sampling["max_new_tokens"])),
        processes=processes,
        zero_stage=stage,
        bf16=config.get("dtype") == "bfloat16",
        checkpointing=bool(config.get("activation_checkpointing")),
        lora_rank=int(config.get("lora_r", 16)) if config.get("use_peft") else None,
        reference_model=_has_reference(step, config) and not config.get("precompute_ref_log_probs"),
    )


def _responses(step: Step, config: dict[str, Any]) -> int:
    """Responses of a micro-batch: two for each of DPO's pairs."""
    return int(config["per_device_train_batch_size"]) * (2 if step.script == "dpo_dat.py" else 1)


def _tokens(study: Study, step: Step, config: dict[str, Any], length: int) -> int:
    """Tokens of a micro-batch of responses of `length` tokens."""
    share = bool(config.get("share_prompt", True))
    return tokens_at_once(_responses(step, config), study.tokens["prompt"], length, share_prompt=share)


def _has_reference(step: Step, config: dict[str, Any]) -> bool:
    return step.script == "dpo_dat.py" or (step.script == "grpo_dat.py" and float(config.get("beta", 0)) > 0)


def _training_hours(study: Study, step: Step, config: dict[str, Any], items: int) -> float:
    sequences = items * (2 if step.script == "dpo_dat.py" else 1)
    parameters, length = study.architecture.parameters, study.tokens["response"]
    hours = training_hours(
        parameters,
        sequences // _responses(step, config) * _tokens(study, step, config, length),
        checkpointing=bool(config.get("activation_checkpointing")),
        lora=bool(config.get("use_peft")),
        reference=_has_reference(step, config),
    )
    if step.script == "grpo_dat.py":
        backend = "vllm" if config.get("use_vllm") or config.get("sampler") == "vllm" else "transformers"
        hours += generation_hours(parameters, sequences * length, backend)
    return hours


def _hours(hours: float, processes: int) -> str:
    return (
        f"estimate: {hours:.1f} A100 hours, {hours / processes * 60:.0f} minutes on {processes} (see recipes/README.md)"
    )
