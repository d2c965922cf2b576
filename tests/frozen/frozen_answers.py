"""Scores, reasons and keys of lists and odd texts; what answers to each task are worth."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import yaml

from fakes import list_text
from sozo.data.english import english_nouns
from sozo.data.jumandic import load_nouns
from sozo.suite.general.task import General
from sozo.suite.sentences.task import Sentences, SentencesSettings
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.task import Answer

FILES = Path(__file__).parents[1] / "files"
SCORERS = {
    "ja": DatSettings(noun_checker="jumandic"),
    "strict": DatSettings(
        noun_checker="jumandic",
        reject_glued=True,
        reject_numerals=True,
        reject_proper_nouns=True,
        accept_affixes=True,
    ),
    "en": DatSettings(language="en"),
    "olson": DatSettings(language="en", olson=True),
}
FRAMES = {
    "ja": (
        "{}と{}を並べて、祖母は静かに眺めた。",
        "昨日、{}の上に{}が置かれているのを医者が見つけた。",
        "{}より{}のほうが高いと店員は言った。",
        "古い{}は、雨の日だけ{}の匂いがする。",
        "{}を売った金で{}を買った兄は、まだ帰らない。",
    ),
    "en": (
        "The {} and the {} were carried home by Anna.",
        "Nobody had seen a {} beside the {} before that winter.",
        "My uncle traded his {} for a broken {} last spring.",
        "Under the {} they found a small {} made of glass.",
        "Every {} needs a {} that nobody else remembers.",
    ),
}
NO_NOUNS = ("走る", "美しい", "ニャンゴロ", "2", "犬!", "xyzzy", "run quickly", "")


def spoilt(words: list[str], random: Random) -> str:
    """A list in which one thing is wrong, in one of eight ways."""
    k, other = random.randrange(10), random.randrange(10)
    lines = list_text(words).splitlines()
    ways = (
        [*lines[:k], *lines[k + 1 :]],
        [*lines, f"11. {words[k]}"],
        [*lines[:k], f"{k + 1}. {words[other]}", *lines[k + 1 :]],
        [*lines[:k], f"{k + 1}. {random.choice(NO_NOUNS)}", *lines[k + 1 :]],
        [line.partition(" ")[2] for line in lines],
        ["はい、次の通りです。", "", *lines],
        [*lines[:k], f"{k + 1}. {words[k]}（{words[other]}）", *lines[k + 1 :]],
        [f"{line} " if j % 2 else line.upper() for j, line in enumerate(lines)],
    )
    return "\n".join(random.choice(ways))


def lists(nouns: list[str], count: int, random: Random) -> Iterator[str]:
    """Every third is spoilt."""
    for k in range(count):
        words = random.sample(nouns, 10)
        yield spoilt(words, random) if k % 3 == 2 else list_text(words)


def odd_texts(nouns: list[str], random: Random) -> Iterator[str]:
    """Lists in other clothes: numerals, marks of chats and of reasoning, widths, lines, bytes that are no text."""
    clothes: tuple[Callable[[str], str], ...] = (
        lambda text: text.translate({ord(str(d)): chr(0xFF10 + d) for d in range(10)}),
        lambda text: text.replace(". ", "．"),
        lambda text: text.replace(". ", ") "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: f"<think>{text}</think>\n{text}",
        lambda text: f"<think>{text}",
        lambda text: f"{text}<|im_end|>",
        lambda text: f"<|channel|>analysis<|message|>hm<|end|>{text}",
        lambda text: f"```\n{text}\n```",
        lambda text: "\n".join(f"**{line}**" for line in text.splitlines()),
        lambda text: text[: len(text) // 2],
        lambda text: text + "\ud800",
        lambda text: f"\ufeff{text}\u3000",
        lambda text: text.replace(" ", "\u200b"),
        lambda text: text * 2,
        lambda text: "、".join(line.partition(" ")[2] for line in text.splitlines()),
        lambda text: json.dumps(text.splitlines(), ensure_ascii=False),
        lambda text: text[::-1],
        lambda text: "",
    )
    for dress in clothes:
        for _ in range(10):
            yield dress(list_text(random.sample(nouns, 10)))


def scores(folder: Path) -> Mapping[str, Any]:
    """10,000 lists and 800 odd texts by four scorers: a row is the score or the reason, and the key."""
    values = {}
    for name, settings in SCORERS.items():
        random = Random(name)
        own = english_nouns()[::20] if settings.language == "en" else load_nouns()
        nouns = sorted(own)
        texts = [*lists(nouns, 2500, random), *odd_texts(nouns, random)]
        scored = DatScorer.from_settings(settings).score(texts)
        for k, result in enumerate(scored):
            key = scored.keys[k]
            worth = result.reason or round(float(result.score), 8)
            values[f"{name} {k}"] = [worth, key.hex()[:8] if key else None]
    return values


def sentences(folder: Path) -> Mapping[str, Any]:
    """Sixteen answers to each of twenty pairs, good and bad, in both languages."""
    values = {}
    for language, frames in FRAMES.items():
        task = Sentences(
            SentencesSettings(sentences_language=language, sentences_items=20)
        )
        random, items, answers = Random(language), [], []
        for item in task.items():
            first, second = item.columns["first"], item.columns["second"]
            for k in range(16):
                text = random.choice(frames).format(first, second)
                ways = (
                    text,
                    text,
                    text,
                    text.replace(second, ""),
                    item.prompt,
                    text * 9,
                )
                items.append(item)
                answers.append(Answer(f"{item.id}-{k}", item.id, random.choice(ways)))
        rows = task.with_others(items, answers, task.score(items, answers))
        for answer, row in zip(answers, rows, strict=True):
            values[f"{language} {answer.id}"] = [row.reason, row.values]
    return values


def general(folder: Path) -> Mapping[str, Any]:
    """A right and a wrong answer to each instruction, the prompt itself, and nothing."""
    recorded = yaml.safe_load((FILES / "general_answers.yaml").read_text("utf-8"))
    task, values = General(), {}
    for item in task.items():
        texts = [*map(str, recorded.get(item.id, ())), item.prompt, "", "2.5"]
        answers = [Answer(str(k), item.id, text) for k, text in enumerate(texts)]
        rows = task.score([item] * len(texts), answers)
        values[item.id] = [[row.reason, row.values] for row in rows]
    return values


PARTS = {"scores": scores, "sentences": sentences, "general": general}
