"""A training that goes on for longer than it was begun for, where its steps are those of a run that long from the start."""

from pathlib import Path
from typing import Any

from sozo.data.checkpoints import last_checkpoint
from sozo.data.errors import UserError
from sozo.data.record import read_json, write_json
from sozo.training.batches import steps_of_generation

LENGTHS = ("max_steps", "num_train_epochs")
# Schedules by which the learning rate of a step is the same however many follow.
_OPEN = {"constant", "constant_with_warmup", "inverse_sqrt"}
_STABLE = "warmup_stable_decay"


def steps_of(folder: Path) -> tuple[int, int]:
    """How many optimizer steps a checkpoint has behind it, and how many its run was to have."""
    state = read_json(folder / "trainer_state.json", nan=True)
    return state["global_step"], state["max_steps"]


def more_steps(output: Path, training: Any) -> str | None:
    """What is longer than it was in the folder, for people; None where a run begins or is as long as before.

    UserError where it would be shorter.
    """
    config = output / "run_config.json"
    if not config.is_file():
        return None
    before = _recorded(read_json(config))
    now = {name: getattr(training, name) for name in LENGTHS}
    name = "max_steps" if now["max_steps"] > 0 else "num_train_epochs"
    old, new = before[name], now[name]
    if name == "max_steps" and old <= 0:  # it was to end with an epoch
        old = _total(output) or 0
    fits = name == "max_steps" or before["max_steps"] <= 0
    if old == new and fits:
        return None
    if old < new and fits:
        return f"{name} {new:g}" + f" after {old:g}" * (old > 0)
    was = next(name for name in LENGTHS if before[name] > 0)
    raise UserError(
        f"{output}: holds a run with {was} {before[was]:g}, but now {name} is {new:g}; a run can be lengthened only: "
        f"give {was} {before[was]:g} or more, or another output folder"
    )


def _total(output: Path) -> int | None:
    """How many steps a run was to have, by what it left; None where it left nothing."""
    places = filter(None, (output, last_checkpoint(output)))
    known = (place for place in places if (place / "trainer_state.json").is_file())
    return next((steps_of(place)[1] for place in known), None)


def _recorded(config: dict[str, Any]) -> dict[str, Any]:
    parts = [config[part]["training"] for part in ("settings", "free")]
    merged = {name: value for part in parts for name, value in part.items()}
    return {name: merged[name] for name in LENGTHS}


def record_length(output: Path, training: Any) -> None:
    """Write down how long the run is now to be."""
    config = read_json(output / "run_config.json")
    lengths = {name: getattr(training, name) for name in LENGTHS}
    for name in LENGTHS:  # an earlier version compared them
        config["settings"]["training"].pop(name, None)
    config["free"]["training"] |= lengths
    write_json(output / "run_config.json", config)


def refuse_other_steps(
    output: Path, training: Any, checkpoint: Path | None, *, finished: bool
) -> None:
    """Refuse to lengthen a run whose steps up to a checkpoint are not those of a longer run, or that has none left."""
    why = (
        _other_steps(training, checkpoint)
        if checkpoint
        else "it has no checkpoint left to go on from"
    )
    if why and (checkpoint or finished):
        raise UserError(
            f"{output}: cannot be lengthened: {why}; train on from the model that it left, in another folder: "
            f"--model_name_or_path {output} --output_dir ..."
        )


def _other_steps(training: Any, checkpoint: Path) -> str | None:
    """Why the steps up to a checkpoint are not those of a longer run, or those behind it would not be."""
    done, total = steps_of(checkpoint)
    own = training.lr_scheduler_kwargs or {}
    kind = str(getattr(training.lr_scheduler_type, "value", training.lr_scheduler_type))
    if 0 < training.warmup_steps < 1:
        return f"warmup_steps {training.warmup_steps:g} is a share of all steps"
    if lasts := done % steps_of_generation(training):
        return f"its last step, {done}, is {lasts} behind the beginning of a generation, which would be drawn anew"
    if kind == _STABLE and "num_stable_steps" not in own:
        falls = total - int(own["num_decay_steps"])
        if done > falls:
            return (
                f"its learning rate came down from step {falls} on (a checkpoint up to there can go on: "
                "resume_from_checkpoint)"
            )
    elif kind != _STABLE and kind not in _OPEN:
        return (
            f"lr_scheduler_type {kind} lays the learning rate out over all {total} steps, so that the {done} that are "
            f"done were those of a shorter run ({', '.join(sorted(_OPEN))} can be lengthened)"
        )
    return None
