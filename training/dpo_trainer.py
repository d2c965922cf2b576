"""TRL's DPO trainer, whose reference log-probabilities compute each prompt once too."""

from typing import Any

from trl import DPOTrainer

from sozo.training.shared_prompt import share_prompt


class SharedReferenceTrainer(DPOTrainer):  # type: ignore[misc]
    """TRL computes them before training, inside its constructor: too early for whoever holds the trainer."""

    def _precompute_ref_logps(self, *args: Any) -> Any:
        share_prompt(self.accelerator.unwrap_model(self.ref_model or self.model), say=False)
        return super()._precompute_ref_logps(*args)


def reference_trainer(shared: bool) -> type[DPOTrainer]:
    """The trainer that shares prompts in the reference's pass as in the loss, or TRL's own.

    >>> reference_trainer(False).__name__
    'DPOTrainer'
    """
    return SharedReferenceTrainer if shared else DPOTrainer
