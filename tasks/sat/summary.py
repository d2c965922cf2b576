"""What rewrites are worth: the mean over stories (paper, Tables 7 and 14), and how far the prompt was kept to."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sozo.scoring.measure import Summary, t_interval
from sozo.tasks.sat.compliance import Extra, keeps_conditions, length_ok
from sozo.tasks.sat.stories import Rewrite, SatReason


@dataclass(frozen=True, slots=True)
class SatSummary(Summary):
    """One row of Table 7: the score is the mean over stories of each story's mean over its rewrites."""

    source: str  # who wrote the rewrites
    num_stories: int  # stories that were to be rewritten
    scored_stories: int  # those with a score; `mean`, `std` and `ci95` always stand beside it
    num_rewrites: int  # all rewrites
    scored_rewrites: int  # those with a score
    mean: float | None  # mean distance in [0, 2]; None without a score
    std: float | None  # sample standard deviation over stories (ddof = 1); None with fewer than two of them
    ci95: tuple[float, float] | None  # normal, over stories: mean -+ 1.96 std / sqrt(scored_stories)
    reasons: dict[str, int]  # rewrites without a score by reason, every reason named
    compliant: int  # rewrites (of `num_rewrites`, as all below) that keep to every condition of the prompt
    length_ok: int  # those with about 400 characters (`LENGTH_BAND`)
    one_line: int  # those without a line break; a rewrite that is empty keeps no condition, here and below
    only_story: int  # those that hold nothing but the story
    truncated: int  # those that the generator cut off (`finish_reason` length)
    extras: dict[str, int]  # rewrites by what they hold beside the story; one may count under several
    mean_length: float | None  # mean number of characters; None without rewrites
    mean_copied: float | None  # mean share of the story's 8-grams that are in the rewrite; None without rewrites
    compliant_mean: float | None  # as `mean`, over the compliant rewrites with a score; None without one
    compliant_stories: int  # how many stories that is


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def story_scores(rewrites: Iterable[Rewrite]) -> dict[str, float]:
    """Score of each story that has one: the mean over its rewrites with a score.

    >>> story_scores([Rewrite("a", "1", "", score=0.2), Rewrite("b", "1", "", score=0.4), Rewrite("c", "2", "")])
    {'1': 0.30000000000000004}
    """
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for rewrite in rewrites:
        if rewrite.score is not None:
            scores[rewrite.story_id].append(rewrite.score)
    return {story: math.fsum(values) / len(values) for story, values in scores.items()}


def summarise(rewrites: Sequence[Rewrite], num_stories: int, *, source: str | None = None) -> SatSummary:
    """The row of scored rewrites of so many stories (those that nobody rewrote too); by default of their sources."""
    by_story = np.array(list(story_scores(rewrites).values()))
    n = len(by_story)
    compliant = [row for row in rewrites if keeps_conditions(row)]
    compliant_scores = list(story_scores(compliant).values())
    mean, std = float(by_story.mean()) if n else None, float(by_story.std(ddof=1)) if n > 1 else None
    extras, reasons = Counter(x for row in rewrites for x in row.extras or ()), Counter(row.reason for row in rewrites)
    return SatSummary(
        source=", ".join(dict.fromkeys(row.source for row in rewrites)) if source is None else source,
        num_stories=num_stories,
        scored_stories=n,
        num_rewrites=len(rewrites),
        scored_rewrites=sum(row.score is not None for row in rewrites),
        mean=mean,
        std=std,
        ci95=t_interval(mean, std, n),
        reasons={str(reason): reasons[reason] for reason in SatReason},
        compliant=len(compliant),
        length_ok=sum(length_ok(row.length or 0) for row in rewrites),
        one_line=sum(bool(row.length and row.one_line) for row in rewrites),
        only_story=sum(bool(row.length and not row.extras) for row in rewrites),
        truncated=sum(row.finish_reason == "length" for row in rewrites),
        extras={str(extra): extras[extra] for extra in Extra},
        mean_length=_mean([row.length for row in rewrites if row.length is not None]),
        mean_copied=_mean([row.copied for row in rewrites if row.copied is not None]),
        compliant_mean=_mean(compliant_scores),
        compliant_stories=len(compliant_scores),
    )
