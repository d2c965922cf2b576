"""A judge that scores an idea by several criteria in one reply: an eighth of the cost, for training."""

import hashlib
from collections.abc import Sequence

from sozo.data.prompts import fill, prompt
from sozo.data.rubrics import Criterion
from sozo.scoring.final_text import final_text, one_json
from sozo.scoring.judges.protocol import Rubric, Scores

PROMPT = "pbig-all-v1"


def read_scores(reply: str, criteria: Sequence[Criterion]) -> Scores | None:
    """The scores of a reply; None if it is not one JSON object with a whole number on its scale for each criterion.

    >>> read_scores('{"clarity": 3}', [Criterion("clarity", (1, 4))])
    {'clarity': 3}
    >>> read_scores('{"clarity": 5}', [Criterion("clarity", (1, 4))]) is None
    True
    """
    try:
        values = one_json(final_text(reply) or "")
    except ValueError:
        return None
    if not isinstance(values, dict) or set(values) != {criterion.name for criterion in criteria}:
        return None
    if not all(type(values[c.name]) in (int, float) and values[c.name] in c.scores for c in criteria):
        return None
    return {criterion.name: int(values[criterion.name]) for criterion in criteria}


def all_at_once(criteria: Sequence[Criterion]) -> Rubric:
    """How a judge is asked by all `criteria`. The question is `Expert.examples`, the answer `rated_text`."""
    wording = "\n\n".join(criterion.instruction for criterion in criteria)
    form = ", ".join(f'"{criterion.name}": <{criterion.lowest} to {criterion.highest}>' for criterion in criteria)

    def ask(examples: str, target: str) -> str:
        return fill(prompt("pbig_all"), criteria=wording, examples=examples, input=target, form=f"{{{form}}}")

    def read(reply: str) -> Scores | None:
        return read_scores(reply, criteria)

    name = f"{PROMPT} {hashlib.sha256(f'{wording}{form}'.encode()).hexdigest()[:6]}"
    lowest, highest = min(c.lowest for c in criteria), max(c.highest for c in criteria)
    return Rubric(name, tuple(criterion.name for criterion in criteria), ask, read, lowest, highest)
