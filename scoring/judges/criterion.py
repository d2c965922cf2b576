"""A judge that scores one criterion of a rubric at a time: the PBIG-DATA paper's prompt (Figure 2), and its verdict.

The verdict is one JSON object with a score, a reason and a confidence, read strictly. The ledger's scores hold the
score; `read_verdict` finds reason and confidence in the reply that stands beside it.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from sozo.data.prompts import fill, prompt
from sozo.data.rubrics import Criterion
from sozo.scoring.final_text import final_text, one_json
from sozo.scoring.judges.protocol import Rubric, Scores

PROMPT = "pbig-v1"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one thing by one criterion."""

    score: int  # on the criterion's scale
    reason: str
    confidence: int  # 0 to 100


def read_verdict(reply: str, criterion: Criterion) -> Verdict | None:
    """The verdict of a reply; None if it is not, after any reasoning and but for a code fence, one JSON object.

    It has the keys score, reason and confidence and no other, none of them twice. The score equals a whole number of
    the scale (3.0 is 3), the confidence is a whole number from 0 to 100.

    >>> one_to_four = Criterion("specificity", (1, 4))
    >>> read_verdict('{"score": 3.0, "reason": "clear", "confidence": 85}', one_to_four)
    Verdict(score=3, reason='clear', confidence=85)
    >>> read_verdict('{"score": 0, "reason": "clear", "confidence": 85}', one_to_four) is None
    True
    """
    try:
        values = one_json(final_text(reply) or "")
    except ValueError:
        return None
    if not isinstance(values, dict) or set(values) != {"score", "reason", "confidence"}:
        return None
    score, reason, confidence = values["score"], values["reason"], values["confidence"]
    if type(score) not in (int, float) or score not in criterion.scores or not isinstance(reason, str):
        return None
    if type(confidence) is not int or not 0 <= confidence <= 100:
        return None
    return Verdict(int(score), reason, confidence)


def criterion_rubric(criterion: Criterion) -> Rubric:
    """How a judge is asked by one criterion. The question is `examples_text`, the answer what is to be scored.

    Its name has a digest of the criterion, so that another wording of it makes other judgements.

    >>> rubric = criterion_rubric(Criterion("clarity", (1, 4), title="Clarity"))
    >>> rubric.name, "# Examples" in rubric.prompt("", "Idea: a cup"), rubric.read('{"score": 5}')
    ('pbig-v1 clarity 8d5f42', False, None)
    """

    def ask(examples: str, target: str) -> str:
        return fill(prompt("pbig_judge"), instruction=criterion.instruction, examples=examples, input=target)

    def read(reply: str) -> Scores | None:
        verdict = read_verdict(reply, criterion)
        return {criterion.name: verdict.score} if verdict else None

    wording = f"{criterion.instruction}\n{criterion.lowest}-{criterion.highest}"
    name = f"{PROMPT} {criterion.name} {hashlib.sha256(wording.encode()).hexdigest()[:6]}"
    return Rubric(name, (criterion.name,), ask, read, criterion.lowest, criterion.highest)


def examples_text(examples: Iterable[tuple[str, int | str]]) -> str:
    """The prompt's section of examples, what was scored and its score; without any there is no section.

    >>> examples_text([("Idea: a cup", 3)])
    '# Examples\\nExample 1\\nIdea: a cup\\nScore: 3\\n\\n'
    """
    texts = [f"Example {number}\n{text}\nScore: {score}\n\n" for number, (text, score) in enumerate(examples, 1)]
    return "# Examples\n" + "".join(texts) if texts else ""
