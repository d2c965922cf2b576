r"""Let a model answer DAT, or another task; score the answers, and print their row.

One process, and one node of eight GPUs (every process draws its share; the table is the same):

    python recipes/sample_dat.py --model tiny --num_answers 2048 --output_dir runs/tiny/base
    accelerate launch --config_file recipes/accelerate/ddp.yaml recipes/sample_dat.py \
        --model Qwen/Qwen2.5-7B-Instruct --num_answers 131072 --output_dir runs/qwen2.5-7b/base
    python recipes/sample_dat.py --task sipen --model tiny --output_dir runs/tiny/sipen

It is `sozo run` for one model and one task, with a recipe's flags, which can also stand in a YAML file (`--config FILE.yaml`).
Several machines need an `--output_dir` that all of them see.
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
    with one_line_errors("sample_dat"):
        main()
