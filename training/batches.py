"""Batch arithmetic: what one optimizer step holds over all processes; what would not fit is refused.

`training` is TRL's settings, or all settings by name, before TRL completes them.
"""

import logging
import math
from typing import Any

from sozo.data.errors import UserError
from sozo.data.processes import is_first

logger = logging.getLogger(__name__)


def fit_batch(training: Any, processes: int) -> None:
    """Set what one optimizer step takes over all `processes`, and in how many micro-batches.

    Those of SFT and DPO, whose losses do not depend on them, are at most as large as given: as large as divides a step.
    """
    most = training.per_device_train_batch_size
    of_grpo = hasattr(training, "completions_per_step")
    name = "completions_per_step" if of_grpo else "examples_per_step"
    wanted = getattr(training, name, None) or most * processes
    fits = [n for n in range(1, most + 1) if wanted % (n * processes) == 0]
    if fits and not of_grpo and fits[-1] < most:
        training.per_device_train_batch_size = fits[-1]
        if is_first():
            logger.warning(
                "per_device_train_batch_size is %d, not %d: %d examples on %d process(es)",
                *(fits[-1], most, wanted, processes),
            )
    at_once = training.per_device_train_batch_size * processes
    if wanted % at_once:
        raise UserError(
            f"{name} {wanted} is not a multiple of per_device_train_batch_size "
            f"{training.per_device_train_batch_size} x {processes} process(es) = {at_once}; change one of the two"
        )
    setattr(training, name, wanted)
    training.gradient_accumulation_steps = wanted // at_once
    if of_grpo:
        _fit_generation(training, at_once)


def _fit_generation(training: Any, at_once: int) -> None:
    """Set what TRL would: the micro-batches of one generation of GRPO, which is of whole groups."""
    if training.steps_per_generation is None:
        training.steps_per_generation = training.gradient_accumulation_steps
    batch = at_once * training.steps_per_generation
    if batch % training.num_generations:
        raise UserError(
            f"a generation of {batch} completions is not a multiple of num_generations {training.num_generations}; "
            "change completions_per_step or num_generations"
        )
    unit = steps_of_generation(training)
    # TRL generates anew when it resumes.
    cut = unit > 1 and training.save_steps % unit
    if cut and training.save_strategy == "steps":
        raise UserError(
            f"save_steps {training.save_steps:g} cuts a generation, which is trained on for {unit} optimizer steps, so "
            f"that a run would not resume as it was; give a multiple of {unit}"
        )


def steps_of_generation(training: Any) -> int:
    """Optimizer steps from one generation of GRPO that begins with a step to the next; 1 of SFT and DPO."""
    # Micro-batches until TRL generates again.
    lasts = getattr(training, "steps_per_generation", 1) * getattr(
        training, "num_iterations", 1
    )
    return lasts // math.gcd(lasts, training.gradient_accumulation_steps)


def completions(prompts: int, training: Any) -> int:
    """Those of an epoch of GRPO, each as often as it is trained on; refuses what leaves a generation unfilled."""
    count = prompts * training.num_generations
    at_once = training.completions_per_step // training.gradient_accumulation_steps
    batch = at_once * training.steps_per_generation
    # TRL drops what fills none; with max_steps one must be full.
    if count < batch or (training.max_steps <= 0 and count % batch):
        raise UserError(
            f"num_prompts {prompts} x num_generations {training.num_generations} = {count} completions do not fill "
            f"batches of {batch}; change num_prompts"
        )
    return count * training.num_iterations
