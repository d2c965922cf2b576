"""GRPO on any task and on mixes (paper, section 5.1.3: on the DAT), through TRL's trainer: settings in, a model out."""

import os
from pathlib import Path
from typing import Any

from trl import ModelConfig

from training.grpo_config import GrpoArguments, GrpoSettings
from training.mix import dataset_rows, described, reward_functions
from training.run import train
from training.tracking import RunRecorder


def train_grpo(script: GrpoArguments, training: GrpoSettings, model: ModelConfig) -> Path:
    """Train by GRPO and return the folder of the trained model (see `run.train`)."""
    rewards = reward_functions(script.entries)

    def build(tokenizer: Any, common: dict[str, Any]) -> Any:
        from datasets import Dataset

        from training.grpo_trainer import MixTrainer

        rollout = None
        if script.sampler == "shared_prefix":
            from generate.transformers_model import SharedPrefixRollout

            length, seed = training.max_completion_length, training.seed
            rollout = SharedPrefixRollout(temperature=training.temperature, max_new_tokens=length, seed=seed)
            os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # TRL warns that rollout_func may change
        rows = dataset_rows(script.entries, conversational=bool(tokenizer.chat_template))
        return MixTrainer(reward_funcs=rewards, train_dataset=Dataset.from_list(rows), rollout_func=rollout, **common)

    recorder = RunRecorder([function.reward for function in rewards], script.completions_logged)
    return train(script, training, model, build, facts=described(script.entries), recorder=recorder)
