"""Ideas and their finished runs."""

import json
import re

from sozo.suite.pbig.ideas import trial_ideas
from sozo.suite.rubrics import criteria_of

CRITERIA = criteria_of("pbig")


KIND = {
    "good": (4, 3),
    "vague": (2, 2),
    "unbuildable": (3, 1),
}  # specificity and technical validity


def verdict(score, reason="r"):
    return json.dumps({"score": score, "reason": reason, "confidence": 90})


def criterion_of(prompt):
    return next(c for c in CRITERIA if f"Criterion: {c.title}\n" in prompt)


def by_kind(prompt):
    """A judge that knows the trial's ideas: 4 and 3 for a good one, and 2 by every later criterion."""
    title = re.search(r"Product idea: (.+)\n(?!.*Product idea)", prompt, re.DOTALL)[
        1
    ].partition("\n")[0]
    kind = next(
        idea.id.rpartition("-")[2] for idea in trial_ideas() if idea.title == title
    )
    return verdict(
        dict(zip(("specificity", "technical_validity"), KIND[kind], strict=True)).get(
            criterion_of(prompt).name, 2
        )
    )
