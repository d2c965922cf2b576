r"""A GRPO step that computes the prompt once, against TRL's own generation and loss, by the recipe, interleaved.

    python benchmarks/grpo_step.py recipes/tiny/grpo.yaml --steps 20
    python benchmarks/grpo_step.py recipes/gemma-3-270m/grpo.yaml --steps 2 --per_device_train_batch_size 16 \
        --completions_per_step 64 --num_generations 64 --num_prompts 2

Three ways: TRL's own; sozo's sampler with TRL's loss (`--share_prompt false`); sozo's sampler and the prompt shared in
the loss too, which is the recipes' default. Each round launches all. The first step of a run is left out if there are
more. Rewards, usable shares and losses are printed side by side: the samplers draw other numbers from one distribution.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS = {
    "TRL": ("--sampler", "trl", "--share_prompt", "false"),
    "sampler": ("--sampler", "shared_prefix", "--share_prompt", "false"),
    "sampler and loss": ("--sampler", "shared_prefix", "--share_prompt", "true"),
}


def run(
    config: Path, way: str, seed: int, steps: int, folder: Path, flags: list[str]
) -> list[dict]:
    """The log of one run of the recipe."""
    output = folder / f"{way}-{seed}"
    command = [
        *(sys.executable, "-m", "sozo", "train", "grpo"),
        *("--config", str(config)),
        *WAYS[way],
    ]
    command += [
        "--output_dir",
        str(output),
        "--seed",
        str(seed),
        "--max_steps",
        str(steps),
        "--logging_steps",
        "1",
    ]
    command += ["--report_to", "none", "--save_strategy", "no", *flags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    history = json.loads((output / "trainer_state.json").read_text("utf-8"))[
        "log_history"
    ]
    return [entry for entry in history if "reward" in entry]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    args, flags = (
        parser.parse_known_args()
    )  # what is unknown here are further flags of `sozo train grpo`
    seconds: dict[str, list[float]] = {way: [] for way in args.ways}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.rounds):
            for way in args.ways:
                log = run(args.config, way, seed, args.steps, Path(folder), flags)
                seconds[way].append(
                    statistics.median(entry["step_time"] for entry in log[1:] or log)
                )
                means = {
                    key: statistics.mean(e[key] for e in log)
                    for key in ("reward", "dat/usable", "loss")
                }
                print(
                    f"{way:>16}, seed {seed}: {seconds[way][-1]:.2f} s a step; over {len(log)} steps: "
                    + ", ".join(f"{key} {value:.4f}" for key, value in means.items()),
                    flush=True,
                )
    first, *others = args.ways
    for way in others:
        ratios = [b / a for a, b in zip(seconds[way], seconds[first], strict=True)]
        print(
            f"{way}: {statistics.median(ratios):.2f} times faster than {first} ({min(ratios):.2f}-{max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
