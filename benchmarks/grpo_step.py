"""A GRPO step with sozo's shared-prefix sampler against one with TRL's own generation, by the recipe, interleaved.

    python benchmarks/grpo_step.py recipes/tiny/grpo.yaml --steps 20
    python benchmarks/grpo_step.py recipes/gemma-3-270m/grpo.yaml --steps 3 -- --per_device_train_batch_size 16

Each round launches both. The first logging step of a run is left out. Rewards, valid rates and losses are printed side
by side: the two samplers draw other random numbers from the same distribution.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLERS = ("shared_prefix", "trl")


def run(config: Path, sampler: str, seed: int, steps: int, folder: Path, flags: list[str]) -> list[dict]:
    """The log of one run of the recipe."""
    output = folder / f"{sampler}-{seed}"
    command = [sys.executable, str(ROOT / "recipes" / "grpo_dat.py"), "--config", str(config), "--sampler", sampler]
    command += ["--output_dir", str(output), "--seed", str(seed), "--max_steps", str(steps), "--logging_steps", "1"]
    command += ["--report_to", "none", "--save_strategy", "no", *flags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    history = json.loads((output / "trainer_state.json").read_text("utf-8"))["log_history"]
    return [entry for entry in history if "reward" in entry]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("flags", nargs="*", help="further flags of the recipe, after --")
    args = parser.parse_args()
    seconds: dict[str, list[float]] = {sampler: [] for sampler in SAMPLERS}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.rounds):
            for sampler in SAMPLERS:
                log = run(args.config, sampler, seed, args.steps, Path(folder), args.flags)
                seconds[sampler].append(statistics.median(entry["step_time"] for entry in log[1:]))
                means = {key: statistics.mean(e[key] for e in log) for key in ("reward", "dat/valid_rate", "loss")}
                print(
                    f"{sampler:>13}, seed {seed}: {seconds[sampler][-1]:.2f} s a step; over {len(log)} steps: "
                    + ", ".join(f"{key} {value:.4f}" for key, value in means.items()),
                    flush=True,
                )
    ours, theirs = (seconds[sampler] for sampler in SAMPLERS)
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    print(f"{statistics.median(ratios):.2f} times faster ({min(ratios):.2f}-{max(ratios):.2f})")


if __name__ == "__main__":
    main()
