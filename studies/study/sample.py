"""A study's step that samples: a model answers DAT or another task, with a step's flags, into one run's folder.

    accelerate launch --config_file FILE.yaml -m sozo.studies.study.sample --model tiny --num_answers 64 --output_dir DIR

A user has `sozo dat` and `sozo run --tasks TASK` for it.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.processes import end_with_launcher
from sozo.data.settings import setting


@dataclass(frozen=True)
class Sampled:
    """What is asked, and where the answers go."""

    task: str = setting("dat", "Name of a task; its settings are flags too.")
    output_dir: str = setting(
        "",
        "Folder of this run: config.json, metrics.json and answers/part-*.parquet.",
    )


def main() -> None:
    """Draw, score, print."""
    end_with_launcher()
    from sozo.eval.draw import SamplingOptions
    from sozo.eval.run import run_task
    from sozo.eval.terminal import print_run
    from sozo.models.settings import GeneratorSettings
    from sozo.tasks import task_type
    from sozo.training.config import read_settings

    front = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    front.add_argument("--task", default="dat")
    kind = task_type(front.parse_known_args()[0].task)
    groups = (Sampled, GeneratorSettings, SamplingOptions, kind.Settings)
    sampled, generator, sampling, settings = read_settings(groups, sys.argv[1:])
    if not (sampled.output_dir and generator.model):
        raise UserError("give --model and --output_dir")
    run = run_task(kind(settings), generator, sampling, Path(sampled.output_dir))
    if run is not None:  # of several processes the first one prints
        print_run(run)
        if run.stopped:
            raise SystemExit(3)


if __name__ == "__main__":
    with one_line_errors("error"):
        main()
