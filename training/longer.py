"""A training that goes on for longer than it was begun for, where its steps are those of a run that long from the start."""

from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import read_json
from sozo.training.batches import steps_of_generation

# Schedules by which the learning rate of a step is the same however many follow.
_OPEN = ("constant", "constant_with_warmup", "inverse_sqrt")


def steps_of(folder: Path) -> tuple[int, int]:
    """How many optimizer steps a checkpoint, or a finished run, has behind it, and how many it was to have."""
    state = read_json(folder / "trainer_state.json", nan=True)
    return state["global_step"], state["max_steps"]


def lengthened(output: Path, training: Any, checkpoint: Path | None) -> str | None:
    """What is said where `max_steps` are more than those of the run that left a checkpoint; None where they are not.

    UserError where they are fewer, where the steps would be others than those of a run that long from the start, and
    where a finished run has no checkpoint any more.
    """
    wanted = training.max_steps
    total = 0
    why: str | None = "it has no checkpoint left to go on from"
    if checkpoint:
        done, total = steps_of(checkpoint)
        if wanted <= 0 or wanted == total:
            return None
        if wanted < total:
            raise UserError(
                f"{output}: holds a run of {total} steps, but now max_steps is {wanted}; give {total} or more, or "
                "another output folder"
            )
        why = _other_steps(training, done, total)
    if why:
        raise UserError(
            f"{output}: cannot be lengthened: {why}; train on from the model that it left, in another folder: "
            f"--model_name_or_path {output} --output_dir ..."
        )
    return (
        f"max_steps {wanted} after {total}, with the learning rates of a run that long"
    )


def _other_steps(training: Any, done: int, total: int) -> str | None:
    """Why the steps that are done are not those of a run of more than `total`, or those to come would not be."""
    kind = training.lr_scheduler_type.value
    options = training.lr_scheduler_kwargs or {}
    if 0 < training.warmup_steps < 1:
        return f"warmup_steps {training.warmup_steps:g} is a share of all steps"
    if done % steps_of_generation(training):
        return f"its last step, {done}, stands within a generation, which would be drawn anew"
    if kind == "warmup_stable_decay":
        falls = total - options.get("num_decay_steps", 0)
        if done <= falls or "num_stable_steps" in options:
            return None
        return (
            f"its learning rate came down from step {falls} on (a checkpoint up to there can go on: "
            "resume_from_checkpoint)"
        )
    if kind in _OPEN:
        return None
    return (
        f"lr_scheduler_type {kind} lays the learning rate out over all {total} steps, so that the {done} that are done "
        f"are those of a shorter run ({', '.join(_OPEN)} can be lengthened)"
    )
