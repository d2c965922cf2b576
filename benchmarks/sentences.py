"""What the task sentences pays to who reads nothing or cheats, and how fast it scores: the table of suite/README.md.

    python benchmarks/sentences.py
    python benchmarks/sentences.py --language en
    python benchmarks/sentences.py --speed 100000

Every row is one rule that answers the pairs of the split test, 16 times each; deterministic, and no model.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from sozo.data.english import english_nouns
from sozo.data.nouns import tiny_nouns
from sozo.suite.sentences.task import Sentences, SentencesSettings
from sozo.tasks.sat.gate import morphemes
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.task import Answer, Item

Write = Callable[[Item, int, np.random.Generator], str]
_TALES = "tales' sentences with the words put in"
FRAMES = {
    "ja": (
        "{a}と{b}を並べて、静かな夜を過ごした。",
        "古い{a}の横に置かれた{b}が、少しだけ光って見えた。",
        "{a}のことを考えていたら、いつの間にか{b}を忘れていた。",
        "父は{a}を手に取り、母は{b}を探しに出かけた。",
        "{a}があるなら{b}もあるはずだと、彼女は笑って言った。",
        "昔この町では、{a}より{b}のほうがずっと大切にされていた。",
        "{a}について書いた日記の中に、なぜか{b}の話が出てくる。",
        "旅の終わりに残ったのは、{a}と{b}の思い出だけだった。",
    ),
    "en": (
        "She put the {a} and the {b} side by side and went to sleep.",
        "Nobody knew why the {b} had been left so close to the old {a}.",
        "When he thought about the {a}, he always forgot about the {b}.",
        "My father liked the {a}, but my mother went out to look for a {b}.",
        "If there is a {a} here, there must also be a {b}, she said with a smile.",
        "Long ago the {b} was thought to be far better than any {a} in this town.",
        "In her diary she wrote about a {a}, and for some reason about a {b} too.",
        "At the end of the journey there was only the {a}, and what was left of the {b}.",
    ),
}
# Beginnings, middles and ends that fit together: 512 frames.
PARTS = {
    "ja": (
        [
            "朝早く起きて",
            "雨がやむのを待って",
            "何も言わずに",
            "駅まで走って",
            "友達に誘われて",
            "古い歌を歌いながら",
            "少し迷ってから",
            "道を渡って",
        ],
        [
            "、{a}の隣で{b}を ",
            "、{a}を見たあとで{b}を ",
            "、{b}を抱えたまま{a}を ",
            "、{a}のために{b}を ",
            "、{b}ではなく{a}を ",
            "、{a}だけでなく{b}も ",
            "、{a}がなければ{b}を ",
            "、{b}に似た{a}を ",
        ],
        [
            "眺めた。",
            "描いた。",
            "手に入れた。",
            "思い出した。",
            "数えた。",
            "笑った。",
            "友人に見せた。",
            "好きになった。",
        ],
    ),
    "en": (
        [
            "Early that morning",
            "After the rain had stopped",
            "Without a word",
            "While they were singing",
            "Before he went away",
            "As soon as it got dark",
            "Since nobody was looking",
            "Once she was alone",
        ],
        [
            ", they saw a {a} behind the {b} and ",
            ", he took the {a} from the {b} and ",
            ", she compared the {b} with the {a} and ",
            ", I asked about the {a} of the {b} and ",
            ", you gave the {b} for the {a} and ",
            ", it was a {a} and no {b}, so they ",
            ", we drew a {b} on the {a} and ",
            ", somebody wanted both {a} and {b} and ",
        ],
        [
            "laughed at it.",
            "forgot all of it.",
            "told everybody.",
            "went on without it.",
            "became very quiet.",
            "kept it for years.",
            "gave it away.",
            "wrote it down.",
        ],
    ),
}


def rules(language: str) -> dict[str, Write]:
    """Name -> who writes the k-th answer to an item so."""
    nouns = tiny_nouns() if language == "ja" else list(english_nouns())
    frames, parts = FRAMES[language], PARTS[language]
    japanese = language == "ja"
    gap = "" if japanese else " "
    end = "。" if japanese else "."
    tales = [
        sentence
        for story in load_stories()
        for sentence in re.findall("[^。]+。", story.text)
        if 15 <= len(sentence.strip()) <= 115
    ]

    def filled(template: str, item: Item, **more: str) -> str:
        return template.format(
            a=item.columns["first"], b=item.columns["second"], **more
        )

    def nouns_of(rng: np.random.Generator, size: int) -> list[str]:
        return [nouns[k] for k in rng.choice(len(nouns), size, replace=False)]

    def third(item: Item, k: int, rng: np.random.Generator) -> str:
        template = (
            "{a}と{b}を見て、{c}のことを思い出していた。"
            if japanese
            else "The {a} and the {b} made me think of the {c}."
        )
        return filled(template, item, c=nouns_of(rng, 1)[0])

    def of_parts(item: Item, k: int, rng: np.random.Generator) -> str:
        return filled(
            "".join(part[rng.integers(8)].strip(" ") + gap for part in parts)
            .strip()
            .replace(" ,", ","),
            item,
        )

    def listed(item: Item, k: int, rng: np.random.Generator) -> str:
        words = [item.columns["first"], item.columns["second"], *nouns_of(rng, 8)]
        return ("、" if japanese else ", ").join(words) + end

    def joined(item: Item, k: int, rng: np.random.Generator) -> str:
        words = [item.columns["first"], item.columns["second"], *nouns_of(rng, 4)]
        if japanese:
            return "と".join(words) + "がある。"
        return f"There is the {' and the '.join(words)}."

    def shuffled(item: Item, k: int, rng: np.random.Generator) -> str:
        words = (
            [token[0] for token in morphemes(filled(of_parts(item, k, rng), item))]
            if japanese
            else of_parts(item, k, rng).split()
        )
        return (
            gap.join(words[k].strip("。.") for k in rng.permutation(len(words))) + end
        )

    def of_particles(item: Item, k: int, rng: np.random.Generator) -> str:
        words = [item.columns["first"], item.columns["second"], *nouns_of(rng, 5)]
        if japanese:
            return (
                "".join(
                    words[k] + "はがをにでとの"[rng.integers(7)]
                    for k in rng.permutation(7)
                )
                + "走った。"
            )
        links = ["the", "of", "in", "a", "to", "with", "and"]
        return (
            "The "
            + " ".join(
                f"{words[k]} {links[rng.integers(7)]}" for k in rng.permutation(7)
            )
            + " end."
        )

    def in_tale(item: Item, k: int, rng: np.random.Generator) -> str:
        """A tale's sentence with its first two nouns replaced by those that are asked."""
        tale = tales[rng.integers(len(tales))].strip()
        tokens = [(token[0], token[2], token[3]) for token in morphemes(tale)]
        places = [
            n
            for n, (_, pos, sub) in enumerate(tokens)
            if (pos, sub) == ("名詞", "普通名詞")
        ][:2]
        words = [surface for surface, _, _ in tokens]
        for place, name in zip(places, ("first", "second"), strict=False):
            words[place] = item.columns[name]
        return "".join(words)

    written: dict[str, Write] = {
        "one frame": lambda item, k, rng: filled(frames[0], item),
        "one frame, words in either order": lambda item, k, rng: filled(
            frames[0].replace("{a}", "{x}").replace("{b}", "{a}").replace("{x}", "{b}")
            if k % 2
            else frames[0],
            item,
        ),
        "one frame with a random third noun": third,
        "eight frames in rotation": lambda item, k, rng: filled(frames[k % 8], item),
        "512 frames put together from parts": of_parts,
        "the prompt again": lambda item, k, rng: item.prompt.splitlines()[0],
        "the same sentence whatever is asked": lambda item, k, rng: filled(
            frames[k % 8], item
        ).replace(item.columns["first"], nouns[0]),
        "a list of words": listed,
        "words joined by と" if japanese else "words joined by and": joined,
        "the two words glued, again and again": lambda item, k, rng: filled(
            "{a}の{b}と" * 4 + "{a}の{b}である。"
            if japanese
            else "The " + "{a} and the {b} and the " * 4 + "{a}.",
            item,
        ),
        "inside longer words": lambda item, k, rng: filled(
            "この{a}屋では、有名な{b}職人が毎日働いている。"
            if japanese
            else "This {a}-shop has a famous {b}-maker at work every day.",
            item,
        ),
        "many sentences": lambda item, k, rng: gap.join(
            filled(frames[(k + n) % 8], item) for n in range(3)
        ),
        "another language": lambda item, k, rng: filled(
            FRAMES["en" if japanese else "ja"][k % 8], item
        ),
        "shuffled words of a sentence": shuffled,
        "random nouns and particles"
        if japanese
        else "random nouns and function words": of_particles,
    }
    return written | ({_TALES: in_tale} if japanese else {})


