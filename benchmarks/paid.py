"""What DAT's reward pays for lists that are no ten different things: `python benchmarks/paid.py`.

Each row is a hack: ten words of a kind, or many answers made of one list. Each column is a setting, alone; the last are
those of the recommended recipes together. The number is what one answer is paid, 0 where it is refused; of many
answers it is how many of them are paid. `--more FILE` takes lists of one's own, a line each: a name, a tab, ten words.
"""

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/helpers"))
from sent_by_others import HACKS
from sozo.rewards import make_dat_reward

ALL = {
    "repeated_words": "representative",
    "reject_glued": True,
    "reject_numerals": True,
    "seen_as": "set",
}
SETTINGS = {
    "the default": {},
    **{f"{name}: {value}".lower(): {name: value} for name, value in ALL.items()},
    "all four": ALL,
    "all and reject_proper_nouns": ALL | {"reject_proper_nouns": True},
}
ONE = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
KANA = dict(
    zip(["犬", "海", "靴", "机"], ["いぬ", "うみ", "くつ", "つくえ"], strict=True)
)
COUNT = 5000


def listed(words: list[str]) -> str:
    """The list that the prompt asks for."""
    return "\n".join(f"{k}. {word}" for k, word in enumerate(words, 1))


def many() -> dict[str, list[str]]:
    """Answers made of one list, by the way in which they differ."""
    draw = random.Random(0)
    orders = {tuple(draw.sample(ONE, 10)) for _ in range(COUNT + 200)}
    places = [ONE[k:] + ONE[:k] for k in range(10)]
    kana = [
        [KANA[w] if w in KANA and n >> k & 1 else w for k, w in enumerate(ONE)]
        for n in range(1 << 10)
    ]
    spelled = dict.fromkeys(map(tuple, kana))
    return {
        "5,000 orders of one list": [listed(list(o)) for o in sorted(orders)[:COUNT]],
        "10 rotations of one list": [listed(words) for words in places],
        "16 spellings of one list": [listed(list(words)) for words in spelled],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--more", type=Path)
    more = parser.parse_args().more
    single = [*HACKS.items()]
    if more:
        rows = more.read_text("utf-8").splitlines()
        single = [row.split("\t") for row in rows if row.strip()]
    print("| hack |", " | ".join(SETTINGS), "|")
    print("|---|" + "---|" * len(SETTINGS))
    scorer = {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}
    rewards = {
        name: make_dat_reward(**scorer, **settings)
        for name, settings in SETTINGS.items()
    }
    for name, words in single:
        texts = [listed(words.split())]
        paid = [f"{reward(completions=texts)[0]:.2f}" for reward in rewards.values()]
        print(
            f"| {name}: {words.split()[0]} {words.split()[1]} ... |",
            " | ".join(paid),
            "|",
        )
    for name, texts in ({} if more else many()).items():
        counts = []
        for settings in SETTINGS.values():
            reward = make_dat_reward(**scorer, **settings)
            counts.append(str(sum(one > 0 for one in reward(completions=texts))))
        print(f"| {name} |", " | ".join(counts), "|")


if __name__ == "__main__":
    main()
