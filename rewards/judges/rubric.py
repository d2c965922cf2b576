"""What a judge is asked about an answer, and how its reply is read: a task's own, and unknown to all that judges."""

from collections.abc import Callable
from dataclasses import dataclass

from data.schema import utf8_safe

Scores = dict[str, int]


@dataclass(frozen=True, slots=True)
class Rubric:
    """One way of judging."""

    name: str  # stands for the prompt's text in every judgement's key: a changed text needs a new name
    criteria: tuple[str, ...]  # what the scores are named, in order
    fill: Callable[[str, str], str]  # question and answer -> prompt, in one pass: no answer fills a placeholder
    read: Callable[[str], Scores | None]  # reply -> scores; None if it does not say them as it was asked to
    lowest: int = 1
    highest: int = 5

    def prompt(self, question: str, answer: str) -> str:
        """What the judge is asked, fit to be sent."""
        return self.fill(utf8_safe(question), utf8_safe(answer))

    def fits(self, scores: Scores) -> bool:
        """Whether there is a score in range for each criterion, in order."""
        return tuple(scores) == self.criteria and all(self.lowest <= score <= self.highest for score in scores.values())


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer to be judged. (SAT: a rewrite, whose question is the story.)"""

    id: str  # unique among the answers
    question_id: str
    question: str  # word for word
    answer: str


def judged_part(text: str) -> str:
    """What is judged of a model's text: what follows its reasoning, and nothing of reasoning that never ends.

    A judge would count its ideas as the answer's. Many chat templates open the block in the prompt, so that a text only
    closes it. A text without reasoning stays as it is.

    >>> judged_part("<think>案は三つ</think>傘立て"), judged_part("案は三つ</think>傘立て"), judged_part("<think>案は")
    ('傘立て', '傘立て', '')
    >>> judged_part(" 傘立て ")
    ' 傘立て '
    """
    _, end, answer = text.rpartition("</think>")
    if end:
        return answer.strip()
    return "" if text.lstrip().startswith("<think>") else text
