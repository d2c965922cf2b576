"""Share of a GRPO step that embedding answers takes, by `make_diverse_reward` with e5, in processor time.

    OMP_NUM_THREADS=1 python benchmarks/diverse_step.py runs/smollm2-135m/base --groups 2 --steps 3

Groups of 16 answers of at most 60 tokens, by the settings of `recipes/smollm2-135m/grpo.yaml` (LoRA) in float32. Both
parts grow with the number of answers: what a step has besides, the optimizer's, only makes a small step longer.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trl import GRPOTrainer

from sozo.rewards.diverse import DiverseReward
from sozo.training.config import parse
from sozo.training.grpo import GrpoArguments, GrpoSettings, train_grpo

MADE = "sozo.rewards.make_diverse_reward"
ASKED = ["Name an unusual use for a brick.", "Write one sentence about the sea."]
ASKED += ["Suggest a plot about a clock.", "What is a thousand empty bottles good for?"]
RECIPE = "recipes/smollm2-135m/grpo.yaml"


def quality(completions: list[Any], **columns: Any) -> list[float]:
    """A quality that costs nothing."""
    return [1.0] * len(completions)


def timed(of: type, name: str) -> list[float]:
    """Processor seconds of each call of a method, from now on."""
    whole: Callable[..., Any] = getattr(of, name)
    seconds: list[float] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = whole(*args, **kwargs)
        seconds.append(time.process_time() - start)
        return result

    setattr(of, name, call)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    rewards, steps = (
        timed(DiverseReward, "__call__"),
        timed(GRPOTrainer, "training_step"),
    )
    answers = 16 * args.groups
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts.jsonl"
        prompts.write_text("".join(json.dumps({"prompt": q}) + "\n" for q in ASKED))
        task = {"prompts": str(prompts), "reward_funcs": [MADE]}
        task["reward_args"] = {
            MADE: {"quality": "diverse_step.quality", "alike": "embedding"}
        }
        settings = {
            "model_name_or_path": args.model,
            "dtype": "float32",
            "tasks": json.dumps(task),
            "num_prompts": args.groups * args.steps,
            "num_generations": 16,
            "completions_per_step": answers,
            "per_device_train_batch_size": 16,
            "max_completion_length": 60,
            "max_steps": args.steps,
            "save_strategy": "no",
            "report_to": "none",
            "output_dir": f"{folder}/run",
        }
        words = [
            word for key, value in settings.items() for word in (f"--{key}", str(value))
        ]
        train_grpo(*parse(GrpoArguments, GrpoSettings, ["--config", RECIPE, *words]))
    of_step = len(steps) // args.steps  # micro-batches
    whole = [sum(steps[k * of_step : (k + 1) * of_step]) for k in range(args.steps)]
    shares = [reward / step for reward, step in zip(rewards, whole, strict=True)]
    print(
        f"{answers} answers: reward {statistics.median(rewards):.1f} s of {statistics.median(whole):.1f} s a step, "
        f"share {statistics.median(shares):.1%} ({min(shares):.1%}-{max(shares):.1%})"
    )


if __name__ == "__main__":
    main()
