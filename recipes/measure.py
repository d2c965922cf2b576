"""Let a model answer a task, or several: steps of a study with `control_tasks` or `transfer` (docs/study.md).

    python recipes/measure.py --task sipen --model tiny --output_dir runs/tiny/sipen
    python recipes/measure.py --tasks '{"dat": {}, "kanji": {"num_items": 64}}' --model tiny --output_dir runs/tiny/both

It is `sozo TASK` with a recipe's flags; the model is loaded once.
"""

from dataclasses import dataclass

from launch import answer
from sozo.data.errors import UserError, one_line_errors
from sozo.data.settings import from_json, setting, settings_of
from sozo.tasks import task_type
from sozo.tasks.task import Task


@dataclass(frozen=True)
class Arguments:
    """What is asked."""

    task: str = setting("", "Name of a task.")
    tasks: str | None = setting(None, "Or several: names with their settings (JSON), each answered into its folder.")


def tasks(arguments: Arguments) -> dict[str, Task]:
    """The tasks by their folders."""
    if bool(arguments.task) == bool(arguments.tasks):
        raise UserError("give either --task, a name, or --tasks, a mapping of names to settings")
    if arguments.task:
        return {"": task_type(arguments.task)()}
    named = from_json(arguments.tasks, "tasks")
    return {name: task_type(name)(settings_of(task_type(name).Settings, named[name])) for name in named}


if __name__ == "__main__":
    with one_line_errors("measure"):
        answer(Arguments, tasks)
