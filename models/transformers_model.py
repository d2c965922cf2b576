"""A transformers model as a generator, and the shared-prefix sampler as GRPO's generation."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.data.schema import Completion
from sozo.models.generator import Generator, entropy
from sozo.models.generators import Loaded, ModelWriter
from sozo.models.model_support import (
    Window,
    cache_bytes,
    encode_prompt,
    encode_text,
    end_tokens,
    free_bytes,
    in_eval_mode,
    longest_prompt,
    refuse_beyond,
    template_of,
    window_of,
)
from sozo.models.processes import freed_memory_kept
from sozo.models.weights import load_model, load_tokenizer, model_window, pinned
from sozo.scoring.final_text import decode
from sozo.tasks.task import Task

USUAL_SLOTS, MOST_SLOTS = 256, 1024


class TransformersGenerator:
    """A transformers model, sampled from its own distribution at a temperature (the benchmark: 1; paper, section 4.1).

    The paper says no temperature of its trained models, and nowhere whether anything is truncated (docs/reproduce.md). Here
    nothing is but by `truncation` (`top_k`, `top_p`, `min_p`), and of the model's own generation config only the end
    tokens count. A prompt is computed once however often it is asked, and all prompts go through the model together
    (`models.shared_prefix`); a model whose attention does not allow it goes through `model.generate`. An answer that
    reaches the model's window ends there with `length`, and a line on stderr says so once. The model stays in its mode
    (train or eval).
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str | None = None,
        max_new_tokens: int = 256,
        temperature: float = 1.0,
        truncation: Mapping[str, Any] = MappingProxyType({}),
        slots: int = 256,
        form: PromptForm = PLAIN,
    ) -> None:
        if temperature <= 0 or max_new_tokens < 1 or slots < 1:
            raise ValueError(
                "temperature must be above 0, max_new_tokens and slots at least 1"
            )
        self.name = name or str(
            getattr(model.config, "_name_or_path", "") or type(model).__name__
        )
        self.temperature = temperature
        self._max_new_tokens = max_new_tokens
        self._slots = slots
        self._truncation = truncation
        # transformers fills an unset top_k with 50.
        self._decoder = {
            "temperature": temperature,
            "top_k": 0,
            "top_p": 1.0,
            **truncation,
            "max_new_tokens": max_new_tokens,
        }
        self._form = form
        self._model = model
        self._tokenizer = tokenizer
        self._ends = end_tokens(model, tokenizer)
        self._window = Window(self.name, window_of(model), max_new_tokens)

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One answer for each of `prompts`; of one prompt, answer k is the same however many there are."""
        if not prompts:
            return []
        ids = {
            text: encode_text(self._tokenizer, text, self._form)
            for text in dict.fromkeys(prompts)
        }
        shared = {text for text in ids if not self._obstacle(len(ids[text]))}
        # The prompts that the sampler takes come first, all others behind them.
        rows = sorted(range(len(prompts)), key=lambda row: prompts[row] not in shared)
        uniforms = np.random.default_rng(entropy(seed, batch)).random(
            (len(prompts), self._max_new_tokens)
        )
        ordered = [ids[prompts[row]] for row in rows]
        first = sum(text in shared for text in prompts)
        try:
            with in_eval_mode(self._model):
                together = self._shared(ordered[:first], uniforms[rows[:first]])
                alone = self._plain(ordered[first:], seed, batch)
        except FloatingPointError as error:
            raise UserError(
                f"{self.name}: {error}; try --dtype float32 or another checkpoint"
            ) from error
        answers = dict(zip(rows, together + alone, strict=True))
        tokens = [answers[row] for row in range(len(prompts))]
        texts = [decode(self._tokenizer, row) for row in tokens]
        reasons = [
            "stop" if answer[-1] in self._ends else "length" for answer in tokens
        ]
        return [
            Completion(text, reason)
            for text, reason in zip(texts, reasons, strict=True)
        ]

    def bits_per_character(self, texts: Sequence[str]) -> list[float | None]:
        """How likely the model finds texts, without a prompt (`models.likelihood`)."""
        from sozo.models.likelihood import bits_per_character

        return bits_per_character(self._model, self._tokenizer, texts)

    def _obstacle(self, prompt: int) -> str | None:
        from sozo.models.shared_prefix import why_not_sampled

        return why_not_sampled(self._model, prompt + self._window.room(prompt))

    def _shared(
        self, prompts: list[list[int]], uniforms: np.ndarray
    ) -> list[list[int]]:
        from sozo.models.shared_prefix import sample_each

        options = {
            "ends": self._ends,
            "temperature": self.temperature,
            "truncation": self._truncation,
            "slots": self._slots,
        }
        with freed_memory_kept() if self._model.device.type == "cpu" else nullcontext():
            return sample_each(self._model, prompts, uniforms, **options)

    def _plain(
        self, prompts: list[list[int]], seed: int, batch: int
    ) -> list[list[int]]:
        """By `model.generate`, padded on the left."""
        import torch
        from transformers import GenerationConfig

        model, ends, pad = self._model, self._ends, (self._ends or [0])[0]
        state = np.random.SeedSequence(entropy(seed, batch)).generate_state(
            1, np.uint64
        )
        # The caller may be in the middle of training: its random numbers must not depend on what is sampled here.
        devices = [model.device] if model.device.type == "cuda" else []
        settings = GenerationConfig(
            do_sample=True, **self._decoder, eos_token_id=ends or None, pad_token_id=pad
        )
        rows: list[list[int]] = []
        # In its place, not beside it: what is unset in one that is passed comes from the model's own.
        before, model.generation_config = model.generation_config, settings
        try:
            with torch.random.fork_rng(devices), torch.no_grad():
                torch.manual_seed(int(state[0]))
                for start in range(0, len(prompts), self._slots):
                    part = prompts[start : start + self._slots]
                    longest = max(map(len, part))
                    ids = torch.tensor(
                        [[pad] * (longest - len(p)) + p for p in part],
                        device=model.device,
                    )
                    mask = torch.tensor(
                        [[0] * (longest - len(p)) + [1] * len(p) for p in part],
                        device=model.device,
                    )
                    settings.max_new_tokens = self._window.room(longest)
                    output = model.generate(input_ids=ids, attention_mask=mask)
                    for row in output[:, longest:].tolist():
                        end = next(
                            (k for k, token in enumerate(row, 1) if token in ends),
                            len(row),
                        )
                        # What follows the first end token is padding
                        rows.append(row[:end])
        finally:
            model.generation_config = before
        return rows

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        obstacle = self._obstacle(0)
        sampler = f"model.generate ({obstacle})" if obstacle else "shared_prefix"
        tokens = self._window.tokens
        window = {"window": tokens} if tokens and tokens <= self._max_new_tokens else {}
        return {
            "generator": "transformers",
            "sampler": sampler,
            **self._decoder,
            **window,
            **template_of(self._tokenizer),
        }


class SharedPrefixRollout:
    """TRL `rollout_func`: each prompt of this process's batch is computed once, however often it stands there.

    The draw is a function of seed, optimizer step and place in the batch of all processes: a resumed run continues as
    an unbroken one, and two processes draw what one does. Works on one process, DDP and DeepSpeed ZeRO-1 to 3 (whose
    weights TRL gathers while it lasts), with LoRA too, not under FSDP. 256 completions are decoded at once.

    >>> rollout = SharedPrefixRollout(temperature=1.0, max_new_tokens=256, seed=0)
    >>> trainer = GRPOTrainer(..., rollout_func=rollout)  # doctest: +SKIP
    """

    def __init__(self, *, temperature: float, max_new_tokens: int, seed: int) -> None:
        self._temperature = temperature
        self._max_new_tokens = max_new_tokens
        self._seed = seed
        self._at = (-1, 0)  # optimizer step, and the number of the call in it

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """One completion per prompt, as TRL wants them: `prompt_ids`, `completion_ids`, and no `logprobs`."""
        from trl.models import unwrap_model_for_generation

        from sozo.models.shared_prefix import sample_each

        if trainer.is_fsdp_enabled:
            raise UserError(
                "sampler shared_prefix does not work under FSDP; set sampler: trl or sampler: vllm"
            )
        tokenizer, step = trainer.processing_class, trainer.state.global_step
        prompt_ids = [
            encode_prompt(tokenizer, prompt, **trainer.chat_template_kwargs or {})
            for prompt in prompts
        ]
        self._at = (step, self._at[1] + 1 if self._at[0] == step else 0)
        # TRL deals one batch out, a slice to each process.
        first = trainer.args.process_index * len(prompts)
        random = np.random.default_rng([self._seed, *self._at])
        uniforms = random.random((first + len(prompts), self._max_new_tokens))[first:]
        with (
            unwrap_model_for_generation(
                trainer.model_wrapped, trainer.accelerator
            ) as model,
            in_eval_mode(model),
        ):
            options = {
                "ends": end_tokens(model, tokenizer),
                "temperature": self._temperature,
                "slots": USUAL_SLOTS,
            }
            try:
                completion_ids = sample_each(model, prompt_ids, uniforms, **options)
            except FloatingPointError as error:
                raise UserError(
                    f"step {step + 1}: {error}; if it has diverged, lower learning_rate"
                ) from error
        return {
            "prompt_ids": prompt_ids,
            "completion_ids": completion_ids,
            "logprobs": None,
        }


def fitting_slots(model: Any, max_new_tokens: int, free: int | None = None) -> int:
    """Slots of up to `max_new_tokens` for `model` where it is now: 256, and on a GPU as many of 1,024 as fit.

    A step of a large model costs the same launches for any number of rows, so more rows cost less each. `free` bytes
    of a GPU's memory are asked for unless given; half of them are for keys and values of each layer and a row of
    logits, the other half for what else a step needs. On a CPU more rows cost as much more.
    """
    free = free_bytes(model.device) if free is None else free
    return (
        USUAL_SLOTS
        if free is None
        else max(
            USUAL_SLOTS,
            min(MOST_SLOTS, free // 2 // cache_bytes(model, max_new_tokens, 1)),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWriter(ModelWriter):
    """A model on this machine."""

    dtype: str
    slots: int | None  # None: what the device has room for beside the model

    def pinned(self) -> Self:
        """See `Writer`."""
        model, revision = pinned(self.model, self.model_revision)
        return replace(self, model=model, model_revision=revision)

    def load(
        self, task: Task | None = None, *, loaded: Loaded | None = None, **_: Any
    ) -> Generator:
        """The model in transformers, on this process's device."""
        import torch

        self._check_room(task)

        def load() -> tuple[Any, Any]:
            model, tokenizer = load_model(
                self.model, revision=self.model_revision, dtype=self.dtype
            )
            device = (
                f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
                if torch.cuda.is_available()
                else "cpu"
            )
            return model.to(device).eval(), tokenizer

        model, tokenizer = (loaded or Loaded()).load(self._weights, load)
        return TransformersGenerator(
            model,
            tokenizer,
            name=self.source,
            form=self.form,
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            truncation=self.sampling.truncation,
            slots=self.slots or fitting_slots(model, self.max_new_tokens),
        )

    @property
    def _weights(self) -> tuple[Any, ...]:
        """What tells one load of weights from another."""
        return type(self), self.model, self.model_revision, self.dtype

    def _check_room(self, task: Task | None) -> int | None:
        """Refuse a task's prompts that leave no room in the window; of the task's own limit answers get what fits.

        The tokens of the longest prompt with its answer, at most the window's; None without a task.
        """
        if task is None:
            return None
        window = model_window(self.model, self.model_revision)
        limit = self.max_new_tokens
        if limit == task.max_new_tokens:
            limit = 1
        tokenizer = load_tokenizer(self.model, self.model_revision)
        prompts = (item.prompt for item in task.items() if not item.read)
        longest = longest_prompt(tokenizer, prompts, self.form)
        refuse_beyond(self.source, window, longest, limit)
        needed = longest + self.max_new_tokens
        return min(needed, window or needed)
