"""Let a model answer a task: a study's step for each of its `control_tasks` (docs/study.md).

    python recipes/measure.py --task sipen --model tiny --output_dir runs/tiny/sipen

It is `sozo TASK` with a recipe's flags and the task's own settings.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.settings import setting


@dataclass(frozen=True)
class Arguments:
    """What is asked, and where the results go."""

    task: str = setting("", "Name of a task.")
    output_dir: str = setting("", "Folder of this run: config.json, metrics.json and responses/part-*.parquet.")


def main() -> None:
    """Parse, let it answer, print."""
    from sozo.eval.draw import SamplingOptions
    from sozo.eval.run import run_task
    from sozo.eval.terminal import print_run
    from sozo.models.settings import GeneratorSettings
    from sozo.tasks import task_type
    from sozo.training.config import read_settings

    arguments, generator, sampling = read_settings((Arguments, GeneratorSettings, SamplingOptions), sys.argv[1:])
    if not (arguments.task and arguments.output_dir and generator.model):
        raise UserError("give --task, --model and --output_dir")
    run = run_task(task_type(arguments.task)(), generator, sampling, Path(arguments.output_dir))
    if run is not None:  # of several processes the first one prints
        print_run(run)


if __name__ == "__main__":
    with one_line_errors("measure"):
        main()
