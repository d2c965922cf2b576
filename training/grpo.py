"""GRPO on any task and on mixes (paper, section 5.1.3: on the DAT), through TRL's trainer: settings in, a model out."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm
from trl import GRPOConfig, ModelConfig

from sozo.data.errors import UserError
from sozo.data.processes import world_size
from sozo.data.prompts.form import PromptForm
from sozo.data.settings import setting
from sozo.models.model_support import longest_prompt, refuse_beyond
from sozo.models.trained_on import of_rewards
from sozo.scoring.endpoint.profile import check_address
from sozo.training.batches import check_groups, check_prompts, check_saves, fit_batch
from sozo.training.entries import Entry, entries_of
from sozo.training.mix import dataset_rows, described, reward_functions, reward_weights
from sozo.training.run import train
from sozo.training.tracking import RunRecorder
from sozo.training.words import KeepWords, WordArguments

SAMPLERS = ("shared_prefix", "trl", "vllm")
# Settings that cut or bend the model's own distribution, and the values that do not. vLLM's correction needs the first
# five as they are here; the sampler shared_prefix draws by none of them.
_BENT: dict[str, tuple] = {
    "top_k": (0, None),
    "top_p": (1.0, None),
    "min_p": (0.0, None),
}
_BENT |= {"repetition_penalty": (1.0, None), "vllm_structured_outputs_regex": (None,)}
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
            per_device, group = (
                int(self.per_device_train_batch_size),
                int(self.num_generations or 0),
            )
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

    def check(self, training: GrpoSettings) -> None:
        """Settle the sampler; refuse what contradicts `training`."""
        self._settle_sampler(training)
        if training.vllm_server_base_url:
            check_address(training.vllm_server_base_url, "vllm_server_base_url")

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
    batch, num_prompts = (
        training.generation_batch_size,
        sum(entry.count for entry in entries),
    )
    if training.max_steps <= 0 or num_prompts * training.num_generations < batch:
        check_prompts(num_prompts, training.num_generations, batch)
    return entries


def fit_prompts(
    entries: Sequence[Entry],
    training: GrpoSettings,
    tokenizer: Any,
    form: PromptForm,
    window: int | None,
) -> None:
    """Refuse completions that do not fit behind the longest prompt into the window, the model's or the engine's."""
    prompt = longest_prompt(
        tokenizer,
        (item.prompt for entry in entries for item in entry.items),
        form,
    )
    limit = training.max_completion_length
    refuse_beyond("GRPO", window, prompt, limit, "max_completion_length")
    if training.use_vllm and training.vllm_mode == "colocate":
        # The model's own length, 131,072 tokens for Llama 3.1, would fill the GPU with an empty cache.
        length = training.vllm_max_model_length = (
            training.vllm_max_model_length or prompt + limit
        )
        refuse_beyond(
            f"vllm_max_model_length {length}",
            length,
            prompt,
            limit,
            "max_completion_length",
        )
        refuse_beyond("vLLM", window, 0, length, "vllm_max_model_length")


def train_grpo(
    script: GrpoArguments, training: GrpoSettings, model: ModelConfig
) -> Path:
    """Train by GRPO and return the folder of the trained model (see `run.train`)."""
    entries = checked_entries(script, training)
    rewards = reward_functions(entries)
    script.check_words([entry.rewards for entry in entries], training)
    keep = (
        KeepWords(script.different_words, script.different_words_of or 0)
        if script.different_words
        else None
    )
    if len(rewards) > 1 and training.process_index == 0:
        weights = training.reward_weights or [1.0] * len(rewards)
        summed = [
            f"{weight:g} x {reward.__name__}"
            for weight, reward in zip(weights, rewards, strict=True)
            if script.credit != "word" or not getattr(reward.reward, "in_parts", False)
        ]
        tqdm.write(f"reward: {' + '.join(summed)}")
    facts = described(entries)

    def build(tokenizer: Any, form: PromptForm, common: dict[str, Any]) -> Any:
        from datasets import Dataset

        from sozo.training.grpo_trainer import MixTrainer
        from sozo.training.word_trainer import WordTrainer

        rollout = None
        if script.sampler == "shared_prefix":
            from sozo.models.transformers_model import SharedPrefixRollout

            length, seed = training.max_completion_length, training.seed
            rollout = SharedPrefixRollout(
                temperature=training.temperature, max_new_tokens=length, seed=seed
            )
            os.environ.setdefault(
                "TRL_EXPERIMENTAL_SILENCE", "1"
            )  # TRL warns that rollout_func may change
        rows = dataset_rows(
            entries, conversational=bool(tokenizer.chat_template), form=form
        )
        common |= {
            "reward_funcs": rewards,
            "train_dataset": Dataset.from_list(rows),
            "rollout_func": rollout,
        }
        trainer = (
            WordTrainer(words=script, keep=keep, **common)
            if script.about_words
            else MixTrainer(**common)
        )
        if training.use_vllm and script.canary_steps:
            from sozo.training.vllm_watch import (
                Canary,
                fixed_sequences,
                vllm_log_probabilities,
            )

            prompts, longest = (
                [row["prompt"] for row in rows],
                training.max_completion_length - 1,
            )
            sequences = fixed_sequences(
                tokenizer, prompts, longest, **training.chat_template_kwargs or {}
            )
            engine = partial(vllm_log_probabilities, trainer.vllm_generation)
            trainer.canary = Canary(engine, sequences, script.canary_steps)
        return trainer

    recorder = RunRecorder([function.reward for function in rewards], keep)
    return train(
        script,
        training,
        model,
        build,
        fit=partial(fit_prompts, entries, training),
        entries=entries,
        facts=facts,
        sources=of_rewards(facts["rewards"]),
        recorder=recorder,
    )
