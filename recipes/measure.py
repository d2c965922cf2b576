"""Let a model answer a task: a study's step for each of its `control_tasks` (docs/study.md).

    python recipes/measure.py --task sipen --model tiny --output_dir runs/tiny/sipen

It is `sozo TASK` with a recipe's flags and the task's own settings.
"""

from dataclasses import dataclass

from launch import answer
from sozo.data.errors import one_line_errors
from sozo.data.settings import setting
from sozo.tasks import task_type


@dataclass(frozen=True)
class Arguments:
    """What is asked."""

    task: str = setting("", "Name of a task.")


if __name__ == "__main__":
    with one_line_errors("measure"):
        answer(Arguments, lambda arguments: task_type(arguments.task)(), "task")
