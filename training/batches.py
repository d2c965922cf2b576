"""Batch arithmetic: what one optimizer step holds over all processes; what would not fit is refused.

`training` is TRL's settings, or all settings by name, before TRL completes them; `processes` may be told, as by a plan.
"""

import math
from typing import Any

from sozo.data.errors import UserError


def fit_batch(training: Any, per_step: str, processes: int) -> None:
    """Set gradient_accumulation_steps and the field `per_step` by each other (None: not given)."""
    requested = training.gradient_accumulation_steps
    accumulated = 1 if requested is None else requested
    per_device = training.per_device_train_batch_size
    for name, value in (
        ("per_device_train_batch_size", per_device),
        ("gradient_accumulation_steps", accumulated),
    ):
        if value < 1:
            raise UserError(f"{name} must be at least 1, not {value}")
    if training.save_strategy == "best":
        raise UserError(
            "save_strategy best needs an evaluation of transformers', which sozo does not make; take steps"
        )
    if training.save_total_limit == 1:
        raise UserError(
            "save_total_limit 1 can leave no whole checkpoint after a kill; use 2 or more"
        )
    wanted = getattr(training, per_step)
    if wanted is not None:
        accumulated = accumulation_steps(per_step, wanted, per_device, processes)
        if requested not in (None, accumulated):
            raise UserError(
                f"gradient_accumulation_steps {requested} is not what {per_step} {wanted} needs "
                f"on {processes} process(es), {accumulated}; leave one of the two out"
            )
    training.gradient_accumulation_steps = accumulated
    setattr(training, per_step, per_device * processes * accumulated)


def accumulation_steps(name: str, wanted: int, per_device: int, processes: int) -> int:
    """gradient_accumulation_steps for `wanted` items per optimizer step, the value of the setting `name`.

    >>> accumulation_steps("completions_per_step", 256, 8, 8)
    4
    """
    at_once = per_device * processes
    if wanted < 1 or wanted % at_once:
        raise UserError(
            f"{name} {wanted} is not a multiple of per_device_train_batch_size {per_device} x "
            f"{processes} process(es) = {at_once}; change one of the two"
        )
    return wanted // at_once


def check_groups(
    per_device: int, processes: int, steps: int, num_generations: int
) -> None:
    """Do the completions of one generation make whole groups of `num_generations`?"""
    if num_generations < 2:
        raise UserError(
            f"num_generations must be at least 2 (a group to compare within), not {num_generations}"
        )
    batch = per_device * processes * steps
    if batch % num_generations:
        raise UserError(
            f"per_device_train_batch_size {per_device} x {processes} process(es) x {steps} accumulation step(s) = "
            f"{batch} completions, not a multiple of num_generations {num_generations}; change completions_per_step "
            "or num_generations"
        )


def fit_generation(training: Any, processes: int) -> None:
    """Set what TRL would: the completions of one generation of GRPO, which make whole groups, and their micro-batches."""
    given = training.steps_per_generation
    if given is not None and given < 1:
        raise UserError(f"steps_per_generation must be at least 1, not {given}")
    if training.generation_batch_size is None:
        training.steps_per_generation = given or training.gradient_accumulation_steps
        per_device = training.per_device_train_batch_size
        check_groups(
            per_device,
            processes,
            training.steps_per_generation,
            training.num_generations,
        )


def steps_of_generation(training: Any) -> int:
    """Optimizer steps from one generation of GRPO that begins with a step to the next; 1 of SFT and DPO."""
    # Micro-batches until TRL generates again.
    lasts = getattr(training, "steps_per_generation", 1) * getattr(
        training, "num_iterations", 1
    )
    return lasts // math.gcd(lasts, training.gradient_accumulation_steps)


def check_saves(training: Any) -> None:
    """Does each checkpoint of GRPO stand where a generation ends? TRL generates anew when it resumes."""
    unit = steps_of_generation(training)
    save_steps = training.save_steps
    if (
        training.save_strategy != "steps"
        or (save_steps >= 1 and save_steps % unit == 0)
        or unit == 1
    ):
        return
    raise UserError(
        f"save_steps {save_steps:g} cuts a generation, which is trained on for {unit} optimizer steps, so that a run "
        f"would not resume as it was; give a multiple of {unit}"
    )


def check_prompts(
    num_prompts: int, num_generations: int, batch: int, max_steps: int = -1
) -> None:
    """Does an epoch of GRPO fill its last generation batch? TRL drops what does not; with `max_steps` one must be full."""
    completions = num_prompts * num_generations
    if completions < batch or (max_steps <= 0 and completions % batch):
        raise UserError(
            f"num_prompts {num_prompts} x num_generations {num_generations} = {completions} completions do not fill "
            f"batches of {batch}; change num_prompts"
        )


def whole_steps(name: str, count: int, training: Any) -> int:
    """Of which number an epoch's examples are a multiple; refuses a `count` of them, the setting `name`, that fills no step."""
    batch = training.examples_per_step
    if count < batch:
        raise UserError(
            f"{name} {count} does not fill a step of {batch} (examples_per_step); change {name}"
        )
    # A last batch that is not full would weigh its examples more than the others (and on several processes repeat some).
    return 1 if training.max_steps > 0 else batch