def row(task: Sentences, items: list[Item], write: Write, each: int) -> str:
    """The means of the measures over items, and the commonest reasons."""
    rng = np.random.default_rng(0)
    asked = [item for item in items for _ in range(each)]
    answers = [
        Answer("", item.id, write(item, k % each, rng)) for k, item in enumerate(asked)
    ]
    rows = task.with_others(asked, answers, task.score(asked, answers))
    means = {
        one.name: np.mean([own.values[one.name] for own in rows])
        for one in task.measures[:4]
    }
    new, usable, different, words = means.values()
    reasons = Counter(own.reason for own in rows if own.reason).most_common(2)
    why = ", ".join(f"{reason} {n / len(rows):.0%}" for reason, n in reasons)
    return f"{usable:.1%} | {new:.4f} | {different:.3f} | {words:.2f} | {why}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", default="ja")
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("--answers", type=int, default=16, help="to each item")
    parser.add_argument(
        "--speed", type=int, help="time the scoring of so many sentences instead"
    )
    options = parser.parse_args()
    settings = SentencesSettings(options.language, sentences_items=options.items)
    task = Sentences(settings)
    items = list(task.items())
    written = rules(options.language)
    if options.speed:
        rng = np.random.default_rng(0)
        write = written.get(_TALES, written["512 frames put together from parts"])
        asked = [items[k % len(items)] for k in range(options.speed)]
        answers = [
            Answer("", item.id, write(item, k, rng)) for k, item in enumerate(asked)
        ]
        task.score(asked[:1], answers[:1])  # dictionaries are loaded once
        start = time.process_time()
        task.with_others(asked, answers, task.score(asked, answers))
        print(
            f"{options.speed:,} sentences in {time.process_time() - start:.1f} s of one core"
        )
        return
    print(
        "| answers | usable | new frames | different sentences | content words | why unusable |\n|---|---|---|---|---|---|"
    )
    for name, write in written.items():
        print(f"| {name} | {row(task, items, write, options.answers)} |", flush=True)


if __name__ == "__main__":
    main()
