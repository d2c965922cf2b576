r"""Draw DAT responses from a model, score them, and print the row of the paper's Table 11.

One process, and one node of eight GPUs (every process draws its share; the table is the same):

    python recipes/sample_dat.py --model tiny --num_responses 2048 --output_dir runs/tiny/base
    accelerate launch --config_file recipes/accelerate/ddp.yaml recipes/sample_dat.py \
        --model Qwen/Qwen2.5-7B-Instruct --num_responses 131072 --output_dir runs/qwen2.5-7b/base

It is `sozo dat` with a recipe's flags, which can also stand in a YAML file (`--config FILE.yaml`).
Several machines need an `--output_dir` that all of them see.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.settings import setting


@dataclass(frozen=True)
class Arguments:
    """Where the results go."""

    output_dir: str = setting("", "Folder of this run: config.json, metrics.json and responses/part-*.parquet.")


def main() -> None:
    """Parse, draw, print."""
    from sozo.eval.draw import SamplingOptions
    from sozo.eval.run import run_task
    from sozo.eval.terminal import print_run
    from sozo.models.settings import GeneratorSettings
    from sozo.tasks.dat.scorer import DatSettings
    from sozo.tasks.dat.task import Dat
    from sozo.training.config import read_settings

    groups = (Arguments, GeneratorSettings, SamplingOptions, DatSettings)
    arguments, generator, sampling, scoring = read_settings(groups, sys.argv[1:])
    if not arguments.output_dir or not generator.model:
        raise UserError("give --model and --output_dir")
    run = run_task(Dat(scoring), generator, sampling, Path(arguments.output_dir))
    if run is not None:  # of several processes the first one prints
        print_run(run)


if __name__ == "__main__":
    with one_line_errors("sample_dat"):
        main()
