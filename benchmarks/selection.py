"""From an answer table to both training datasets: sozo against the way one writes first, interleaved in one run.

    python benchmarks/selection.py [--answers 131072] [--k 16384] [--rounds 3]

Both read the same synthetic table, select the top k for SFT and k pairs for DPO, and build both datasets.

naive: every row as a `Answer`, `sorted` in Python.
sozo:  `sozo.training.selection`, which sorts columns and makes Python objects of the selected rows only.

The naive selection is compared with sozo's before anything is timed.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from sozo.data.jumandic import load_nouns
from sozo.data.prompts import prompt
from sozo.data.schema import iter_tables, write_columns
from sozo.models.nouns import RandomNouns
from sozo.training.selection import Selected, select_pairs, select_top, training_rows

Texts = tuple[list[str], list[str], list[str]]
PART = 1024


def write_table(folder: Path, n: int) -> None:
    """A table of n random-noun answers with made-up scores, a tenth of them unusable, in parts."""
    draw = random.Random(0)
    texts = [
        completion.text
        for completion in RandomNouns(load_nouns()).answer([""] * n, seed=0, batch=0)
    ]
    scores = [
        None if draw.random() < 0.1 else draw.gauss(0.88, 0.016) for _ in range(n)
    ]
    for part, start in enumerate(range(0, n, PART)):
        rows = range(start, min(start + PART, n))
        columns = {
            "id": [f"random-0-{row:07d}" for row in rows],
            "source": ["random"] * len(rows),
            "text": [texts[row] for row in rows],
            "words": [
                [line.partition(" ")[2] for line in texts[row].split("\n")]
                for row in rows
            ],
            "score": [scores[row] for row in rows],
            "reason": ["no_vector" if scores[row] is None else None for row in rows],
        }
        write_columns(folder / f"part-{part:05d}.parquet", columns)


def sozo(folder: Path, k: int) -> Texts:
    pairs = select_pairs(folder, k, seed=0)
    return select_top(folder, k).texts, pairs.chosen.texts, pairs.rejected.texts


def naive(folder: Path, k: int) -> Texts:
    def best_first(row: dict[str, Any]) -> tuple[float, str]:
        return -(row["score"] or 0.0), row["id"]

    top, table = (
        sorted((r for t in iter_tables(folder) for r in t.to_pylist()), key=best_first)
        for _ in range(2)
    )
    top = top[:k]
    last = table[::-1][:k]
    rejected = [last[row] for row in np.random.default_rng(0).permutation(k)]
    return (
        [r["text"] for r in top],
        [r["text"] for r in table[:k]],
        [r["text"] for r in rejected],
    )


def datasets_of(texts: Texts) -> tuple[Dataset, Dataset]:
    top, chosen, rejected = (
        Selected(
            column,
            [prompt("dat")] * len(column),
            ["dat"] * len(column),
            column,
            np.zeros(len(column)),
            0,
            len(column),
        )
        for column in texts
    )
    return (
        Dataset.from_list(training_rows({"completion": top}, conversational=True)),
        Dataset.from_list(
            training_rows({"chosen": chosen, "rejected": rejected}, conversational=True)
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=131072)
    parser.add_argument("--k", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    ways = {"naive": naive, "sozo": sozo}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder)
        write_table(table, args.answers)
        assert sozo(table, args.k) == naive(table, args.k), (
            "they select different answers"
        )
        print(
            f"{args.answers:,} answers, {args.k:,} for SFT and {args.k:,} pairs for DPO; both ways agree"
        )
        for _ in range(args.rounds):
            for name, select in ways.items():
                start = time.perf_counter()
                texts = select(table, args.k)
                selected = time.perf_counter()
                datasets_of(texts)
                seconds[name].append((selected - start, time.perf_counter() - start))
    for name, runs in seconds.items():
        selecting, whole = (
            statistics.median(column) for column in zip(*runs, strict=True)
        )
        ratios = [
            base[1] / ours[1] for base, ours in zip(runs, seconds["sozo"], strict=True)
        ]
        print(
            f"{name:6} selecting {selecting:6.2f} s, with both datasets {whole:6.2f} s, "
            f"{statistics.median(ratios):4.1f} times sozo's time ({min(ratios):.1f}-{max(ratios):.1f})"
        )


if __name__ == "__main__":
    main()
