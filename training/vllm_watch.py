"""What GRPO with vLLM is watched for: an engine with other weights than the trainer's, or with stale ones.

Written from the sources of TRL 1.16 and vLLM 0.30; tested with a stand-in and with vLLM's engine for CPUs, patched.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import torch

from sozo.data.errors import UserError
from sozo.data.processes import gather
from sozo.models.model_support import encode_prompt, in_eval_mode

_TEXTS = (
    "1. 犬\n2. 音楽\n3. 法律\n",
    "1. 海\n2. 怒り\n3. 机\n",
    "1. 細胞\n2. 祭り\n3. 数学\n",
    "1. 雪\n2. 銀行\n3. 手紙\n",
    "1. 火山\n2. 約束\n3. 魚\n",
    "1. 劇場\n2. 電気\n3. 母\n",
    "1. 砂漠\n2. 税金\n3. 夢\n",
    "1. 橋\n2. 米\n3. 戦争\n",
)
# Nats a token. bf16 alone makes some hundredths between vLLM and a trainer; other weights make whole nats.
_GAP = 0.5
_MOVED = 0.02  # less may be bf16's rounding alone, which moved one by 0.013 and the other by a quarter of it
_FOLLOWED = 0.25  # fresh bf16 weights under other kernels followed by 0.68 at least, stale ones by nothing

# A prompt's token ids and an answer's.
Sequences = Sequence[tuple[list[int], list[int]]]


def fixed_sequences(
    tokenizer: Any, prompts: Sequence[Any], longest: int, **template_arguments: Any
) -> Sequences:
    """Eight fixed texts, at most `longest` tokens of each, behind the first of a run's prompts in turn."""
    return [
        (
            encode_prompt(tokenizer, prompt, **template_arguments),
            tokenizer.encode(text, add_special_tokens=False)[:longest],
        )
        for text, prompt in zip(_TEXTS, cycle(prompts), strict=False)
    ]


def vllm_log_probabilities(generation: Any, sequences: Sequences) -> np.ndarray:
    """What TRL's `VLLMGeneration`, colocated or a server, gives each answer's tokens: nats, all in one row.

    At temperature 1. All processes call it together.
    """
    rows = [prompt + answer for prompt, answer in sequences]
    if generation.mode == "server":
        told = None
        if generation.accelerator.is_main_process:
            lengths = [len(prompt) for prompt, _ in sequences]
            ask = generation.vllm_client.get_sequence_logprobs
            told = ask(rows, lengths, top_logprobs=1)["actual_logprobs"]
        return np.concatenate(gather(told)[0])[:, 0]
    from vllm import SamplingParams

    # Of a prompt's token vLLM always tells, beside the likeliest one.
    request = SamplingParams(temperature=1.0, max_tokens=1, prompt_logprobs=1)
    asked = [{"prompt_token_ids": row} for row in rows]
    outputs = generation.llm.generate(asked, sampling_params=request, use_tqdm=False)
    return np.array(
        [
            output.prompt_logprobs[place][row[place]].logprob
            for output, row, (prompt, _) in zip(outputs, rows, sequences, strict=True)
            for place in range(len(prompt), len(row))
        ]
    )


@dataclass
class Canary:
    """Every `every` steps, behind a generation: the engine's log-probabilities of fixed texts against the trainer's.

    The run ends where they are 0.5 nats a token apart, and where the trainer's have moved since the last comparison but
    the engine's not a quarter as far. Rounding, which is the engine's own, stands in both of its readings and falls
    out; an engine whose readings of the same weights differ by more than that quarter hides that they are stale.
    """

    engine: Callable[[Sequences], np.ndarray]
    sequences: Sequences
    every: int
    _next: int = 0
    _before: np.ndarray | None = None

    def check(self, trainer: Any) -> None:
        """Compare if it is time; the trainer has just generated. All processes call it together."""
        step = trainer.state.global_step
        if step < self._next:
            return
        self._next = step + self.every
        policy = _log_probabilities(trainer, self.sequences)
        readings = np.stack([self.engine(self.sequences), policy])
        gap = float(np.abs(readings[0] - readings[1]).mean())
        trainer._metrics["train"]["canary/gap"].append(gap)
        for fault in filter(None, gather(self._fault(gap, readings))):
            remedy = "restart vLLM, or set another sampler (canary_steps 0: no check)"
            raise UserError(f"step {step + 1}: {fault}; {remedy}")

    def _fault(self, gap: float, readings: np.ndarray) -> str | None:
        if not gap <= _GAP:  # not a number is no agreement either
            return f"vLLM draws from other weights than the trainer's: {gap:.2f} nats a token apart on eight fixed texts"
        if self._before is not None:
            followed, moved = np.sqrt(((readings - self._before) ** 2).mean(axis=1))
            if moved < _MOVED:
                return None
            if followed < moved * _FOLLOWED:
                ways = f"the trainer's log-probabilities of eight fixed texts moved by {moved:.4f} nats a token"
                return f"vLLM's weights are stale: {ways}, vLLM's by {followed:.4f}"
        self._before = readings
        return None


def _log_probabilities(trainer: Any, sequences: Sequences) -> np.ndarray:
    """The trainer's own, all answers in one row."""
    rows = []
    with torch.no_grad(), in_eval_mode(trainer.model):
        # One at a time: the logits of a large vocabulary fill memory.
        for prompt, answer in sequences:
            ids = torch.tensor([prompt + answer], device=trainer.accelerator.device)
            logits = trainer.model(input_ids=ids, use_cache=False).logits
            logits = logits[0, len(prompt) - 1 : -1].float()
            rows.append(logits.log_softmax(-1)[range(len(answer)), answer])
    return torch.cat(rows).double().cpu().numpy()  # type: ignore[no-any-return]
