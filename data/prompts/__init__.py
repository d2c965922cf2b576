"""The papers' protocol texts (DAT, SAT, JCQ judge), byte for byte as they stand in the text files beside this one.

They are tables 14 to 16 of the NLP 2025 paper, whose print shows no blank lines: those are a reconstruction. That of
the JCQ judge is also `data/judge_prompt.txt` of nlp-waseda/JCQ-judge. Two are sozo's own: `jcq_judge_guarded` fences
the answer and has one more note, against answers that address the judge; `sat_judge` is Japanese for the prompt of
SAT's judge, which the ACL paper (Table 22) prints in English only, with the same instruction, five grades and order.
`dat_en` is the instruction of Olson et al. (2021) in the form of `dat`.
A task that joins has its own beside its code.
"""

import re
from functools import cache
from importlib.resources import files

Message = dict[str, str]


@cache
def prompt(name: str, package: str = __name__) -> str:
    """The text of a protocol prompt, without a final newline; `package` is where its file lies.

    >>> prompt("dat").splitlines()[-1]
    '10. 単語10'
    """
    return files(package).joinpath(f"{name}.txt").read_bytes().decode("utf-8")


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
