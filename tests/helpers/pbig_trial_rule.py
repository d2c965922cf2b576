"""The rule that made `suite/pbig/trial/ratings.csv`: nine invented experts. No person rated anything.

An expert has a strictness (-1, 0 or 1 is added to what she gives) and a taste: ideas for the home, ideas for work, or
ideas with figures in them. The first five are technical, the others business; each rates every second idea, in stages
as the paper's experts did: what comes after a gate that she closed she does not score.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sozo.suite.pbig.ideas import Idea, trial_ideas

HOME = re.compile("家庭|家族|自宅|子ども|暮らし|趣味")
WORK = re.compile("工場|会社|店|病院|役所|役場|現場|農家")
_FIGURES = re.compile(r"\d+")
# What an idea of a kind is worth before an expert's strictness.
_SPECIFIC = {"good": 4, "vague": 2, "unbuildable": 3}
_VALID = {"good": 3, "vague": 2, "unbuildable": 1}


class Expert(NamedTuple):
    """One of the nine."""

    name: str
    taste: Callable[[str], bool]  # whether she likes an idea's text
    strictness: int  # -1, 0 or 1: added, so that -1 is the strictest

    @property
    def technical(self) -> bool:
        """Whether she scores the technical axes; else those of business."""
        return self.name.startswith("T")


def _has_figures(text: str) -> bool:
    return len(_FIGURES.findall(text)) >= 2


_TASTES: tuple[Callable[[str], bool], ...] = (
    lambda text: bool(HOME.search(text)),
    lambda text: bool(WORK.search(text)),
    _has_figures,
)
_STRICTNESS = {
    "T1": -1,
    "T2": 0,
    "T3": 1,
    "T4": 0,
    "T5": 1,
    "B1": -1,
    "B2": 0,
    "B3": 1,
    "B4": 0,
}
EXPERTS = tuple(
    Expert(name, _TASTES[k % 3], extra)
    for k, (name, extra) in enumerate(_STRICTNESS.items())
)


def rate(expert: Expert, idea: Idea) -> dict[str, int]:
    """What an expert gives an idea of the trial: axis -> score, without the axes behind a gate that she closed.

    >>> rate(EXPERTS[0], trial_ideas()[0])
    {'specificity': 3, 'technical_validity': 2, 'innovativeness': 1, 'competitive_advantage': 2}
    """
    text, kind = (
        " ".join((idea.title, idea.description, idea.implementation)),
        idea.id.rpartition("-")[2],
    )
    likes, extra = expert.taste(text), expert.strictness
    scores = {"specificity": _within(_SPECIFIC[kind] + extra, 1, 4)}
    if scores["specificity"] <= 2:
        return scores
    if not expert.technical:
        for side, words in (("b2b", WORK), ("b2c", HOME)):
            meant = bool(words.search(text))  # 0: not a product of this kind
            scores[f"need_validity_{side}"] = (
                _within(1 + likes + extra, 1, 3) if meant else 0
            )
            scores[f"market_size_{side}"] = (
                _within(2 * likes + (extra > 0), 1, 3) if meant else 0
            )
        return scores
    scores["technical_validity"] = _within(_VALID[kind] + extra, 1, 4)
    if scores["technical_validity"] > 1:
        scores["innovativeness"] = _within(2 + 2 * likes + extra, 1, 5)
        scores["competitive_advantage"] = 1 + (kind == "good") + 2 * likes
    return scores


def ratings() -> Iterator[dict[str, str | int]]:
    """Every rating: the columns of `ratings.csv`."""
    for k, idea in enumerate(trial_ideas()):
        place = k // 3 + k % 3  # of its technology and its kind together
        for number, expert in enumerate(EXPERTS):
            if (place + number) % 2 == 0:
                for axis, score in rate(expert, idea).items():
                    yield {
                        "item": idea.id,
                        "criterion": axis,
                        "rater": expert.name,
                        "score": score,
                    }


def ratings_csv() -> str:
    """The content of `ratings.csv`."""
    file = io.StringIO()
    writer = csv.DictWriter(
        file, ("item", "criterion", "rater", "score"), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(ratings())
    return file.getvalue()


def _within(score: int, low: int, high: int) -> int:
    return max(low, min(high, score))
