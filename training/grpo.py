"""GRPO on DAT rewards (paper, section 5.1.3), through TRL's trainer: settings in, a trained model out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from trl import ModelConfig

from data.prompts import dat_dataset
from rewards.reward import Reward
from training.grpo_config import DatGrpoConfig, GrpoArguments
from training.load_rewards import load_reward_funcs
from training.run import train
from training.tracking import RunRecorder


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
    rewards = load_reward_funcs(script.reward_funcs, script.reward_args)  # type: ignore[arg-type]
    described = [
        {"path": path, **(reward.describe() if isinstance(reward, Reward) else {})}
        for path, reward in zip(script.reward_funcs, rewards, strict=True)
    ]

    def build(tokenizer: Any, common: dict[str, Any]) -> Any:
        from datasets import Dataset
        from trl import GRPOTrainer

        rollout = None
        if script.sampler == "shared_prefix":
            from generate.rollout import SharedPrefixRollout

            rollout = SharedPrefixRollout(
                temperature=training.temperature, max_new_tokens=training.max_completion_length, seed=training.seed
            )
            os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # TRL warns that rollout_func may change
        rows = dat_dataset(script.num_prompts, conversational=bool(tokenizer.chat_template))
        return GRPOTrainer(reward_funcs=rewards, train_dataset=Dataset.from_list(rows), rollout_func=rollout, **common)

    recorder = RunRecorder(rewards, script.completions_logged)
    return train(script, training, model, build, facts={"rewards": described}, recorder=recorder)
