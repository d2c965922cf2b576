r"""A GRPO step with usable apart, credit per word and rarity, against one without.

    OMP_NUM_THREADS=1 python benchmarks/word_credit.py recipes/tiny/grpo.yaml --steps 14 --rounds 3

The same recipe, interleaved: as it is, and with all of them at once. Processor time of this process, so that other work
on the machine counts little; the first two steps of a run are left out.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from trl import GRPOTrainer

from sozo.training.config import parse
from sozo.training.grpo import GrpoArguments, GrpoSettings, train_grpo

NAMES = [f"sozo.rewards.make_dat_{name}" for name in ("usable", "distance", "rarity")]
WORDS = [
    "--multi_objective_aggregation",
    "normalize_then_sum",
    "--credit",
    "word",
]


class Timed(dict):
    """Processor seconds of each optimizer step by its number."""

    def watch(self) -> None:
        """From now on."""
        whole, seconds = GRPOTrainer.training_step, self

        def training_step(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            start, step = time.process_time(), trainer.state.global_step
            result = whole(trainer, *args, **kwargs)
            seconds[step] = seconds.get(step, 0.0) + time.process_time() - start
            return result

        GRPOTrainer.training_step = training_step


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    (task,) = yaml.safe_load(args.config.read_text("utf-8"))["tasks"]
    scorer = {key: value for key, value in task.items() if key not in ("task", "scale")}
    task = {key: value for key, value in task.items() if key != "scale"} | {
        "reward_weights": [1.0, 1.0, 0.3]
    }
    task |= {"reward_funcs": NAMES, "reward_args": dict.fromkeys(NAMES, scorer)}
    fixed = [
        "--config",
        str(args.config),
        "--max_steps",
        str(args.steps),
        "--report_to",
        "none",
    ]
    ways = {"paper": fixed, "words": [*fixed, *WORDS, "--tasks", json.dumps(task)]}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    (timed := Timed()).watch()
    for number in range(args.rounds):
        for way, words in ways.items():
            timed.clear()
            with tempfile.TemporaryDirectory() as folder:
                train_grpo(
                    *parse(
                        GrpoArguments, GrpoSettings, [*words, "--output_dir", folder]
                    )
                )
            seconds[way].append(statistics.median(list(timed.values())[2:]))
            print(
                f"{way}, round {number}: {1000 * seconds[way][-1]:.0f} ms a step",
                flush=True,
            )
    ratios = [
        words / paper
        for paper, words in zip(seconds["paper"], seconds["words"], strict=True)
    ]
    print(
        f"with words: {statistics.median(ratios):.3f} times the paper's step ({min(ratios):.3f}-{max(ratios):.3f})"
    )


if __name__ == "__main__":
    main()
