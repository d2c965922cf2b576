"""JCQ's rubrics: four criteria, each 1 to 5 (paper, section 4.1 and table 20)."""

import re

from sozo.data.prompts import fill, prompt
from sozo.scoring.final_text import final_text
from sozo.scoring.judges.protocol import Rubric, Scores
from sozo.tasks.jcq.questions import CRITERIA

JAPANESE = dict(zip(CRITERIA, ("流暢性", "柔軟性", "独創性", "精緻性"), strict=True))
_NAMES = "|".join(JAPANESE.values())
# Nothing may follow the value: not `4/5`, not `4.5`, not `4 (8個)`, not `[1-5]`.
_LINE = re.compile(rf"({_NAMES})\s*[:：]\s*(?:([1-5１-５])|[\[［]\s*([1-5１-５])\s*[\]］])")
_LIST_MARK = re.compile(r"^(?:[-*・]|\d\.)\s+")
_IN_ONE_LINE = re.compile(rf"[,，、/／|｜;；\s]+(?={_NAMES})")
_MENTION = re.compile(rf"({_NAMES}).*[\d:：]")
_CLOSING = re.compile(r"`{3,}\w*|-{3,}|以上(?:です|となります)?[。.]?")
_NOT_MEANT = re.compile(
    r"(?:例|見本|サンプル|下書き)(?:です|は|として|を示|[:：。)）\]]|$)|^(?:例えば|たとえば)[、:：]?$|仮(?:の|に|評価|採点)"
    r"|\b(?:example|sample|draft|template)\b|\be\.g\.",
    re.IGNORECASE,
)
# All that ends a line for some reader, not only what does for Python's `^`.
_HEADING = re.compile(r"(\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])([^\S\n\r]*)(#+)")
_FENCE = re.compile(r"<(?=[\s/]*answer\b)", re.IGNORECASE)


def parse_verdict(reply: str) -> Scores | None:
    """The four scores of a reply, each 1 to 5, or None: the judgement is then unparseable and has no score.

    They are the last thing that a reply says (`final_text`): one line for each criterion with one value and nothing
    else on it, in the order asked for (ACL, table 20), or all four on one line, and nothing behind them, which could
    take them back. Accepted, since they leave no doubt: full-width digit, colon and brackets, a pair of brackets, bold,
    a list mark, a code fence, 以上です. Text before them is passed over, unless it names a criterion with a number or a
    colon, or calls them an example or a draft: a reply that says two things about a criterion says nothing, so no
    verdict quoted from the answer counts.

    >>> parse_verdict("流暢性: 4\\n柔軟性: [3]\\n独創性：２\\n**精緻性**: 5")
    {'fluency': 4, 'flexibility': 3, 'originality': 2, 'elaboration': 5}
    >>> parse_verdict("流暢性: 4\\n柔軟性: 3\\n独創性: 2-3\\n精緻性: 5") is None
    True
    """
    lines = [_plain(line) for line in (final_text(reply) or "").splitlines() if line.strip()]
    while lines and _CLOSING.fullmatch(lines[-1]):
        lines.pop()
    last = _IN_ONE_LINE.split(lines[-1]) if lines else []
    verdict, before = (last, lines[:-1]) if len(last) > 1 else (lines[-len(JAPANESE) :], lines[: -len(JAPANESE)])
    matches = [_LINE.fullmatch(line) for line in verdict]
    values = [(match[1], int(match[2] or match[3])) for match in matches if match]
    if [name for name, _ in values] != list(JAPANESE.values()) or len(matches) != len(values):
        return None
    before = [line for line in before if not _CLOSING.fullmatch(line)]
    if any(_MENTION.search(line) for line in before) or (before and _NOT_MEANT.search(before[-1])):
        return None
    return {criterion: value for criterion, (_, value) in zip(CRITERIA, values, strict=True)}


def _plain(line: str) -> str:
    """A line without what only decorates it."""
    plain = _LIST_MARK.sub("", line.strip())
    return plain.replace("**", "").strip() if plain.count("**") % 2 == 0 else plain


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
