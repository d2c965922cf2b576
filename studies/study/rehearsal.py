"""A study's rehearsal: its own launchers, files and steps in minutes, in a folder of its own, and nothing of it a result."""

import shutil
from dataclasses import replace
from pathlib import Path

from sozo.data.checkpoints import checkpoints
from sozo.studies.study.steps import Step

_MOST = {"num_answers": 1024, "top_k": 512, "num_pairs": 512}
# Two updates, and a checkpoint behind each, of which the first is read again.
_TRAINING = {
    "max_steps": 2,
    "save_strategy": "steps",
    "save_steps": 1,
    "lr_scheduler_type": "constant",
    "warmup_steps": 0,
}


def rehearsed(step: Step) -> Step:
    """The step at counts that take minutes; a training of two updates has a name of its own."""
    fewer = {
        key: min(step.flags[key], most)
        for key, most in _MOST.items()
        if key in step.flags
    }
    if "num_answers" in fewer:  # each process draws
        fewer["batch_size"] = _MOST["num_answers"] // step.processes
    if step.trains:
        fewer |= _TRAINING | {"run_name": f"rehearsal-{step.flags['run_name']}"}
    return replace(step, flags=step.flags | fewer)


def cut_off(folder: Path) -> None:
    """Leave of a training what a kill behind its first update would have left."""
    (folder / "metrics.json").unlink(missing_ok=True)
    for checkpoint in checkpoints(folder)[:-1]:
        shutil.rmtree(checkpoint)
