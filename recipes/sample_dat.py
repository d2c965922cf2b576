r"""Draw DAT responses from a model, score them, and print the row of the paper's Table 11.

One process, and one node of eight GPUs (every process draws its share; the table is the same):

    python recipes/sample_dat.py --model tiny --num_responses 2048 --output_dir runs/tiny/base
    accelerate launch --config_file recipes/accelerate/ddp.yaml recipes/sample_dat.py \
        --model Qwen/Qwen2.5-7B-Instruct --num_responses 131072 --output_dir runs/qwen2.5-7b/base

`--model` is a folder (a LoRA adapter's too), a hub id, `tiny` for the embedded model or `random` for random nouns; with
`--base_url` it is a model's name on an OpenAI-compatible server. It is `python -m eval dat` with a recipe's flags: the
same settings can stand in a YAML file (`--config FILE.yaml`, flags go over it), killed and launched again it continues,
and finished it only prints. Several machines need an `--output_dir` that all of them see.
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from data.errors import UserError
from data.settings import setting
from eval.options import SamplingOptions, ScoringOptions
from generate import GeneratorSettings


@dataclass(frozen=True)
class Arguments:
    """Where the results go."""

    output_dir: str = setting("", "Folder of this run: config.json, metrics.json and responses/part-*.parquet.")


def parse(argv: list[str]) -> tuple[Any, ...]:
    """The settings in `--config FILE.yaml` and the flags over them; unknown ones are errors."""
    from trl import TrlParser

    class Parser(TrlParser):
        def error(self, message: str) -> NoReturn:
            raise ValueError(f"{message}; --help lists the settings")

    parser = Parser((Arguments, GeneratorSettings, SamplingOptions, ScoringOptions), allow_abbrev=False)
    words = [part for word in argv for part in (word.split("=", 1) if word.startswith("--config=") else [word])]
    return parser.parse_args_and_config(words)


def main() -> int:
    """Parse, draw, print. Errors a user can mend end in one line and exit status 2."""
    import yaml
    from eval.commands import sample_dat

    from eval.show import print_run

    rank = int(os.environ.get("RANK", "0"))
    try:
        arguments, generator, sampling, scoring = parse(sys.argv[1:])
        if not arguments.output_dir or not generator.model:
            raise ValueError("give --model and --output_dir")
        run = sample_dat(generator, sampling, Path(arguments.output_dir), scoring.scorer())
    except (UserError, ImportError, OSError, ValueError, yaml.YAMLError) as error:
        if rank:
            time.sleep(5)  # the launcher ends this process as soon as the first one, which prints, has failed too
        print(f"sample_dat: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        return 2
    if run is not None:
        print_run(run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
