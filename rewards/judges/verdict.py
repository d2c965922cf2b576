"""From a judge's reply to scores, or to nothing: JCQ's four criteria, and SAT's one grade."""

from __future__ import annotations

import re

from data.jcq import CRITERIA
from rewards.judges.prompts import SAT_CRITERIA, SAT_PROMPT
from rewards.parse import without_reasoning

Scores = dict[str, int]
JAPANESE = dict(zip(CRITERIA, ("流暢性", "柔軟性", "独創性", "精緻性"), strict=True))

_NAMES = "|".join(JAPANESE.values())
# Nothing may follow the value: not `4/5`, not `4.5`, not `4 (8個)`, not `[1-5]`.
_LINE = re.compile(rf"({_NAMES})\s*[:：]\s*(?:([1-5１-５])|[\[［]\s*([1-5１-５])\s*[\]］])")
_LIST_MARK = re.compile(r"^[-*・]\s+")
_MENTION = re.compile(rf"({_NAMES}).*[\d:：]")
_THINKING = re.compile(r"\s*<think>(.*?</think>)?", re.DOTALL)
_GRADE = re.compile(r"[1-5]")


def read_scores(prompt: str, reply: str) -> Scores | None:
    """What a reply to the prompt of this name says; None if it does not say it as it was asked to.

    >>> read_scores("sat-v1", "4")
    {'creativity': 4}
    """
    if prompt != SAT_PROMPT:
        return parse_verdict(reply)
    grade = parse_grade(reply)
    return None if grade is None else dict.fromkeys(SAT_CRITERIA, grade)


def parse_verdict(reply: str) -> Scores | None:
    """The four scores of a reply, each 1 to 5, or None: the judgement is then unparseable and has no score.

    The rule: one line for each criterion with one value and nothing else on it, in the order asked for (ACL, table 20).
    Accepted around them, since it leaves no doubt about the value: full-width digit, colon and brackets, one pair of
    brackets, bold, a list mark. Other lines (a preamble, a code fence) are passed over, unless one names a criterion
    together with a number or a colon: a reply that says two things about a criterion, even the same thing twice, says
    nothing. So no verdict that the judge quotes from the answer counts. A leading `<think>...</think>` is cut off.

    Of the 77,000 replies of gpt-4o-2024-08-06 that the benchmark's authors once published, it reads the 76,971 that
    they read, with the same values; the others say in prose that they cannot judge.

    >>> parse_verdict("流暢性: 4\\n柔軟性: [3]\\n独創性：２\\n**精緻性**: 5")
    {'fluency': 4, 'flexibility': 3, 'originality': 2, 'elaboration': 5}
    >>> parse_verdict("流暢性: 4\\n柔軟性: 3\\n独創性: 2-3\\n精緻性: 5") is None
    True
    """
    if thinking := _THINKING.match(reply):
        if not thinking[1]:
            return None  # a draft that never came to an end
        reply = reply[thinking.end() :]
    found: list[tuple[str, int]] = []
    for line in reply.splitlines():
        plain = _LIST_MARK.sub("", line.strip())
        if plain.count("**") % 2 == 0:
            plain = plain.replace("**", "").strip()
        if match := _LINE.fullmatch(plain):
            found.append((match[1], int(match[2] or match[3])))
        elif _MENTION.search(line):
            return None
    if [name for name, _ in found] != list(JAPANESE.values()):
        return None
    return {criterion: value for criterion, (_, value) in zip(CRITERIA, found, strict=True)}


def parse_grade(reply: str) -> int | None:
    """The grade of a reply: one ASCII digit from 1 to 5 and nothing else after a reasoning block and white space.

    >>> parse_grade(" 4\\n"), parse_grade("<think>3か4</think>4"), parse_grade("4点"), parse_grade("6")
    (4, 4, None, None)
    """
    answer = without_reasoning(reply)
    return int(answer) if answer is not None and _GRADE.fullmatch(answer) else None


def write_verdict(scores: Scores) -> str:
    """The scores as the prompt asks for them.

    >>> write_verdict({"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}).splitlines()[0]
    '流暢性: 4'
    """
    return "\n".join(f"{JAPANESE[criterion]}: {scores[criterion]}" for criterion in CRITERIA)
