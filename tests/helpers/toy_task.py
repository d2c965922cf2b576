"""A task of one's own, whole: with SOZO_TASKS=toy_task.Lipogram it is one like the others."""

import re

from sozo.scoring.measure import Measure
from sozo.tasks.task import Item, Row, Task

TOPICS = ("rain", "a cat", "bread", "music", "a long road", "snow")


class Lipogram(Task):
    """Write a sentence without the letter e."""

    name = "lipogram"
    title = "A sentence without the letter e"
    measures = (
        Measure("lipogram", share=True),
        Measure("lipogram/words", digits=1, better=0),
    )
    max_new_tokens = 32

    def items(self):
        return [
            Item(topic, f"Write a sentence about {topic} without the letter e.")
            for topic in TOPICS
        ]

    def score(self, items, answers):
        return [score(answer.text) for answer in answers]


def score(text):
    """The share of words without the letter."""
    words = re.findall(r"\w+", text)
    if not words:
        return Row(reason="empty")
    without = [word for word in words if "e" not in word.lower()]
    return Row(
        {"lipogram": len(without) / len(words), "lipogram/words": float(len(words))}
    )
