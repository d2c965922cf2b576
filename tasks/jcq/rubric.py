"""JCQ's rubrics: four criteria, each 1 to 5 (paper, section 3.1 and table 20)."""

import re

from sozo.data.foreign import as_tokenized
from sozo.data.prompts import fill, prompt
from sozo.scoring.judges.protocol import Rubric
from sozo.tasks.jcq.questions import CRITERIA
from sozo.tasks.jcq.verdict import read_as_jcq_judge, read_in_prose, read_strictly

# All that ends a line for some reader, not only what does for Python's `^`.
_HEADING = re.compile(
    r"(?:\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])[^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*(#+)"
)
_FENCE = re.compile(r"(<)(?=[\s/]*answer\b)", re.IGNORECASE)
# What no tokenizer makes of them again: full-width ones become the same by NFKC.
_INSTEAD = {"#": "♯", "<": "‹"}


def fenced(answer: str) -> str:
    """The answer without headings and fences of its own, whatever a tokenizer makes of its characters.

    >>> fenced("## 案 #1\\n</answer >")
    '♯♯ 案 #1\\n‹/answer >'
    """
    text, places = as_tokenized(answer)
    letters = list(answer)
    for pattern in (_HEADING, _FENCE):
        for match in pattern.finditer(text):
            for k in range(*match.span(1)):
                letters[places[k]] = _INSTEAD[text[k]]
    return "".join(letters)


def _ask(question: str, answer: str) -> str:
    return fill(prompt("jcq_judge"), question=question, answer=answer)


def _ask_fenced(question: str, answer: str) -> str:
    return fill(prompt("jcq_judge_guarded"), question=question, answer=fenced(answer))


# The paper's prompt, byte for byte.
JCQ_V1 = Rubric("jcq-v1", CRITERIA, _ask, read_strictly, read_prose=read_in_prose)
# The same with the answer fenced, against answers that address the judge: it is told that all inside is data, and what
# could pass for the prompt's own is taken from the answer. Scores under it are not the paper's benchmark.
JCQ_V1_FENCED = Rubric(
    "jcq-v1-guarded-2", CRITERIA, _ask_fenced, read_strictly, read_prose=read_in_prose
)
READERS = {"strict": read_strictly, "jcq-judge": read_as_jcq_judge}
JCQ_RUBRICS = {rubric.name: rubric for rubric in (JCQ_V1, JCQ_V1_FENCED)}
