"""What a run that goes on needs beside what transformers does, and what it cannot know."""

from pathlib import Path
from typing import Any

from sozo.data.whole_models import whole_models


def go_on(trainer: Any, checkpoint: Path) -> None:
    """Prepare a trainer to go on from a checkpoint, and to log nothing of a part of the steps as all steps'."""
    run_epoch, log = trainer._run_epoch, trainer.log

    def epoch(**arguments: Any) -> None:
        # transformers looks at this behind a step only, and would train another one.
        if trainer.state.global_step < trainer.state.max_steps:
            run_epoch(**arguments)

    def known(logs: dict[str, Any], *args: Any) -> None:
        # Of steps that another process trained nothing is kept but what is in the checkpoint.
        for name in ("loss", "runtime", "samples_per_second", "steps_per_second"):
            logs.pop(f"train_{name}", None)
        counted = trainer._metrics["train"]
        # SFT's and DPO's own count; that of GRPO is in the checkpoint.
        if counted.get("num_tokens") == [trainer._total_train_tokens]:
            del counted["num_tokens"]
        log(logs, *args)

    def load_as_saved(found: Any) -> None:
        # A model of experts is trained under other names than it is saved by. transformers leaves out what does not
        # fit by name, and only warns, so that these weights would begin anew.
        model = trainer.model
        lost = set(found.missing_keys) - model.all_tied_weights_keys.keys()
        if lost or found.unexpected_keys:
            with whole_models():
                saved = type(model).from_pretrained(checkpoint, dtype=model.dtype)
            model.load_state_dict(saved.state_dict())

    trainer._run_epoch, trainer.log = epoch, known
    trainer._issue_warnings_after_load = load_as_saved
