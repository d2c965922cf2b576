"""What SAT's reward pays for honest rewrites of ten stories, and for attacks on it: benchmarks/README.md.

python benchmarks/sat_gate.py                # the five stories on which the limits were not set
python benchmarks/sat_gate.py --part set     # those on which they were
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/helpers"))

from sat_attacks import ADAPTIVE, Case, cases
from sozo.rewards.sat import SatReward, make_sat_reward


def pay(
    reward: SatReward, case: Case, texts: Iterable[str]
) -> list[tuple[float, str, float | None]]:
    """What each text is paid as a rewrite of the story, why it is not, and what its distance alone would be worth."""
    texts = list(texts)
    stories = [case.text] * len(texts)
    paid = reward(completions=texts, story=stories)
    alone = [
        None if d is None else reward.scale * d
        for d, _ in reward.tools[0].compare(stories, texts)
    ]
    reasons = [completion.reason or "" for completion in reward.last]
    return [
        (value or 0.0, reason, raw)
        for value, reason, raw in zip(paid, reasons, alone, strict=True)
    ]


def line(
    name: str, cells: Sequence[tuple[float, str, float | None]], last: str = ""
) -> str:
    """A row of the table."""
    distances = [raw for *_, raw in cells if raw is not None]
    alone = f"{statistics.mean(distances):.2f}" if distances else "no vector"
    return (
        f"| {name} | {alone} | "
        + " | ".join(reason or f"{value:.2f}" for value, reason, _ in cells)
        + f" | {last} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=("set", "report"), default="report")
    parser.add_argument("--sat-embedding-model", default="ja-ginza")
    args = parser.parse_args()
    reward = make_sat_reward(
        sat_embedding_model=args.sat_embedding_model, penalise_duplicates=False
    )
    chosen = [case for case in cases() if case.part == args.part]
    honest = [pay(reward, case, case.rewrites.values()) for case in chosen]
    lowest = [
        min((value for value, reason, _ in cells if not reason), default=0.0)
        for cells in honest
    ]
    lines = [
        "| | distance alone | "
        + " | ".join(case.id for case in chosen)
        + " | less than the honest |"
    ]
    lines.append("|---|---:" + "|---" * len(chosen) + "|---|")
    lines += [
        line(f"**honest {k + 1}**", [cells[k] for cells in honest]) for k in range(2)
    ]
    start = time.perf_counter()
    attacks = [pay(reward, case, case.attacks.values()) for case in chosen]
    seconds = time.perf_counter() - start
    for k, name in enumerate(chosen[0].attacks):
        cells = [of_case[k] for of_case in attacks]
        less = sum(cell[0] < low for cell, low in zip(cells, lowest, strict=True))
        lines.append(
            line(
                f"*{name}*" if name in ADAPTIVE else name,
                cells,
                f"{less} of {len(chosen)}",
            )
        )
    sys.stdout.write(
        "\n".join(lines) + f"\n\n{sum(map(len, attacks))} attacks in {seconds:.2f} s\n"
    )


if __name__ == "__main__":
    main()
