"""What a dry run says of a step beside its command: batch arithmetic, memory, cost. All from files, without a model."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from sozo.data.errors import UserError
from sozo.data.settings import hint
from sozo.models.settings import OF_NOUNS
from study.config import Study, read_yaml
from study.estimates import GIB, generation_hours, training_hours, training_memory
from study.steps import Step

# Per method: the batch's setting, the count of items, what an item is, its responses.
_BATCH = {
    "sft_dat.py": ("examples_per_step", "top_k", "examples", 1),
    "dpo_dat.py": ("examples_per_step", "num_pairs", "pairs", 2),
    "grpo_dat.py": ("completions_per_step", None, "completions", 1),
}


def check_training_flags(study: Study) -> None:
    """Refuse an arm's misspelt setting of a trainer, hours before the trainer would."""
    for arm in study.rows:
        if arm.train and arm.flags:  # TRL takes seconds to import
            from trl import ModelConfig

            from launch import recipe

            known = {f.name for group in (*recipe(arm.train)[1:], ModelConfig) for f in fields(group)}
            if unknown := [key for key, _ in arm.flags if key not in known]:
                raise UserError(f"arm {arm.name}: unknown setting: {unknown[0]}" + hint(unknown[0], known))


def training_config(step: Step) -> dict[str, Any]:
    """The settings of a step that trains: its YAML's, and its flags over them."""
    file = read_yaml(step.config) if step.config else {}
    return file | {key: yaml.safe_load(value) for key, value in step.flags.items()}


def zero_stage(hardware: dict[str, Any]) -> int:
    """Of an accelerate config; 0 shards nothing, and FSDP shards what ZeRO-3 does."""
    if hardware["distributed_type"] == "FSDP":
        return 3
    return int((hardware.get("deepspeed_config") or {}).get("zero_stage", 0))


def optimizer_steps(step: Step) -> int:
    """How many a step that trains takes."""
    config = training_config(step)
    return int(_items(step, config) * config.get("num_train_epochs", 1) // int(config[_BATCH[step.script][0]]))


def _items(step: Step, config: dict[str, Any]) -> int:
    count = _BATCH[step.script][1]
    return int(config[count]) if count else config["num_prompts"] * config["num_generations"]


def plan_lines(study: Study, step: Step) -> list[str]:
    """Lines about one step."""
    if step.launcher is None:
        return []
    if task := step.flags.get("task"):
        return [
            f"the items of {task}, on {read_yaml(step.launcher)['num_processes']} process(es) ({step.launcher.stem})"
        ]
    return _training(study, step, step.config, step.launcher) if step.config else _sampling(study, step, step.launcher)


def _sampling(study: Study, step: Step, launcher: Path) -> list[str]:
    flags, model, processes = step.flags, study.architecture, read_yaml(launcher)["num_processes"]
    count, batch = int(flags["num_responses"]), int(flags.get("batch_size", 1024))
    line = (
        f"{count:,} responses in {-(-count // batch):,} batches of {batch:,}, on {processes} process(es)"
        f" ({launcher.stem}), seed {flags['seed']}"
    )
    if flags["model"] in OF_NOUNS:
        return [line]
    element, at_once = 4 if flags.get("dtype") == "float32" else 2, min(batch, int(flags.get("slots", 256)))
    weights = f"memory for each process, GiB: weights {element * model.parameters / GIB:.3g}"
    if flags.get("backend") == "vllm":
        hours = generation_hours(model.parameters, count * study.tokens["response"], "vllm")
        return [line, f"{weights}, keys and values as much as vLLM is given", _hours(hours, processes)]
    cache = model.kv_cache_bytes(study.tokens["prompt"] + at_once * int(flags["max_new_tokens"]), element)
    more = "" if "slots" in flags else "; a GPU with room takes more"
    return [line, f"{weights}, keys and values {cache / GIB:.3g} ({at_once} responses at once{more})"]


def _training(study: Study, step: Step, file: Path, launcher: Path) -> list[str]:
    config, hardware, model = training_config(step), read_yaml(launcher), study.architecture
    processes, stage = hardware["num_processes"], zero_stage(hardware)
    batch_key, _, items, responses = _BATCH[step.script]
    batch, per_device = int(config[batch_key]), int(config["per_device_train_batch_size"])
    count = _items(step, config)
    if batch % (processes * per_device) or count % batch:
        raise UserError(
            f"{file}: {count:,} {items} in batches of {batch_key} {batch} cannot be made of {processes}"
            f" process(es) x per_device_train_batch_size {per_device}; each must be a multiple of the next"
        )
    total = count * config.get("num_train_epochs", 1)
    arithmetic = (
        f"{total:,} {items} / {batch} a step = {total // batch:,} optimizer steps; {batch} = {processes} process(es)"
        f" x {per_device} each x {batch // (processes * per_device)} accumulation step(s)"
        f" ({launcher.stem}, learning rate {config['learning_rate']:g})"
    )
    prompts = 1 if config.get("share_prompt", True) else responses * per_device

    def tokens(length: int) -> int:  # of a micro-batch of responses of `length` tokens
        return prompts * study.tokens["prompt"] + responses * per_device * length

    grpo, lora = step.script == "grpo_dat.py", bool(config.get("use_peft"))
    checkpointing = bool(config.get("activation_checkpointing"))
    reference = responses == 2 or (grpo and float(config.get("beta", 0)) > 0)
    memory = training_memory(
        model,
        tokens=tokens(int(study.sampling["max_new_tokens"])),
        processes=processes,
        zero_stage=stage,
        bf16=config.get("dtype") == "bfloat16",
        checkpointing=checkpointing,
        lora_rank=int(config.get("lora_r", 16)) if lora else None,
        reference_model=reference and not config.get("precompute_ref_log_probs"),
    )
    parts = ", ".join(f"{part} {gib:.3g}" for part, gib in memory.items())
    sharding = f"ZeRO-{stage}" if stage else "not sharded"
    lines = [arithmetic, f"memory for each process, {sharding}, GiB: {parts}; together {sum(memory.values()):.3g}"]
    if grpo and stage == 3:
        size = 2 * model.parameters / GIB
        lines.append(f"while it generates, without vLLM, ZeRO-3 gathers the whole weights: {size:.1f} GiB on each GPU")
    if config.get("use_cpu"):
        return lines
    if not stage and config.get("bf16") and not lora:
        lines.append("note: bf16 weights without DeepSpeed have no float32 master; small steps are lost")
    length = study.tokens["response"]
    trained = total // per_device * tokens(length)
    hours = training_hours(model.parameters, trained, checkpointing=checkpointing, lora=lora, reference=reference)
    if grpo:
        backend = "vllm" if config.get("use_vllm") or config.get("sampler") == "vllm" else "transformers"
        hours += generation_hours(model.parameters, total * length, backend)
    return [*lines, _hours(hours, processes)]


def _hours(hours: float, processes: int) -> str:
    each = hours / processes * 60
    return f"estimate: {hours:.1f} A100 hours, {each:.0f} minutes on {processes} (see recipes/README.md)"
