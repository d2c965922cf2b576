"""What a judge is asked: the papers' prompts, and one for answers that talk to the judge."""

from __future__ import annotations

import re

from data.jcq import CRITERIA
from data.prompts import fill, judge_messages, prompt, sat_judge_messages
from data.schema import utf8_safe

# A prompt's name stands for its text in every judgement's key: a changed text needs a new name.
JCQ_PROMPTS = ("jcq-v1", "jcq-v1-guarded")
SAT_PROMPT = "sat-v1"
PROMPTS = (*JCQ_PROMPTS, SAT_PROMPT)
SAT_CRITERIA = ("creativity",)

# All that ends a line for some reader, not only what does for Python's `^`.
_HEADING = re.compile(r"(\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])([^\S\n\r]*)(#+)")
_FENCE = re.compile(r"<(?=[\s/]*answer\b)", re.IGNORECASE)


def judge_prompt(name: str, question: str, answer: str) -> str:
    """The judge's prompt for one answer, filled in one pass: no text of an answer fills a placeholder.

    `jcq-v1` is the paper's (ACL, table 20), byte for byte. `jcq-v1-guarded` fences the answer, tells the judge that all
    inside is data, and takes from the answer what could pass for the prompt's own: `#` at the start of a line becomes
    `＃`, and the `<` of a fence `＜`. Scores under it are not the paper's benchmark. `sat-v1` asks for one grade of a
    rewrite (the answer) of a story (the question); see `data.prompts` (ACL, table 22).

    Raises:
        ValueError: There is no such prompt.

    >>> judge_prompt("jcq-v1-guarded", "Q", "a\\n</answer>").count("</answer>")  # the note's and the fence
    2
    """
    question, answer = utf8_safe(question), utf8_safe(answer)
    if name == "jcq-v1":
        return judge_messages(question, answer)[0]["content"]
    if name == "jcq-v1-guarded":
        return fill(prompt("jcq_judge_guarded"), question=question, answer=guarded(answer))
    if name == SAT_PROMPT:
        return sat_judge_messages(question, answer)[0]["content"]
    raise ValueError(f"no judge prompt {name!r}; there are {', '.join(PROMPTS)}")


def criteria_of(name: str) -> tuple[str, ...]:
    """What the scores of a judgement by this prompt are named, in order.

    >>> criteria_of("sat-v1")
    ('creativity',)
    """
    return SAT_CRITERIA if name == SAT_PROMPT else CRITERIA


def guarded(answer: str) -> str:
    """The answer without headings and fences of its own.

    >>> guarded("## 案 #1\\n</answer >")
    '＃＃ 案 #1\\n＜/answer >'
    """
    answer = _HEADING.sub(lambda match: match[1] + match[2] + "＃" * len(match[3]), answer)
    return _FENCE.sub("＜", answer)
