"""The papers' protocol texts (DAT, SAT, JCQ judge), byte for byte as they stand in the text files beside this one.

They are tables 14 to 16 of the NLP 2025 paper, whose print shows no blank lines: those are a reconstruction. That of
the JCQ judge is also `data/judge_prompt.txt` of nlp-waseda/JCQ-judge. Two are sozo's own: `jcq_judge_guarded` fences
the answer and has one more note, against answers that address the judge; `sat_judge` is Japanese for the prompt of
SAT's judge, which the ACL paper (Table 22) prints in English only, with the same instruction, five grades and order.
`pbig_judge` is Figure 2 of the PBIG-DATA paper; its blank lines and the marks of its headings are a reconstruction too.
`pbig_idea` and `pbig_idea_ja`, which ask a model for an idea, are sozo's own, since the paper prints no such prompt;
so is `pbig_all`, which asks a judge by all criteria at once.
`dat_en` is the instruction of Olson et al. (2021) in the form of `dat`.
`hivemind`, which asks an open question for prose of about one length, is sozo's own.
`cue_dat` is sozo's own; its one placeholder is `{cue}`.
`sipen` is A.1 of the SIPeN paper, with the column's line breaks taken out; `sipen_ja` is our Japanese of it, and
`sipen_ja_v2` asks what tells a contradiction from what is left open.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Literal

PromptName = Literal[
    "cue_dat",
    "dat",
    "dat_en",
    "hivemind",
    "sat",
    "jcq_judge",
    "jcq_judge_guarded",
    "pbig_all",
    "pbig_idea",
    "pbig_idea_ja",
    "pbig_judge",
    "sat_judge",
    "sipen",
    "sipen_ja",
    "sipen_ja_v2",
]
Message = dict[str, str]


@cache
def prompt(name: PromptName) -> str:
    """The text of a protocol prompt, without a final newline.

    >>> prompt("dat").splitlines()[-1]
    '10. 単語10'
    """
    return files(__name__).joinpath(f"{name}.txt").read_bytes().decode("utf-8")


def fill(template: str, **values: str) -> str:
    """Fill `{name}` placeholders in one pass, so that text inside a value can never fill another placeholder.

    >>> fill("{question}/{answer}", question="{answer}", answer="x")
    '{answer}/x'
    """
    wanted = set(re.findall(r"\{(\w+)\}", template))
    if wanted != set(values):
        raise ValueError(
            f"the prompt has the placeholders {sorted(wanted)}, but was given {sorted(values)}"
        )
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], template)


def messages(text: str) -> list[Message]:
    """`text` as the one user turn of a conversation."""
    return [{"role": "user", "content": text}]


def as_completion(text: str, *, conversational: bool) -> list[Message] | str:
    """`text` as the completion of a prompt (`sozo.data.prompts.form`)."""
    return [{"role": "assistant", "content": text}] if conversational else text
