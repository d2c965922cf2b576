"""Lists of the frontier of JumanDIC's nouns against a plain Metropolis loop, in one run.

    python benchmarks/frontier.py [--lists 2048] [--strength 1000]

loop: one word of every list is replaced by a random noun, or not, all lists at once (numpy): what one writes first.
sozo: `sozo.tasks.dat.frontier.free_lists`, which redraws a word among 512 at once.

The loop begins at random and runs until its mean, over its last 100 steps, is within 0.0005 of that of sozo's table.
"""

import argparse
import time

import numpy as np

from sozo.data.jumandic import load_nouns
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.embeddings.derived import random_lists
from sozo.tasks.dat.frontier import NounFrontier, free_lists

_CHECK, _MOST = 100, 100_000
_AGREE = 0.0005  # in mean score


def loop(
    unit: np.ndarray,
    lists: np.ndarray,
    strength: float,
    mean: float,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Steps until the mean is reached (or `_MOST`), and the mean."""
    rows, total = np.arange(len(lists)), unit[lists].sum(axis=1)
    seen: list[float] = []
    for step in range(_MOST):
        k, new = step % 10, rng.integers(0, len(unit), len(lists))
        moved = total - unit[lists[rows, k]] + unit[new]
        squares = np.einsum("ij,ij->i", total, total)
        gain = (squares - np.einsum("ij,ij->i", moved, moved)) / 90
        take = ~(lists == new[:, None]).any(axis=1) & (
            np.log(rng.random(len(lists))) < strength * gain
        )
        lists[rows[take], k], total[take] = new[take], moved[take]
        seen.append(float(1 - (squares.mean() - 10) / 90))
        if (step + 1) % _CHECK == 0 and abs(np.mean(seen[-_CHECK:]) - mean) < _AGREE:
            break
    return step + 1, float(np.mean(seen[-_CHECK:]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lists", type=int, default=2048)
    parser.add_argument("--strength", type=float, default=1000.0)
    args = parser.parse_args()
    nouns = NounFrontier(load_nouns(), WordVectors(make_encoder()))
    print(f"{len(nouns.nouns):,} nouns, {args.lists:,} lists")
    start, rng = time.perf_counter(), np.random.default_rng(0)
    table = free_lists(nouns.unit, args.strength, args.lists, rng)
    target = float(mean_pairwise_distance(nouns.unit, table).mean())
    ours = time.perf_counter() - start
    print(f"strength {args.strength:g}: sozo {target:.4f} in {ours:.1f} s")
    start, lists = time.perf_counter(), random_lists(len(nouns.nouns), args.lists, rng)
    steps, mean = loop(nouns.unit, lists, args.strength, target, rng)
    theirs = time.perf_counter() - start
    print(
        f"loop {mean:.4f} after {steps:,} steps in {theirs:.1f} s: {theirs / ours:.1f} times sozo's time"
    )


if __name__ == "__main__":
    main()
