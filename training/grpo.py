"""GRPO on DAT rewards (paper, section 5.1.3), through TRL's trainer: settings in, a trained model out."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trl import ModelConfig

from data.prompts import dat_dataset
from data.record import first_difference, provenance, write_json
from rewards.reward_funcs import DatReward
from training.config import ConfigError, DatGrpoConfig, GrpoArguments, load_reward_funcs
from training.tiny import NAME as TINY
from training.tiny import ensure_tiny
from training.tracking import (
    BarOnly,
    ConsoleLines,
    RunRecorder,
    last_checkpoint,
    quiet_libraries,
    start_wandb,
    wandb_run_id,
)

logger = logging.getLogger(__name__)
# What may change between a run and its continuation.
_FREE = {"output_dir", "resume_from_checkpoint", "run_name", "report_to", "logging_dir", "hub_token", "push_to_hub"}


def train_grpo(script: GrpoArguments, training: DatGrpoConfig, model: ModelConfig) -> Path:
    """Train by GRPO and return the folder of the trained model.

    A run that was cut off continues from its last whole checkpoint, with the duplicate history and the W&B run; one
    that is finished is left alone. Everything that can be wrong is found before a model is loaded.

    Args:
        script: The task and its rewards.
        training: TRL's settings.
        model: The model, and LoRA if wanted.

    Raises:
        ConfigError: Settings that cannot work, or an `output_dir` that holds another run.
    """
    output = Path(training.output_dir)
    _hide_token(training)
    rewards = load_reward_funcs(script.reward_funcs, script.reward_args)  # type: ignore[arg-type]
    settings = resolved_settings(script, training, model, rewards)
    _claim(output, settings, main_process=training.process_index == 0)
    if (output / "metrics.json").is_file():
        logger.warning("%s is finished; give another --output_dir to train again", output)
        return output
    checkpoint = Path(training.resume_from_checkpoint) if training.resume_from_checkpoint else last_checkpoint(output)

    quiet_libraries(use_cpu=training.use_cpu)
    from datasets import Dataset
    from transformers import AutoTokenizer, PrinterCallback, ProgressCallback
    from trl import GRPOTrainer, get_peft_config, get_quantization_config

    path = _model_path(model.model_name_or_path, training)
    tokenizer = _or_config_error(
        f"cannot load the model {path}", AutoTokenizer.from_pretrained, path, revision=model.model_revision
    )
    training.model_init_kwargs = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        "quantization_config": get_quantization_config(model),
        **(training.model_init_kwargs or {}),
    }
    reports_to_wandb = "wandb" in (training.report_to or [])
    if reports_to_wandb and training.process_index == 0:
        start_wandb(
            settings,
            project="sozo",
            name=training.run_name,
            folder=output,
            run_id=wandb_run_id(checkpoint) if checkpoint else None,
        )
    recorder = RunRecorder(rewards, script.completions_logged)
    rows = dat_dataset(script.num_prompts, conversational=bool(tokenizer.chat_template))
    trainer = GRPOTrainer(
        model=str(path),
        reward_funcs=rewards,
        args=training,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=get_peft_config(model),
        callbacks=[recorder],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    for callback in (BarOnly(), ConsoleLines()) if sys.stderr.isatty() else (ConsoleLines(),):
        trainer.add_callback(callback)
    if checkpoint:
        recorder.restore(checkpoint)
    result = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    trainer.save_model()
    if trainer.accelerator.is_main_process:
        tokenizer.save_pretrained(output)
        trainer.state.save_to_json(str(output / "trainer_state.json"))
        write_json(output / "metrics.json", result.metrics)
    if training.push_to_hub:
        trainer.push_to_hub()
    trainer.end()
    return output


def resolved_settings(
    script: GrpoArguments, training: DatGrpoConfig, model: ModelConfig, rewards: list[Any]
) -> dict[str, Any]:
    """Everything that decides the run, JSON-able and free of keys: settings, rewards as built, code and packages."""
    described = [
        {"path": path, **(reward.describe() if isinstance(reward, DatReward) else {})}
        for path, reward in zip(script.reward_funcs, rewards, strict=True)
    ]
    settings = {
        "script": asdict(script),
        "training": training.to_dict(),
        "model": asdict(model),
        "rewards": described,
        "world_size": int(os.environ.get("WORLD_SIZE", "1")),
        "provenance": provenance(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=str))
    return plain


def _hide_token(training: DatGrpoConfig) -> None:
    """Hand the hub token over as HF_TOKEN: each checkpoint pickles the settings, and W&B records the command line."""
    if token := training.hub_token:
        os.environ["HF_TOKEN"] = token
        training.hub_token = None
        sys.argv[:] = [word.replace(token, "<HUB_TOKEN>") for word in sys.argv]


def _claim(output: Path, settings: dict[str, Any], *, main_process: bool) -> None:
    """Write the run's settings (run_config.json, config.json being the model's); refuse a folder with another run."""
    path = output / "run_config.json"
    if path.is_file():
        before = json.loads(path.read_text("utf-8"))
        for section in ("script", "training", "model", "rewards", "world_size"):
            difference = first_difference(_deciding(before.get(section)), _deciding(settings[section]), section)
            if difference:
                key, old, new = difference
                raise ConfigError(
                    f"{output} holds a run with {key} = {old!r}, but now it is {new!r}; "
                    "give another --output_dir, or the same settings to continue it"
                )
    elif main_process:
        write_json(path, settings)


def _deciding(section: Any) -> Any:
    return {k: v for k, v in section.items() if k not in _FREE} if isinstance(section, dict) else section


def _model_path(name: str | None, training: DatGrpoConfig) -> str:
    if name is None:
        raise ConfigError("model_name_or_path is missing: a folder, a hub id, or tiny for the embedded model")
    if name != TINY:
        return name
    with training.main_process_first(desc="building the embedded model"):
        return str(ensure_tiny())


def _or_config_error(what: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise ConfigError(f"{what}: {' '.join(str(error).split())[:300]}") from error
