"""The shared-prefix sampler as GRPO's generation: what TRL's trainer calls in place of its own `generate`."""

from typing import Any

import numpy as np

from data.errors import UserError
from generate.shared_prefix import sample_each
from generate.transformers_model import in_eval_mode
from models.tokens import encode_prompt, end_tokens


class SharedPrefixRollout:
    """TRL `rollout_func`: each prompt of this process's batch is computed once, however often it stands there.

    The draw is a function of seed, optimizer step and place in the batch of all processes: a resumed run continues as
    an unbroken one, and two processes draw what one does. Works on one process, DDP and DeepSpeed ZeRO-1 to 3 (whose
    weights TRL gathers while it lasts), with LoRA too, not under FSDP.
    `slots` completions are decoded at once.

    >>> rollout = SharedPrefixRollout(temperature=1.0, max_new_tokens=256, seed=0)
    >>> trainer = GRPOTrainer(..., rollout_func=rollout)  # doctest: +SKIP
    """

    def __init__(self, *, temperature: float, max_new_tokens: int, seed: int, slots: int = 256) -> None:
        self._temperature, self._max_new_tokens, self._seed, self._slots = temperature, max_new_tokens, seed, slots
        self._at = (-1, 0)  # optimizer step, and the number of the call in it

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """One completion per prompt, as TRL wants them: `prompt_ids`, `completion_ids`, and no `logprobs`."""
        from trl.models import unwrap_model_for_generation

        if trainer.is_fsdp_enabled:
            raise UserError("sampler shared_prefix does not work under FSDP; set sampler: trl or sampler: vllm")
        tokenizer, step = trainer.processing_class, trainer.state.global_step
        template_arguments = trainer.chat_template_kwargs or {}
        prompt_ids = [encode_prompt(tokenizer, prompt, **template_arguments) for prompt in prompts]
        self._at = (step, self._at[1] + 1 if self._at[0] == step else 0)
        # TRL deals one batch out, a slice to each process.
        first = trainer.args.process_index * len(prompts)
        random = np.random.default_rng([self._seed, *self._at])
        uniforms = random.random((first + len(prompts), self._max_new_tokens))[first:]
        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model, in_eval_mode(model):
            options = {"ends": end_tokens(model, tokenizer), "temperature": self._temperature, "slots": self._slots}
            try:
                completion_ids = sample_each(model, prompt_ids, uniforms, **options)
            except FloatingPointError as error:
                raise UserError(f"step {step + 1}: {error}; if it has diverged, lower learning_rate") from error
        return {"prompt_ids": prompt_ids, "completion_ids": completion_ids, "logprobs": None}
