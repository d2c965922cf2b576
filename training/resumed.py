"""What a run that goes on needs beside what transformers does, and what it cannot know."""

from pathlib import Path
from typing import Any

from sozo.data.errors import UserError

# Of steps that another process trained nothing is kept but what is in the checkpoint.
_OF_ALL_STEPS = (
    "train_loss",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
)


def go_on(trainer: Any, checkpoint: Path) -> None:
    """Prepare a trainer to go on from a checkpoint, and to log nothing of a part of the steps as all steps'."""
    _load_as_saved(trainer, checkpoint)
    run_epoch, log = trainer._run_epoch, trainer.log

    def epoch(**arguments: Any) -> None:
        # transformers looks at this behind a step only, and would train another one.
        if trainer.state.global_step < trainer.state.max_steps:
            run_epoch(**arguments)

    def known(logs: dict[str, Any], *args: Any) -> None:
        for name in _OF_ALL_STEPS:
            logs.pop(name, None)
        counted = trainer._metrics["train"]
        # SFT's and DPO's own count; that of GRPO is in the checkpoint.
        if counted.get("num_tokens") == [trainer._total_train_tokens]:
            del counted["num_tokens"]
        log(logs, *args)

    trainer._run_epoch, trainer.log = epoch, known


def _load_as_saved(trainer: Any, checkpoint: Path) -> None:
    """Let the trainer load a checkpoint's weights as its model saved them, where transformers only warns.

    A model of experts is trained under other names than it is saved by. transformers' trainer leaves out what does not
    fit by name, so that these weights would begin anew.
    """

    def check(found: Any) -> None:
        model = trainer.model
        if not (
            found.unexpected_keys
            or set(found.missing_keys) - model.all_tied_weights_keys.keys()
        ):
            return
        saved, report = type(model).from_pretrained(
            checkpoint, dtype=model.dtype, output_loading_info=True
        )
        if (
            report["missing_keys"]
            or report["unexpected_keys"]
            or report["mismatched_keys"]
        ):
            raise UserError(
                f"{checkpoint}: its weights do not fit the model; launch as before, or give another output folder"
            )
        model.load_state_dict(saved.state_dict())

    trainer._issue_warnings_after_load = check
