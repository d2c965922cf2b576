"""A transformers model as a generator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from data.prompts import messages, plain, prompt
from eval.generate.protocol import Completion, entropy


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
        state = np.random.SeedSequence(entropy(seed, batch)).generate_state(1, np.uint64)
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
