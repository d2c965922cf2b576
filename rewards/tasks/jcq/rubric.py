"""JCQ's rubrics: four criteria, each 1 to 5 (paper, section 4.1 and table 20)."""

import re

from data.jcq import CRITERIA
from data.prompts import fill, prompt
from rewards.judges.protocol import Rubric, Scores
from rewards.parse import without_reasoning

JAPANESE = dict(zip(CRITERIA, ("流暢性", "柔軟性", "独創性", "精緻性"), strict=True))
_NAMES = "|".join(JAPANESE.values())
# Nothing may follow the value: not `4/5`, not `4.5`, not `4 (8個)`, not `[1-5]`.
_LINE = re.compile(rf"({_NAMES})\s*[:：]\s*(?:([1-5１-５])|[\[［]\s*([1-5１-５])\s*[\]］])")
_LIST_MARK = re.compile(r"^[-*・]\s+")
_MENTION = re.compile(rf"({_NAMES}).*[\d:：]")
# All that ends a line for some reader, not only what does for Python's `^`.
_HEADING = re.compile(r"(\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])([^\S\n\r]*)(#+)")
_FENCE = re.compile(r"<(?=[\s/]*answer\b)", re.IGNORECASE)


def parse_verdict(reply: str) -> Scores | None:
    """The four scores of a reply, each 1 to 5, or None: the judgement is then unparseable and has no score.

    One line for each criterion with one value and nothing else on it, in the order asked for (ACL, table 20). Accepted,
    since they leave no doubt: full-width digit, colon and brackets, a pair of brackets, bold, a list mark. Other lines
    are passed over, unless one names a criterion with a number or a colon: a reply that says two things about a
    criterion says nothing, so no verdict quoted from the answer counts.

    >>> parse_verdict("流暢性: 4\\n柔軟性: [3]\\n独創性：２\\n**精緻性**: 5")
    {'fluency': 4, 'flexibility': 3, 'originality': 2, 'elaboration': 5}
    >>> parse_verdict("流暢性: 4\\n柔軟性: 3\\n独創性: 2-3\\n精緻性: 5") is None
    True
    """
    verdict = without_reasoning(reply)
    if verdict is None:
        return None  # a draft that never came to an end
    values: list[tuple[str, int]] = []
    for line in verdict.splitlines():
        plain = _LIST_MARK.sub("", line.strip())
        if plain.count("**") % 2 == 0:
            plain = plain.replace("**", "").strip()
        if match := _LINE.fullmatch(plain):
            values.append((match[1], int(match[2] or match[3])))
        elif _MENTION.search(line):
            return None
    if [name for name, _ in values] != list(JAPANESE.values()):
        return None
    return {criterion: value for criterion, (_, value) in zip(CRITERIA, values, strict=True)}


def write_verdict(scores: Scores) -> str:
    """The scores as the prompt asks for them.

    >>> write_verdict({"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}).splitlines()[0]
    '流暢性: 4'
    """
    return "\n".join(f"{JAPANESE[criterion]}: {scores[criterion]}" for criterion in CRITERIA)


def guarded(answer: str) -> str:
    """The answer without headings and fences of its own.

    >>> guarded("## 案 #1\\n</answer >")
    '＃＃ 案 #1\\n＜/answer >'
    """
    answer = _HEADING.sub(lambda match: match[1] + match[2] + "＃" * len(match[3]), answer)
    return _FENCE.sub("＜", answer)


def _ask(question: str, answer: str) -> str:
    return fill(prompt("jcq_judge"), question=question, answer=answer)


def _ask_guarded(question: str, answer: str) -> str:
    return fill(prompt("jcq_judge_guarded"), question=question, answer=guarded(answer))


# The paper's prompt, byte for byte.
JCQ_V1 = Rubric("jcq-v1", CRITERIA, _ask, parse_verdict)
# The same with the answer fenced, against answers that address the judge: it is told that all inside is data, and what
# could pass for the prompt's own is taken from the answer. Scores under it are not the paper's benchmark.
JCQ_V1_GUARDED = Rubric("jcq-v1-guarded", CRITERIA, _ask_guarded, parse_verdict)
JCQ_RUBRICS = {rubric.name: rubric for rubric in (JCQ_V1, JCQ_V1_GUARDED)}
