"""The core's tasks, in one list; suite and packages add to it (`sozo.data.joined`), and SOZO_TASKS=my_package.MyTask."""

if __name__ != "sozo.tasks":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.tasks"
    )

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.joined import TASKS as PACKAGES
from sozo.data.joined import joined, left_out
from sozo.data.record import read_json
from sozo.data.run_folder import refuse_earlier
from sozo.data.settings import load_dotted
from sozo.scoring.judges.protocol import Rubric
from sozo.tasks.dat.task import (
    Dat as Dat,  # named by whatever is about lists of nouns alone
)
from sozo.tasks.jcq.task import Jcq
from sozo.tasks.run_result import RunResult
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Item, Task

TASKS: tuple[type[Task], ...] = (Dat, Jcq, Sat)


def task_types() -> dict[str, type[Task]]:
    """Every task by its name: the list above, those of other packages, and the dotted paths in SOZO_TASKS.

    Paths are separated by commas. What cannot be a task is told, and left out. UserError for a name that is taken.
    """
    types = {task.name: task for task in TASKS}
    brought = [(name, *one) for name, one in joined(PACKAGES).items()]
    for path in filter(None, os.environ.get("SOZO_TASKS", "").split(",")):
        task = load_dotted(path.strip(), "the task of SOZO_TASKS")
        brought.append((path, "SOZO_TASKS", task))
    for name, source, task in brought:
        if why := _unfit(task):
            left_out(PACKAGES, name, f"{source} names {quoted(task)}, {why}")
        elif types.setdefault(task.name, task) is not task:
            raise UserError(
                f"{source} brings a task {task.name}, which sozo has; uninstall or rename it"
            )
    return types


def _unfit(task: Any) -> str | None:
    """Why this cannot be a task, wherever it comes from; None if it can."""
    if not (isinstance(task, type) and issubclass(task, Task)):
        return "which is no subclass of sozo.tasks.task.Task"
    if isinstance(getattr(task, "name", None), str) and getattr(task, "measures", None):
        return None
    return "which has no name or no measures"


def task_type(name: str) -> type[Task]:
    """The task of this name."""
    types = task_types()
    if name not in types:
        raise UserError(
            f"there is no task {name}; there are {', '.join(types)} (and those that SOZO_TASKS names)"
        )
    return types[name]


def find_rubric(name: str) -> Rubric:
    """The rubric of this name, whichever task's it is."""
    rubrics = {
        rubric.name: rubric for task in task_types().values() for rubric in task.rubrics
    }
    if name not in rubrics:
        raise UserError(f"there is no rubric {name}; there are {', '.join(rubrics)}")
    return rubrics[name]


def finished_run(folder: Path) -> RunResult | None:
    """The finished run in a folder; None of a model's, of bare parts, or of a run that is under way.

    UserError for a run of a task that is not installed, and for one of an earlier sozo.
    """
    if not ((folder / "config.json").is_file() and (folder / "metrics.json").is_file()):
        return None
    config = read_json(folder / "config.json")
    settings = config["settings"] if isinstance(config.get("settings"), dict) else {}
    if not isinstance(name := settings.get("task"), str):
        return None
    if (task := task_types().get(name)) is None:
        if not (folder / "answers").is_dir():  # a page's folder
            return None
        install = "install the package that brings it, name its class in SOZO_TASKS, or leave the folder out"
        raise UserError(
            f"{folder}: is a run of the task {quoted(name)}, which is not installed; {install}"
        )
    refuse_earlier(folder / "config.json", config)
    return task.read(folder, read_json(folder / "metrics.json"))


def read_run(path: Path) -> RunResult:
    """A finished run, or bare parts of a table, which are of the first task of the list."""
    run = finished_run(path)
    task = TASKS[0]
    return run or task.result_type(task.name, task.measures[0], path, {}, {}, {})


def refuse_training(items: Iterable[Item]) -> None:
    """Refuse what a model must never be trained on: any task's benchmark, wherever the items come from."""
    items = tuple(items)
    for task in task_types().values():
        task.refuse_training(items)
