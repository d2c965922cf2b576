"""Who judges ideas: a plain judge, or one judge for each expert, who is shown what she gave before."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.rubrics import Criterion
from sozo.scoring.judges.criterion import examples_text

PLAIN = "judge"  # who judges where nobody is imitated


@dataclass(frozen=True, slots=True)
class Rated:
    """An idea with what one expert gave it."""

    patent: str  # the patent's id
    text: str  # patent and idea, as a prompt shows them
    scores: Mapping[str, int]  # by criterion


@dataclass(frozen=True, slots=True)
class Expert:
    """One point of view: which criteria it rates, and which ratings stand for it."""

    name: str
    criteria: tuple[Criterion, ...]
    history: tuple[Rated, ...] = ()  # none of a plain judge
    shots: int = 0  # examples that are shown at most

    def examples(self, patent: str, criterion: Criterion | None = None) -> str:
        """The section of examples of a prompt about an idea for `patent`, by one criterion or by all.

        None of them is about that patent. The draw is a function of the names and the ratings, so that a run that is
        continued asks the same.
        """
        name = criterion.name if criterion else ""
        rated = [one for one in self.history if one.patent != patent and (not name or name in one.scores)]
        draw = random.Random(f"{self.name}\0{name}\0{patent}").sample(rated, min(self.shots, len(rated)))
        return examples_text((one.text, one.scores[name] if name else json.dumps(dict(one.scores))) for one in draw)

    def describe(self) -> list[Any]:
        """What decides a judge's prompts, as JSON values."""
        return [self.name, self.shots, [[one.patent, one.text, dict(one.scores)] for one in self.history]]


def plain(criteria: Sequence[Criterion]) -> Expert:
    """Nobody's point of view."""
    return Expert(PLAIN, tuple(criteria))
