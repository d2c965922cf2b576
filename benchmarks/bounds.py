"""What the bounds on what others send cost a reward: this checkout beside an earlier one, in turns.

    git worktree add ../before COMMIT
    python benchmarks/bounds.py --before ../before

Each checkout scores the same ordinary answers (DAT lists of the packaged nouns, one in ten broken) in a process of its
own, called again and again in turns, so that both see the same machine. The ratio is that of the medians.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What a checkout does: says its seconds for each line it is sent.
WORKER = """
import random, sys, time
sys.path.insert(0, sys.argv[1])
from sozo.data.nouns import tiny_nouns
from sozo.rewards import make_dat_reward
from sozo.scoring.parse import write_list
draw, nouns = random.Random(1), tiny_nouns()
texts = [write_list(draw.sample(nouns, 10)) for _ in range(int(sys.argv[2]))]
texts = [text if draw.random() > 0.1 else text.replace("3. ", "3) ") for text in texts]
reward = make_dat_reward(noun_checker="jumandic", embedding_model="ja-ginza")
reward(completions=texts)  # every word is known from here on
for _ in sys.stdin:
    start = time.process_time()
    reward(completions=texts)
    print(time.process_time() - start, flush=True)
"""


def main() -> None:
    """Time both in turns; print seconds and ratio as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--before", type=Path, required=True, help="a checkout without the bounds"
    )
    parser.add_argument("--answers", type=int, default=131_072)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    pipe = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
        "bufsize": 1,
    }
    workers = {
        name: subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path / "src"), str(options.answers)],
            **pipe,
        )
        for name, path in (("before", options.before.resolve()), ("after", ROOT))
    }
    seconds: dict[str, list[float]] = {name: [] for name in workers}
    for _ in range(options.rounds):
        for name, worker in workers.items():
            worker.stdin.write("\n")
            seconds[name].append(float(worker.stdout.readline()))
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()
    medians = {name: round(statistics.median(own), 3) for name, own in seconds.items()}
    pairs = [
        after / before
        for before, after in zip(seconds["before"], seconds["after"], strict=True)
    ]
    print(
        json.dumps(
            {
                **medians,
                "ratio": round(statistics.median(pairs), 3),
                "at": time.strftime("%Y-%m-%d"),
            }
        )
    )


if __name__ == "__main__":
    main()
