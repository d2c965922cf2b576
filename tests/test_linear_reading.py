"""Whoever reads a model's or a judge's text needs time that grows with its length, and not with the length's square."""

import time
from contextlib import suppress

import pytest

from sozo.data.prompts import prompt
from sozo.data.rubrics import Criterion
from sozo.data.schema import utf8_safe
from sozo.rewards.doors.core import answer_text
from sozo.scoring.final_text import answer_state, ending, final_text, judged_part, one_json
from sozo.scoring.judges.criterion import read_scores, read_verdict
from sozo.scoring.parse import script_reason, split_list
from sozo.tasks.dat.people import found_words
from sozo.tasks.held_out import fingerprint
from sozo.tasks.jcq.rubric import JCQ_RUBRICS
from sozo.tasks.jcq.verdict import read_as_jcq_judge, read_in_prose, read_strictly
from sozo.tasks.pbig.ideas import parse_idea
from sozo.tasks.sat.compliance import check
from sozo.tasks.sat.finished import SAT_V1
from sozo.tasks.sat.gate import Gate
from sozo.tasks.sat.score import what_counts
from sozo.tasks.sipen.items import FORMS

CLARITY = Criterion("clarity", (1, 4))
VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"


def json_value(text):
    with suppress(ValueError):
        one_json(text)


READERS = {
    "the final text": final_text,
    "one JSON value": json_value,
    "what is judged": judged_part,
    "an answer's state": lambda text: answer_state(text, "stop"),
    "a finish reason": ending,
    "a list": split_list,
    "the words that are found": found_words,
    "the words that are found, in English": lambda text: found_words(text, "en"),
    "a word's script": script_reason,
    "a Latin word's script": lambda text: script_reason(text, "en"),
    "a verdict": read_strictly,
    "a verdict in prose": read_in_prose,
    "a verdict as JCQ-judge": read_as_jcq_judge,
    "a grade": SAT_V1.read,
    "a verdict by a criterion": lambda text: read_verdict(text, CLARITY),
    "all criteria at once": lambda text: read_scores(text, [CLARITY]),
    "a prompt with an answer": lambda text: JCQ_RUBRICS["jcq-v1"].prompt("問い", text),
    "a prompt with a fenced answer": lambda text: JCQ_RUBRICS["jcq-v1-guarded"].prompt("問い", text),
    "a rewrite": what_counts,
    "a rewrite's compliance": lambda text: check("昔々、亀を助けた漁師がいた。" * 30, text),
    "a rewrite's gate": lambda text: Gate(["川に桃が流れてきた。"])("亀を助けた。", text),
    "an option": FORMS["sipen-v1"].read,
    "a Japanese option": FORMS["sipen-ja-v1"].read,
    "an idea": parse_idea,
    "a fingerprint": fingerprint,
    "what can be stored": utf8_safe,
    "the answer in a text": lambda text: answer_text(text, [prompt("dat")]),
}
# What a text may hold again and again, and what stands before and behind it.
UNITS = (
    *(" ", "\u3000", "\t", "\n", "\r\n", "\f", "\x85", "\u2028", " \n", "\n ", "\0", "\ud800", "\u200c", "🙂", "ﷺ"),
    *(
        ",",
        "、",
        "|",
        "-",
        "|-",
        "- ",
        "*",
        "**",
        "#",
        "# ",
        "_",
        "=",
        ".",
        ". ",
        "。",
        ":",
        "：",
        "・",
        "/",
        "\\",
        '"',
    ),
    *(
        "あ",
        "ー",
        "ア",
        "漢",
        "の",
        "A",
        "A-",
        "a ",
        "at ",
        "1",
        "1 ",
        "0",
        "[",
        "[1",
        "]",
        "(",
        "（",
        "「",
        "【",
        "{",
        "}",
    ),
    *("<", "< /", "<think>", "<think ", "</think>", "[think]", "<answer>", "<|channel|>", "<|channel|>final ", "</s>"),
    *(
        "<|channel|>final<|message|>",
        "<|im_end|>",
        "</s>\n",
        "analysis",
        "assistantfinal",
        "`",
        "```",
        "```\n",
        "```json",
    ),
    *(
        "流暢性",
        "流暢性: ",
        "流暢性: 4 ",
        "流暢性: 4\n",
        "評価",
        "以下は",
        "できません",
        "できません。",
        "流暢性 10個",
        "(1)",
        "撤回し",
        "合計: 1",
        "http://",
    ),
    *("1. 犬\n", "文字数", "タイトル", "※", '{"a": ', '"a": 1, ', "物語です", "http://", "```json"),
)
AROUND = (
    ("", ""),
    ("", "x"),
    ("x", ""),
    ("```json\n", "\n```"),
    ("```\n", "x"),
    ("流暢性: 4", VERDICT),
    ("<think>", "x"),
)
AROUND += (("analysis x", "x"), ("<|channel|>final", "x"), ('{"clarity": ', "}"))
FLOOR = 0.05  # seconds of CPU: less is not looked at


def seconds(read, text):
    start = time.process_time()
    read(text)
    return time.process_time() - start


def grows_too_fast(read, make):
    """Whether four times the text takes more than ten times as long, at any length up to 40,000 characters."""
    before = None
    for length in (625, 2_500, 10_000, 40_000):
        took = seconds(read, make(length))
        if before is not None and took > FLOOR and took > 10 * before:
            # A busy machine is no proof: the least of three is.
            took, before = (min(seconds(read, make(size)) for _ in range(3)) for size in (length, length // 4))
            if took > FLOOR and took > 10 * before:
                return True
        before = took
    return False


@pytest.mark.parametrize("reader", READERS)
def test_reading_is_linear(reader):
    slow = [
        (first, unit, last)
        for unit in UNITS
        for first, last in AROUND
        if grows_too_fast(READERS[reader], lambda length, f=first, u=unit, b=last: f + u * (length // len(u)) + b)
    ]
    assert slow == []


def test_other_texts_are_read_in_time():
    object_with_many_keys = "{" + ", ".join(f'"{key}": 1' for key in range(60_000)) + ', "59999": 2}'
    assert seconds(json_value, object_with_many_keys) < 2
    assert seconds(final_text, "x" + "<|im_end|>\n" * 40_000) < 2
