"""What `make_diverse_reward` pays where one answer is made to look like many: `python benchmarks/diverse.py`.

Each row is a group of eight answers in English and one in Japanese (`tests/diverse_attacks.py`). The number is the mean
share of the others from which an answer differs, by `how="times"`: 1 where all eight are different, 0 where all are alike.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from diverse_attacks import groups
from sozo.rewards import make_diverse_reward

WAYS = ("text", "ngram", "embedding")


def one(completions: list[str], **columns: Any) -> list[float]:
    """A quality that lets everything through."""
    return [1.0] * len(completions)


def paid() -> dict[str, list[float]]:
    """Name of a group -> what is paid on average, by each way in English, then in Japanese."""
    rewards = [make_diverse_reward(one, alike=alike) for alike in WAYS]
    return {
        name: [
            sum(reward(completions=texts)) / len(texts)
            for texts in both
            for reward in rewards
        ]
        for name, both in groups().items()
    }


def main() -> None:
    heads = [
        f"{alike}, {language}" for language in ("English", "Japanese") for alike in WAYS
    ]
    print("| eight answers |", " | ".join(heads), "|")
    print("|---|" + "---|" * len(heads))
    for name, values in paid().items():
        print(f"| {name} |", " | ".join(f"{value:.2f}" for value in values), "|")


if __name__ == "__main__":
    main()
