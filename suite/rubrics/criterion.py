"""How a judge is asked by the criteria of a rating rubric: one at a time, or all at once; its replies are JSON.

One at a time is the PBIG-DATA paper's prompt (Figure 2): the verdict has a score, a reason and a confidence. The
ledger's scores hold the score; `read_verdict` finds reason and confidence in the reply that stands beside it. All at
once is for training, at an eighth of the cost.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.prompts import fill, prompt
from sozo.scoring.final_text import final_text, one_json
from sozo.scoring.judges.protocol import Rubric, Scores
from sozo.suite.rubrics import Criterion

PROMPT, PROMPT_FOR_ALL = "pbig-v1", "pbig-all-v1"


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    """What a judge says of one thing by one criterion."""

    score: int  # on the criterion's scale
    reason: str
    confidence: int  # 0 to 100


def read_verdict(reply: str, criterion: Criterion) -> CriterionVerdict | None:
    """The verdict of a reply; None if it is not, after any reasoning and but for a code fence, one JSON object.

    It has the keys score, reason and confidence and no other, none of them twice. The score equals a whole number of
    the scale (3.0 is 3), the confidence is a whole number from 0 to 100.

    >>> one_to_four = Criterion("specificity", (1, 4))
    >>> read_verdict('{"score": 3.0, "reason": "clear", "confidence": 85}', one_to_four)
    CriterionVerdict(score=3, reason='clear', confidence=85)
    >>> read_verdict('{"score": 0, "reason": "clear", "confidence": 85}', one_to_four) is None
    True
    """
    values = _read_object(reply, ("score", "reason", "confidence"))
    if (
        values is None
        or not _is_score(values["score"], criterion)
        or not isinstance(values["reason"], str)
    ):
        return None
    confidence = values["confidence"]
    if type(confidence) is not int or not 0 <= confidence <= 100:
        return None
    return CriterionVerdict(int(values["score"]), values["reason"], confidence)


def read_scores(reply: str, criteria: Sequence[Criterion]) -> Scores | None:
    """The scores of a reply; None if it is not one JSON object with a whole number on its scale for each criterion.

    >>> clarity = Criterion("clarity", (1, 4))
    >>> read_scores('{"clarity": 3}', [clarity]), read_scores('{"clarity": 5}', [clarity])
    ({'clarity': 3}, None)
    """
    values = _read_object(reply, [criterion.name for criterion in criteria])
    if values is None or not all(
        _is_score(values[criterion.name], criterion) for criterion in criteria
    ):
        return None
    return {criterion.name: int(values[criterion.name]) for criterion in criteria}


def _read_object(reply: str, keys: Iterable[str]) -> dict[str, Any] | None:
    """The JSON object that a reply is, if it has exactly these keys."""
    try:
        values = one_json(final_text(reply) or "")
    except ValueError:
        return None
    return values if isinstance(values, dict) and set(values) == set(keys) else None


def _is_score(value: Any, criterion: Criterion) -> bool:
    return type(value) in (int, float) and value in criterion.scores


def criterion_rubric(criterion: Criterion) -> Rubric:
    """How a judge is asked by one criterion. The question is a section of examples, the answer what is scored.

    Its name has a digest of the criterion, so that another wording of it makes other judgements.

    >>> rubric = criterion_rubric(Criterion("clarity", (1, 4), title="Clarity"))
    >>> rubric.name, "# Examples" in rubric.prompt("", "Idea: a cup"), rubric.read('{"score": 5}')
    ('pbig-v1 clarity 8d5f42', False, None)
    """

    def ask(examples: str, target: str) -> str:
        return fill(
            prompt("pbig_judge", __package__),
            instruction=criterion.instruction,
            examples=examples,
            input=target,
        )

    def read(reply: str) -> Scores | None:
        verdict = read_verdict(reply, criterion)
        return {criterion.name: verdict.score} if verdict else None

    wording = f"{criterion.instruction}\n{criterion.lowest}-{criterion.highest}"
    name = (
        f"{PROMPT} {criterion.name} {hashlib.sha256(wording.encode()).hexdigest()[:6]}"
    )
    return Rubric(
        name, (criterion.name,), ask, read, criterion.lowest, criterion.highest
    )


def criteria_rubric(criteria: Sequence[Criterion]) -> Rubric:
    """How a judge is asked by all `criteria` at once. The question is a section of examples, or empty."""
    wording = "\n\n".join(criterion.instruction for criterion in criteria)
    form = ", ".join(
        f'"{criterion.name}": <{criterion.lowest} to {criterion.highest}>'
        for criterion in criteria
    )

    def ask(examples: str, target: str) -> str:
        return fill(
            prompt("pbig_all", __package__),
            criteria=wording,
            examples=examples,
            input=target,
            form=f"{{{form}}}",
        )

    def read(reply: str) -> Scores | None:
        return read_scores(reply, criteria)

    name = f"{PROMPT_FOR_ALL} {hashlib.sha256(f'{wording}{form}'.encode()).hexdigest()[:6]}"
    lowest = min(criterion.lowest for criterion in criteria)
    highest = max(criterion.highest for criterion in criteria)
    return Rubric(
        name,
        tuple(criterion.name for criterion in criteria),
        ask,
        read,
        lowest,
        highest,
    )
