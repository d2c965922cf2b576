"""A study's rehearsal: its own launchers, files and steps in minutes, in a folder of its own, and nothing of it a result."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from sozo.data.checkpoints import checkpoints
from sozo.data.settings import read_yaml
from sozo.studies.study.config import Study
from sozo.studies.study.steps import Step

_MOST = dict.fromkeys(("num_answers", "num_training_answers"), 1024)
_MOST |= dict.fromkeys(("top_k", "num_pairs"), 512)
_BESIDE = 16  # of each folder: room for those within 512
# Two updates, and a checkpoint behind each, of which the first is read again.
_TRAINING = {
    "max_steps": "2",
    "save_strategy": "steps",
    "save_steps": "1",
    "lr_scheduler_type": "constant",
    "warmup_steps": "0",
}


def rehearsal(study: Study, processes: int | None) -> Study:
    """The study at counts that take minutes; each of `processes` (None: the YAML's launcher's) draws answers."""
    if processes is None:
        processes = read_yaml(study.path(study.sampling["launcher"]))["num_processes"]
    batch = _MOST["num_answers"] // processes
    arms = study.arms and {name: _fewer(arm or {}) for name, arm in study.arms.items()}
    return replace(
        study,
        **_fewer({key: getattr(study, key) for key in _MOST}),
        output_dir=f"{study.output_dir}-rehearsal",
        sampling=study.sampling | {"batch_size": batch},
        arms=arms,
    )


def rehearsed(step: Step) -> Step:
    """A training of two updates under a name of its own; other steps are as they are."""
    if not step.trains:
        return step
    flags = _TRAINING | {"run_name": f"rehearsal-{step.flags['run_name']}"}
    return replace(step, flags=step.flags | flags)


def cut_off(folder: Path) -> None:
    """Leave of a training what a kill behind its first update would have left."""
    (folder / "metrics.json").unlink(missing_ok=True)
    for checkpoint in checkpoints(folder)[:-1]:
        shutil.rmtree(checkpoint)


def _fewer(counts: dict[str, Any]) -> dict[str, Any]:
    fewer = {
        key: min(value, _MOST[key]) if key in _MOST else value
        for key, value in counts.items()
    }
    if beside := fewer.get("beside"):
        fewer["beside"] = {
            folder: min(count, _BESIDE) for folder, count in beside.items()
        }
    return fewer
