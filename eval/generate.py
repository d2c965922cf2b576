"""Generators: whatever writes DAT responses. A batch is a function of (seed, batch index), so runs can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from data.prompts import messages, plain, prompt

NUM_WORDS = 10
_LIST = "\n".join(f"{k}. %s" for k in range(1, NUM_WORDS + 1))


@dataclass(frozen=True, slots=True)
class Completion:
    """One text a generator wrote. `finish_reason` is `stop` or `length`, or None where it means nothing."""

    text: str
    finish_reason: str | None = None


class Generator(Protocol):
    """Anything that writes responses."""

    @property
    def name(self) -> str:
        """Source of the responses."""
        ...

    @property
    def temperature(self) -> float | None:
        """Sampling temperature; None where there is none."""
        ...

    def generate(self, n: int, seed: int, batch: int) -> list[Completion]:
        """`n` completions of batch number `batch`: the same for the same three numbers, in any process."""
        ...

    def describe(self) -> dict[str, Any]:
        """What a results file must record to say how the texts came about."""
        ...


class RandomNouns:
    """The paper's random baseline (section 5.1.1): ten distinct nouns, every ordered choice equally likely.

    Args:
        nouns: Distinct nouns to choose from, ten at least (`data.nouns.load_nouns()`).

    Raises:
        ValueError: Fewer than ten nouns, or one comes twice.

    >>> generator = RandomNouns("犬 猫 水 山 川 本 車 空 海 石 鳥 花".split())
    >>> one, two = generator.generate(2, seed=1, batch=0)
    >>> len(one.text.splitlines()), generator.generate(2, seed=1, batch=0) == [one, two]
    (10, True)
    """

    name = "random"
    temperature = None

    def __init__(self, nouns: Sequence[str]) -> None:
        if len(nouns) < NUM_WORDS or len(set(nouns)) < len(nouns):
            raise ValueError(f"the random baseline needs {NUM_WORDS} distinct nouns at least, each given once")
        self._nouns = np.array(nouns, dtype=object)

    def generate(self, n: int, seed: int, batch: int) -> list[Completion]:
        """`n` lists of ten nouns."""
        rows = self._nouns[self._draw(n, np.random.default_rng(_entropy(seed, batch)))]
        return [Completion(_LIST % tuple(row)) for row in rows.tolist()]

    def _draw(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Distinct numbers of nouns, shape (n, 10), without rejecting any draw.

        The k-th draw is among the nouns that are left; stepping over the earlier ones, in order, gives its number.
        """
        drawn = random.integers(0, len(self._nouns) - np.arange(NUM_WORDS), size=(n, NUM_WORDS))
        for k in range(1, NUM_WORDS):
            taken = np.sort(drawn[:, :k], axis=1)
            for j in range(k):
                drawn[:, k] += drawn[:, k] >= taken[:, j]
        return drawn

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {"generator": "random", "nouns": len(self._nouns)}


class TransformersGenerator:
    """A transformers model, sampled from its own distribution at a temperature (paper, section 5.1: 1).

    Args:
        model: A causal language model; left in the mode (train or eval) and with the settings in which it came.
        tokenizer: Its tokenizer. With a chat template the prompt is one user turn, otherwise plain text.
        name: The responses' source.
        text: The prompt; the DAT prompt if None.
        max_new_tokens: Length limit; a response that meets it ends with finish_reason `length`.
        temperature: Above 0.

    Nothing is truncated: top_k 0 and top_p 1 are passed, since transformers fills an unset top_k with 50, and the
    model's own generation config (repetition penalty, top_p, ...) is set aside.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str | None = None,
        text: str | None = None,
        max_new_tokens: int = 256,
        temperature: float = 1.0,
    ) -> None:
        if temperature <= 0 or max_new_tokens < 1:
            raise ValueError("temperature must be above 0 and max_new_tokens at least 1")
        self.name = name or str(getattr(model.config, "_name_or_path", "") or type(model).__name__)
        self.temperature = temperature
        self._model, self._tokenizer = model, tokenizer
        self._max_new_tokens = max_new_tokens
        self._prompt = prompt("dat") if text is None else text

    def generate(self, n: int, seed: int, batch: int) -> list[Completion]:
        """`n` completions of the prompt in one call of the model."""
        import torch

        if n == 0:
            return []
        model, tokenizer = self._model, self._tokenizer
        inputs = self._inputs()
        state = np.random.SeedSequence(_entropy(seed, batch)).generate_state(1, np.uint64)
        # The caller may be in the middle of training: its random numbers must not depend on what is sampled here.
        devices = [model.device] if model.device.type == "cuda" else []
        with torch.random.fork_rng(devices), torch.no_grad(), _as_is(model) as ends:
            torch.manual_seed(int(state[0]))
            output = model.generate(
                **{key: value.expand(n, -1) for key, value in inputs.items()},
                do_sample=True,
                temperature=self.temperature,
                top_k=0,
                top_p=1.0,
                max_new_tokens=self._max_new_tokens,
            )
        new = output[:, inputs["input_ids"].shape[1] :]
        stopped = torch.isin(new, torch.tensor(ends, dtype=new.dtype, device=new.device)).any(dim=1).tolist()
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        return [Completion(t, "stop" if s else "length") for t, s in zip(texts, stopped, strict=True)]

    def _inputs(self) -> dict[str, Any]:
        """The prompt's tokens, shape (1, length)."""
        if getattr(self._tokenizer, "chat_template", None):
            encoded = self._tokenizer.apply_chat_template(
                messages(self._prompt),
                add_generation_prompt=True,
                return_dict=True,
                return_tensors="pt",
            )
        else:
            encoded = self._tokenizer(plain(self._prompt), return_tensors="pt")
        return {key: encoded[key].to(self._model.device) for key in ("input_ids", "attention_mask")}

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {
            "generator": "transformers",
            "temperature": self.temperature,
            "top_k": 0,
            "top_p": 1.0,
            "max_new_tokens": self._max_new_tokens,
            "prompt": self._prompt,
        }


@contextmanager
def _as_is(model: Any) -> Iterator[list[int]]:
    """The model in evaluation mode, its generation config reduced to its special tokens; gives the end tokens."""
    from transformers import GenerationConfig

    before, training = model.generation_config, model.training
    ends = before.eos_token_id
    ends = [] if ends is None else list(ends) if isinstance(ends, list | tuple) else [int(ends)]
    pad = before.pad_token_id if before.pad_token_id is not None else (ends or [0])[0]
    model.generation_config = GenerationConfig(
        eos_token_id=ends or None, pad_token_id=pad, bos_token_id=before.bos_token_id
    )
    model.eval()
    try:
        yield ends
    finally:
        model.generation_config = before
        model.train(training)


def _entropy(seed: int, batch: int) -> list[int]:
    if seed < 0 or batch < 0:
        raise ValueError(f"seed and batch must not be negative, but are {seed} and {batch}")
    return [seed, batch]
