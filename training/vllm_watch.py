"""What GRPO with vLLM is watched for: an engine with other weights than the trainer's, or with stale ones.

Written from the sources of TRL 1.16 and vLLM 0.30; tested with a stand-in and with vLLM's engine for CPUs, patched.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

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

Sequences = Sequence[
    tuple[list[int], list[int]]
]  # a prompt's token ids and an answer's


def vllm_log_probabilities(generation: Any, sequences: Sequences) -> np.ndarray:
    """What TRL's `VLLMGeneration`, colocated or a server, gives each answer's tokens: nats, all in one row.

    At temperature 1. All processes call it together.
    """
    rows = [prompt + answer for prompt, answer in sequences]
    if generation.mode == "server":
        from accelerate.utils import broadcast_object_list

        values: list[Any] = [None]
        if generation.accelerator.is_main_process:
            lengths = [len(prompt) for prompt, _ in sequences]
            values = [
                generation.vllm_client.get_sequence_logprobs(
                    rows, lengths, top_logprobs=1
                )["actual_logprobs"]
            ]
        broadcast_object_list(values, from_process=0)
        return np.concatenate(values[0])[:, 0]
    from vllm import SamplingParams

    llm = generation.llm
    if (
        generation.enable_sleep_mode
    ):  # its weights were thrown away behind the last completion
        generation.sync_weights()
        llm.wake_up(tags=["kv_cache"])
    # Of a prompt's token vLLM always tells, beside the likeliest one.
    request = SamplingParams(temperature=1.0, max_tokens=1, prompt_logprobs=1)
    outputs = llm.generate(
        [{"prompt_token_ids": row} for row in rows],
        sampling_params=request,
        use_tqdm=False,
    )
    if generation.enable_sleep_mode:
        llm.sleep(level=2)
        generation._llm_weights_sleeping = True
    log_probabilities = []
    for output, row, (prompt, _) in zip(outputs, rows, sequences, strict=True):
        for place in range(len(prompt), len(row)):
            log_probabilities.append(output.prompt_logprobs[place][row[place]].logprob)
    return np.array(log_probabilities)


class Canary:
    """Every `every` steps, behind a generation: the engine's log-probabilities of fixed texts against the trainer's.

    The run ends where they are 0.5 nats a token apart, and where the trainer's have moved since the last comparison but
    the engine's not a quarter as far. Rounding, which is the engine's own, stands in both of its readings and falls
    out; an engine whose readings of the same weights differ by more than that quarter hides that they are stale.
    """

    def __init__(
        self,
        engine: Callable[[Sequences], np.ndarray],
        sequences: Sequences,
        every: int,
    ) -> None:
        self._engine = engine
        self._sequences = sequences
        self._every = every
        self._checked: int | None = None
        self._before: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of_trainer(cls, trainer: Any, prompts: Sequence[Any], every: int) -> Self:
        """Between a GRPO trainer and its engine, behind a run's prompts."""
        args = trainer.args
        sequences = fixed_sequences(
            trainer.processing_class,
            prompts,
            args.max_completion_length - 1,
            **args.chat_template_kwargs or {},
        )
        engine = partial(vllm_log_probabilities, trainer.vllm_generation)
        return cls(engine, sequences, every)

    def check(self, trainer: Any) -> None:
        """Compare if it is time; the trainer has just generated. All processes call it together."""
        step = trainer.state.global_step
        if self._checked is not None and step - self._checked < self._every:
            return
        self._checked = step
        engine = self._engine(self._sequences)
        policy = _log_probabilities(trainer, self._sequences)
        gap = float(np.abs(engine - policy).mean())
        everyone = gather((gap, self._fault(gap, engine, policy)))
        trainer._metrics["train"]["canary/gap"].append(max(gap for gap, _ in everyone))
        for _, fault in everyone:
            if fault:
                remedy = (
                    "restart vLLM, or set another sampler (canary_steps 0: no check)"
                )
                raise UserError(f"step {step + 1}: {fault}; {remedy}")

    def _fault(self, gap: float, engine: np.ndarray, policy: np.ndarray) -> str | None:
        if not gap <= _GAP:  # not a number is no agreement either
            return f"vLLM draws from other weights than the trainer's: {gap:.2f} nats a token apart on eight fixed texts"
        if self._before is not None:
            followed = float(np.sqrt(np.mean(np.square(engine - self._before[0]))))
            moved = float(np.sqrt(np.mean(np.square(policy - self._before[1]))))
            if moved < _MOVED:
                return None
            if followed < moved * _FOLLOWED:
                ways = f"the trainer's log-probabilities of eight fixed texts moved by {moved:.4f} nats a token"
                return f"vLLM's weights are stale: {ways}, vLLM's by {followed:.4f}"
        self._before = engine, policy
        return None


def fixed_sequences(
    tokenizer: Any, prompts: Sequence[Any], longest: int, **template_arguments: Any
) -> Sequences:
    """Eight fixed texts, at most `longest` tokens of each, behind the first of a run's prompts in turn."""
    sequences = []
    for number, text in enumerate(_TEXTS):
        prompt = encode_prompt(
            tokenizer, prompts[number % len(prompts)], **template_arguments
        )
        sequences.append(
            (
                prompt,
                list(tokenizer(text, add_special_tokens=False)["input_ids"])[:longest],
            )
        )
    return sequences


def _log_probabilities(trainer: Any, sequences: Sequences) -> np.ndarray:
    """The trainer's own, all answers in one row."""
    model = trainer.model
    rows = []
    with torch.no_grad(), in_eval_mode(model):
        for (
            prompt,
            answer,
        ) in sequences:  # one at a time: the logits of a large vocabulary fill memory
            ids = torch.tensor([prompt + answer], device=trainer.accelerator.device)
            logits = model(input_ids=ids, use_cache=False).logits
            log_probs = torch.log_softmax(
                logits[0, len(prompt) - 1 : -1].float(), dim=-1
            )
            rows.append(
                log_probs.gather(1, ids[0, len(prompt) :, None])[:, 0]
                .double()
                .cpu()
                .numpy()
            )
    return np.concatenate(rows)
