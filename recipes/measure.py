"""Let a model answer a task: a step of a study with `control_tasks` (docs/study.md).

    python recipes/measure.py --task sipen --model tiny --output_dir runs/tiny/sipen

It is `sozo TASK` with a recipe's flags.
"""

from dataclasses import dataclass

from launch import answer
from sozo.data.errors import UserError, one_line_errors
from sozo.data.settings import setting
from sozo.tasks import task_type
from sozo.tasks.task import Task


@dataclass(frozen=True)
class Arguments:
    """What is asked."""

    task: str = setting("", "Name of a task.")


def named(arguments: Arguments) -> Task:
    """The task of this name."""
    if not arguments.task:
        raise UserError("give a --task, a name")
    return task_type(arguments.task)()


if __name__ == "__main__":
    with one_line_errors("measure"):
        answer(Arguments, named)
