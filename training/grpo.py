"""GRPO on any task and on mixes (paper, section 5.1.3: on the DAT), through TRL's trainer: settings in, a model out."""

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

from trl import GRPOConfig, ModelConfig

from sozo.data.errors import UserError
from sozo.models.model_support import longest_prompt, refuse_beyond
from sozo.models.trained_on import of_rewards
from sozo.rewards.reward import Reward
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks import Dat
from sozo.training.arguments import GrpoArguments, GrpoPerStep
from sozo.training.decided import TrainingRun
from sozo.training.mix import dataset_rows, described, reward_functions, reward_weights
from sozo.training.run import train
from sozo.training.tracking import RunRecorder


@dataclass
class GrpoSettings(GrpoPerStep, GRPOConfig):
    """TRL's GRPOConfig with `completions_per_step`."""


class GrpoRun(TrainingRun):
    """GRPO, decided: what is asked and paid, and who draws."""

    asked: GrpoArguments

    def __init__(
        self,
        asked: GrpoArguments,
        training: GrpoSettings,
        model: ModelConfig,
    ) -> None:
        """Build the rewards, and refuse what does not fit together."""
        self._entries = asked.entries
        asked.epoch(training)  # refuses one that leaves a generation unfilled
        given = [reward_weights(self._entries), training.reward_weights]
        if None not in given:
            raise UserError(
                "reward_weights stand both in tasks and beside it; take one of them out"
            )
        training.reward_weights = weights = given[0] or given[1]
        self._rewards = reward_functions(self._entries)
        count = len(self._rewards)
        if weights is not None and len(weights) != count:
            raise UserError(
                f"{len(weights)} reward_weights for {count} rewards; give one for each"
            )
        facts = described(self._entries)
        rewards = [function.reward for function in self._rewards]
        self._by_word = asked.decide_words(rewards, training)
        super().__init__(
            asked,
            training,
            model,
            facts=facts,
            sources=of_rewards(facts["rewards"]),
            free_arguments=[entry.free_arguments for entry in self._entries],
            recorder=RunRecorder(rewards),
        )

    def fit(
        self,
        tokenizer: Any,
        training: GrpoSettings,
        window: int | None,
    ) -> None:
        """Refuse completions that do not fit behind the longest prompt into the window, the model's or the engine's."""
        prompts = (item.prompt for entry in self._entries for item in entry.items)
        prompt = longest_prompt(tokenizer, prompts, self.form)
        limit = training.max_completion_length
        if any(
            entry.task == Dat.name and not entry.reward_funcs for entry in self._entries
        ):
            lists = (write_list([noun] * NUM_WORDS) for noun in ("犬", "dog"))
            needed = min(len(tokenizer(text).input_ids) for text in lists)
            if limit < needed:
                raise UserError(
                    f"max_completion_length {limit} is too short for ten nouns, which take {needed} tokens at least"
                )
        refuse_beyond("GRPO", window, prompt, limit, "max_completion_length")
        if training.use_vllm and training.vllm_mode == "colocate":
            # The model's own length, 131,072 tokens for Llama 3.1, would fill the GPU with an empty cache.
            length = training.vllm_max_model_length or prompt + limit
            training.vllm_max_model_length = length
            engine = f"vllm_max_model_length {length}"
            refuse_beyond(engine, length, prompt, limit, "max_completion_length")

    def build(
        self,
        tokenizer: Any,
        common: dict[str, Any],
    ) -> Any:
        """TRL's trainer for a mix of tasks, with what draws and what watches it."""
        from datasets import Dataset

        from sozo.training.grpo_trainer import MixTrainer
        from sozo.training.vllm_watch import (
            Canary,
            fixed_sequences,
            vllm_log_probabilities,
        )
        from sozo.training.word_trainer import WordTrainer

        training = common["args"]
        rollout = None
        if self.asked.sampler == "shared_prefix":
            from sozo.models.transformers_model import SharedPrefixRollout

            rollout = SharedPrefixRollout(
                temperature=training.temperature,
                max_new_tokens=training.max_completion_length,
                seed=training.seed,
            )
            # TRL warns that rollout_func may change.
            os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
        rows = dataset_rows(
            self._entries,
            conversational=bool(tokenizer.chat_template),
            form=self.form,
        )
        for reward in (function.reward for function in self._rewards):
            if isinstance(reward, Reward):
                reward.tokenizer = tokenizer
        common |= {
            "reward_funcs": self._rewards,
            "train_dataset": Dataset.from_list(rows),
            "rollout_func": rollout,
        }
        trainer = (WordTrainer if self._by_word else MixTrainer)(**common)
        # Asleep, the engine throws its weights away: none are stale.
        awake = training.use_vllm and not training.vllm_enable_sleep_mode
        every = self.asked.canary_steps
        if awake and every:
            sequences = fixed_sequences(
                tokenizer,
                [row["prompt"] for row in rows],
                training.max_completion_length - 1,
                **training.chat_template_kwargs or {},
            )
            engine = partial(vllm_log_probabilities, trainer.vllm_generation)
            trainer.canary = Canary(engine, sequences, every)
        return trainer


# Trains, and returns the folder of the trained model.
train_grpo = partial(train, GrpoRun)
