"""A task of one's own: acrostics (あいうえお作文). Name it in the environment, and every command knows it:

SOZO_TASKS=examples.task.Acrostic sozo run --model MODEL --tasks acrostic --output runs/eval
"""

from collections.abc import Sequence

from sozo.scoring.measure import Measure
from sozo.tasks.task import Answer, Item, Row, Task

PROMPT = """「{word}」であいうえお作文を作ってください。
- 1文字につき1行
- 各行はその文字で始める
- 作文だけを出力する"""
WORDS = {"sakura": "さくら", "himawari": "ひまわり", "yukidaruma": "ゆきだるま"}
SHORTEST = 5  # without it the letters alone would be a perfect answer


class Acrostic(Task):
    """One line for each letter of a word, and each begins with its letter."""

    name = "acrostic"
    title = "Acrostics"
    measures = (
        Measure(
            "acrostic", digits=3, scale=(0.0, 1.0)
        ),  # the part of its lines that begin as they must
        Measure("acrostic/length", digits=1, better=0),  # characters of a line
    )
    max_new_tokens = 128

    def items(self) -> Sequence[Item]:
        """One for each word; the columns are what `score` needs to know of it, and columns of the training data."""
        return [
            Item(name, PROMPT.format(word=word), {"word": word})
            for name, word in WORDS.items()
        ]

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Values by the measures' names, or the reason why there are none; `items[k]` is what `answers[k]` answers."""
        return [
            score_lines(item.columns["word"], answer.text)
            for item, answer in zip(items, answers, strict=True)
        ]


def score_lines(word: str, text: str) -> Row:
    """What `text` is worth as an acrostic of `word`.

    >>> score_lines("さく", "さむい朝だった\\n空を見あげた").values["acrostic"]
    0.5
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(lines) != len(word):
        return Row(reason="number_of_lines")
    if min(map(len, lines)) < SHORTEST:
        return Row(reason="short_line")
    kept = sum(
        line.startswith(letter) for line, letter in zip(lines, word, strict=True)
    )
    return Row(
        {
            "acrostic": kept / len(word),
            "acrostic/length": sum(map(len, lines)) / len(lines),
        }
    )
