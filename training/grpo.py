"""GRPO on any task and on mixes (paper, section 5.1.3: on the DAT), through TRL's trainer: settings in, a model out."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm
from trl import GRPOConfig, ModelConfig

from sozo.data.errors import UserError
from sozo.data.processes import world_size
from sozo.data.settings import setting
from sozo.models.model_support import longest_prompt, refuse_beyond
from sozo.models.trained_on import of_rewards
from sozo.training.batches import check_groups, check_prompts, check_saves, fit_batch
from sozo.training.decided import TrainingRun
from sozo.training.entries import Entry, entries_of, tasks_of
from sozo.training.mix import dataset_rows, described, reward_functions, reward_weights
from sozo.training.run import train
from sozo.training.tracking import RunRecorder
from sozo.training.words import WordArguments

SAMPLERS = ("shared_prefix", "trl", "vllm")
# Settings that cut or bend the model's own distribution, and the values that do not. vLLM's correction needs the first
# four as they are here; the sampler shared_prefix draws by none of them.
_BENT: dict[str, tuple] = {
    "top_k": (0, None),
    "top_p": (1.0, None),
    "min_p": (0.0, None),
}
_BENT |= {"repetition_penalty": (1.0, None)}
_UNUSED = _BENT | {
    "generation_kwargs": (None, {}),
    "use_transformers_continuous_batching": (None, False),
}


@dataclass
class GrpoSettings(GRPOConfig):
    """TRL's GRPOConfig with one more field (the paper: 256), so that one YAML fits any number of GPUs."""

    completions_per_step: int | None = setting(
        None,
        "Completions per optimizer step over all processes; sets gradient_accumulation_steps.",
    )
    gradient_accumulation_steps: int | None = setting(
        None, "Micro-batches per optimizer step (default: 1)."
    )

    # TRL's own masks a whole sequence: of answers of 400 tokens nearly all, whatever the engine's rounding.
    vllm_importance_sampling_mode: str = setting(
        "token_truncate", "How vLLM's log-probabilities are corrected."
    )

    def __post_init__(self) -> None:
        fit_batch(self, "completions_per_step")
        if self.steps_per_generation is not None and int(self.steps_per_generation) < 1:
            raise UserError(
                f"steps_per_generation must be at least 1, not {self.steps_per_generation}"
            )
        if self.generation_batch_size is None:
            steps = int(
                self.steps_per_generation or self.gradient_accumulation_steps or 1
            )
            per_device = int(self.per_device_train_batch_size)
            group = int(self.num_generations or 0)
            check_groups(per_device, world_size(), steps, group)
        super().__post_init__()
        check_saves(self)


@dataclass
class GrpoArguments(WordArguments):
    """What is asked, who draws the answers, and what is paid for them.

    `tasks` holds entries as `training.entries.Entry` describes them, or names of tasks; on the command line names, or
    mappings in JSON. num_prompts (the paper: 4,096) is of every entry that says nothing
    else. The sampler `shared_prefix` is sozo's generator, which computes each prompt once; `trl` is TRL's own.
    """

    tasks: list[str] | None = setting(  # noqa: RUF009
        None, "What is asked: names of tasks, or mappings."
    )
    num_prompts: int | None = setting(
        None, "Prompts of each task in one epoch (default: each of its items once)."
    )
    sampler: str | None = setting(
        None,
        "shared_prefix, trl or vllm (default: shared_prefix, or vllm with use_vllm).",
    )
    canary_steps: int = setting(
        10,
        "vLLM: compare its log-probabilities with the trainer's every so many steps (0: never).",
        affects_result=False,
    )

    def __post_init__(self) -> None:
        if self.tasks is None:
            raise UserError(
                "tasks is missing: a list of what is asked, as in recipes/tiny/grpo.yaml"
            )
        self.tasks = tasks_of(self.tasks)  # type: ignore[assignment]

    def check(self, training: GrpoSettings) -> None:
        """Settle the sampler; refuse what contradicts `training`."""
        self._settle_sampler(training)
        if self.canary_steps < 0:
            raise UserError(f"canary_steps must be 0 or more, not {self.canary_steps}")

    def _settle_sampler(self, training: GrpoSettings) -> None:
        if self.sampler is None:
            self.sampler = "vllm" if training.use_vllm else "shared_prefix"
        if self.sampler not in SAMPLERS:
            raise UserError(
                f"sampler must be one of {', '.join(SAMPLERS)}, not {self.sampler}"
            )
        if training.use_vllm and self.sampler != "vllm":
            raise UserError(
                f"sampler {self.sampler} and use_vllm true contradict each other; take one of them out"
            )
        training.use_vllm = self.sampler == "vllm"
        if training.use_vllm and training.use_cpu and training.vllm_mode == "server":
            raise UserError(
                "vllm_mode server needs a GPU: TRL sends weights by NCCL; take colocate or another sampler"
            )
        if self.sampler == "trl":
            return
        # vLLM's log-probabilities are of what is left, the trainer's of the whole distribution.
        why = "draws from the model's own distribution and cannot follow"
        why = "would correct by a biased ratio with" if training.use_vllm else why
        changed = []
        for name, neutral in (_BENT if training.use_vllm else _UNUSED).items():
            if (value := getattr(training, name)) not in neutral:
                changed.append(f"{name} {value}")
        if changed:
            remedy = "leave it out (top_k 0, top_p 1), or take sampler trl"
            raise UserError(
                f"sampler {self.sampler} {why} {', '.join(changed)}; {remedy}"
            )


def checked_entries(script: GrpoArguments, training: GrpoSettings) -> list[Entry]:
    """What is asked and paid, with the weights of rewards settled; refuses an epoch that leaves a batch unfilled."""
    entries = entries_of(script)
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
    if training.max_steps <= 0 or num_prompts * training.num_generations < batch:
        check_prompts(num_prompts, training.num_generations, batch)
    return entries


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
        prompts = (item.prompt for entry in self._entries for item in entry.items)
        prompt = longest_prompt(tokenizer, prompts, self.form)
        fit_completions(prompt, training, window)

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


def fit_completions(prompt: int, training: GrpoSettings, window: int | None) -> None:
    """Refuse completions that do not fit behind `prompt` tokens into the window, the model's or the engine's."""
    limit = training.max_completion_length
    refuse_beyond("GRPO", window, prompt, limit, "max_completion_length")
    if training.use_vllm and training.vllm_mode == "colocate":
        # The model's own length, 131,072 tokens for Llama 3.1, would fill the GPU with an empty cache.
        length = training.vllm_max_model_length or prompt + limit
        training.vllm_max_model_length = length
        engine = f"vllm_max_model_length {length}"
        refuse_beyond(engine, length, prompt, limit, "max_completion_length")
        refuse_beyond("vLLM", window, 0, length, "vllm_max_model_length")


def train_grpo(
    script: GrpoArguments, training: GrpoSettings, model: ModelConfig
) -> Path:
    """Train by GRPO and return the folder of the trained model (see `run.train`)."""
    return train(GrpoRun, script, training, model)
