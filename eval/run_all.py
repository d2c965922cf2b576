"""Several models through several tasks: each pair is a run's folder of its own, OUTPUT/MODEL/TASK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from data.errors import UserError
from eval.models_to_run import Target, Targets, write_studies
from eval.options import SamplingOptions
from eval.run import TaskRun, run_task
from generate.judges import make_judge
from generate.load import GeneratorSettings
from rewards.task import Task
from rewards.tasks import task_type


def make_tasks(names: Sequence[str], settings: Mapping[str, Any]) -> list[Task]:
    """The tasks of these names, each with its settings and its judge, if it has one."""
    tasks = [task_type(name)(settings.get(name)) for name in dict.fromkeys(names)]
    for task in tasks:
        if (judge_settings := task.judge_settings) is not None:
            task.judge = make_judge(judge_settings)
    return tasks


def run_all(
    targets: Targets, tasks: Sequence[Task], output: Path, *, generator: GeneratorSettings, sampling: SamplingOptions
) -> Iterator[tuple[Target, TaskRun]]:
    """Run them one after the other, and give each model's run; what was finished is not computed again.

    What can be wrong with a model's name is found before the first one is loaded.

    Args:
        targets: The models (`eval.models_to_run`).
        tasks: Made once for all models: what they load is loaded once, and a budget is for all together.
        output: OUTPUT/MODEL/TASK is a run's folder, as the task's own command makes it.
        generator: How they write; `model` and `source` are set here.
        sampling: How many answers, and the seed.
    """
    if not targets.models:
        raise UserError("give at least one --model")
    for target in targets.models:
        replace(generator, model=target.model).settled()
    write_studies(output, targets.studies)
    for target in targets.models:
        settings = replace(generator, model=target.model, source=target.source)
        for task in tasks:
            result = run_task(task, settings, sampling, output / target.folder / task.name)
            if result is not None:  # of several processes the first one has the numbers
                yield target, result
