"""What rewrites are worth: the mean over stories (paper, Tables 7 and 14), and how far the prompt was kept to."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sozo.scoring.measure import Estimate, t_interval
from sozo.tasks.sat.compliance import Extra, keeps_conditions, length_ok
from sozo.tasks.sat.stories import Rewrite, SatReason


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


def summarise(rewrites: Sequence[Rewrite], num_stories: int, *, source: str | None = None) -> dict[str, Any]:
    """The row of Table 7 as `metrics.json` has it: of scored rewrites of so many stories, by default of their sources.

    The score is the mean over stories of each story's mean over its rewrites. Counts such as `compliant` (rewrites
    that keep to every condition of the prompt), `length_ok` (about 400 characters), `one_line`, `only_story` and
    `truncated` (cut off by the generator) are of `num_answers` rewrites; a rewrite that is empty keeps no condition.
    `extras` are rewrites by what they hold beside the story, of which one may hold several. `mean_length` is in
    characters, `mean_copied` the mean share of the story's 8-grams that are in the rewrite.
    """
    compliant = [row for row in rewrites if keeps_conditions(row)]
    scores = np.array(list(story_scores(rewrites).values()))
    n = len(scores)
    mean, std = float(scores.mean()) if n else None, float(scores.std(ddof=1)) if n > 1 else None
    low, high = t_interval(mean, std, n) or (None, None)
    compliant_scores = list(story_scores(compliant).values())
    of_compliant = Estimate(_mean(compliant_scores), None, None, len(compliant_scores), num_stories)
    extras, reasons = Counter(x for row in rewrites for x in row.extras or ()), Counter(row.reason for row in rewrites)
    return {
        "source": ", ".join(dict.fromkeys(row.source for row in rewrites)) if source is None else source,
        "num_items": num_stories,
        "num_answers": len(rewrites),
        "valid": sum(row.score is not None for row in rewrites),
        "reasons": {str(reason): reasons[reason] for reason in SatReason},
        "measures": {"sat": asdict(Estimate(mean, low, high, n, num_stories))},
        "std": std,  # over stories (ddof = 1); None with fewer than two of them
        "compliant": len(compliant),
        "compliant_mean": asdict(of_compliant),
        "length_ok": sum(length_ok(row.length or 0) for row in rewrites),
        "one_line": sum(bool(row.length and row.one_line) for row in rewrites),
        "only_story": sum(bool(row.length and not row.extras) for row in rewrites),
        "truncated": sum(row.finish_reason == "length" for row in rewrites),
        "extras": {str(extra): extras[extra] for extra in Extra},
        "mean_length": _mean([row.length for row in rewrites if row.length is not None]),
        "mean_copied": _mean([row.copied for row in rewrites if row.copied is not None]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
