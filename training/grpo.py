"""GRPO on any task and on mixes (paper, section 5.1.3: on the DAT), through TRL's trainer: settings in, a model out."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tqdm import tqdm
from trl import GRPOConfig, ModelConfig

from sozo.data.errors import UserError
from sozo.data.prompts.form import PromptForm
from sozo.models.model_support import longest_prompt, refuse_beyond
from sozo.models.trained_on import of_rewards
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks import Dat
from sozo.training.arguments import GrpoArguments, GrpoPerStep
from sozo.training.batches import check_prompts
from sozo.training.decided import TrainingRun
from sozo.training.entries import Entry, entries_of
from sozo.training.mix import dataset_rows, described, reward_functions, reward_weights
from sozo.training.run import train
from sozo.training.tracking import RunRecorder


@dataclass
class GrpoSettings(GrpoPerStep, GRPOConfig):
    """TRL's GRPOConfig with `completions_per_step`."""


def checked_entries(script: GrpoArguments, training: GrpoSettings) -> list[Entry]:
    """What is asked and paid, with the weights of rewards settled; refuses an epoch that leaves a batch unfilled."""
    entries = entries_of(script)
    check_entries(entries, training)
    return entries


def check_entries(entries: Sequence[Entry], training: GrpoSettings) -> None:
    """Settle the weights of the rewards of `entries`; refuse an epoch that leaves a batch unfilled."""
    weights = reward_weights(entries)
    if weights is not None and training.reward_weights is not None:
        raise UserError(
            "reward_weights stand both in tasks and beside it; take one of them out"
        )
    training.reward_weights = training.reward_weights if weights is None else weights
    count = sum(entry.num_rewards for entry in entries)
    if training.reward_weights is not None and len(training.reward_weights) != count:
        raise UserError(
            f"{len(training.reward_weights)} reward_weights for {count} rewards; give one for each"
        )
    batch = training.generation_batch_size
    num_prompts = sum(entry.count for entry in entries)
    check_prompts(num_prompts, training.num_generations, batch, training.max_steps)


def fit_prompts(
    entries: Sequence[Entry],
    training: GrpoSettings,
    tokenizer: Any,
    form: PromptForm,
    window: int | None,
) -> None:
    """Refuse completions that do not fit behind the longest prompt into the window, the model's or the engine's."""
    prompts = (item.prompt for entry in entries for item in entry.items)
    prompt = longest_prompt(tokenizer, prompts, form)
    limit = training.max_completion_length
    if any(entry.task == Dat.name and not entry.reward_funcs for entry in entries):
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
        refuse_beyond("vLLM", window, 0, length, "vllm_max_model_length")


class GrpoRun(TrainingRun):
    """GRPO, decided: what is asked and paid, and who draws."""

    def __init__(
        self, asked: GrpoArguments, training: GrpoSettings, model: ModelConfig
    ) -> None:
        """Build the rewards, refuse what does not fit together, and say what is summed."""
        self.sampler = asked.sampler
        self._canary_steps = asked.canary_steps
        self._entries = checked_entries(asked, training)
        self._rewards = reward_functions(self._entries)
        facts = described(self._entries)
        hubs = filter(None, (entry.hub for entry in self._entries))
        self.hub = {hub.name: hub.commit for hub in hubs}
        of_entries = [entry.rewards for entry in self._entries]
        self._words = asked.decide_words(of_entries, training)
        if len(self._rewards) > 1 and training.process_index == 0:
            tqdm.write(f"reward: {self._sum(training.reward_weights)}")
        super().__init__(
            asked,
            training,
            model,
            facts=facts,
            sources=of_rewards(facts["rewards"]),
            free_arguments=[entry.free_arguments for entry in self._entries],
            recorder=RunRecorder(
                [function.reward for function in self._rewards],
                self._words and self._words.keep,
                [entry.name for entry in self._entries],
            ),
        )

    def _sum(self, weights: Sequence[float] | None) -> str:
        """What is summed to the reward; what is paid by the word alone is not."""
        weights = weights or [1.0] * len(self._rewards)
        terms = []
        for weight, function in zip(weights, self._rewards, strict=True):
            by_word = self._words and self._words.by_word
            if not by_word or not getattr(function.reward, "in_parts", False):
                terms.append(f"{weight:g} x {function.__name__}")
        return " + ".join(terms)

    def fit(self, tokenizer: Any, training: GrpoSettings, window: int | None) -> None:
        """Refuse completions that do not fit behind the longest prompt into the window, the model's or the engine's."""
        fit_prompts(self._entries, training, tokenizer, self.form, window)

    def build(self, tokenizer: Any, common: dict[str, Any]) -> Any:
        """TRL's trainer for a mix of tasks, with what draws and what watches it."""
        from datasets import Dataset

        from sozo.training.grpo_trainer import MixTrainer
        from sozo.training.word_trainer import WordTrainer

        training = common["args"]
        rollout = None
        if self.sampler == "shared_prefix":
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
        common |= {
            "reward_funcs": self._rewards,
            "train_dataset": Dataset.from_list(rows),
            "rollout_func": rollout,
        }
        trainer = (
            WordTrainer(words=self._words, **common)
            if self._words
            else MixTrainer(**common)
        )
        if training.use_vllm and self._canary_steps:
            from sozo.training.vllm_watch import Canary

            prompts = [row["prompt"] for row in rows]
            trainer.canary = Canary.of_trainer(trainer, prompts, self._canary_steps)
        return trainer


# Trains, and returns the folder of the trained model.
train_grpo = partial(train, GrpoRun)
