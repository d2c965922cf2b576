"""A task of one's own, as small as one can be: a sentence without the letter e. SOZO_TASKS=toy_task.NoE names it."""

from rewards.measure import Measure
from rewards.task import Item, Row, Task


class NoE(Task):
    """Words without the letter e, among the words of a sentence."""

    name = "noe"
    title = "Sentences without e"
    measures = (Measure("noe", share=True), Measure("noe/words", digits=1, better=0))
    max_new_tokens = 64

    def items(self):
        """One for each subject."""
        return [
            Item(subject, f"Write a sentence about {subject} without the letter e.", {"subject": subject})
            for subject in ("dogs", "oceans", "laws")
        ]

    def score(self, items, answers):
        """The share of good words, and how many words there are."""
        return [self._row(answer.text.split()) for answer in answers]

    def _row(self, words):
        if not words:
            return Row(reason="empty")
        good = sum("e" not in word.lower() for word in words)
        return Row({"noe": good / len(words), "noe/words": float(len(words))}, facts={"good": good})
