"""Whoever reads what others wrote needs time that grows with its length, and not with the length's square.

The one test that measures time: of twice the text a reader takes at most 2.5 times as long.
"""

import tempfile
import time
from contextlib import suppress
from pathlib import Path
from xml.etree.ElementTree import ParseError

import pytest

from sozo.data.errors import UserError
from sozo.data.foreign import nfkc, strip_steering
from sozo.data.jsonl import read_objects
from sozo.data.markdown import plain
from sozo.data.secrets import without_credentials
from sozo.eval.report.render import breakable
from sozo.rewards.integrations.core import answer_in
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.final_text import (
    answer_state,
    final_text,
    judged_part,
    one_json,
    unknown_mark,
)
from sozo.scoring.parse import script_reason, split_list
from sozo.tasks.dat.found import found_words
from sozo.tasks.held_out import fingerprint
from sozo.tasks.jcq.rubric import JCQ_RUBRICS
from sozo.tasks.jcq.verdict import read_as_jcq_judge, read_in_prose, read_strictly
from sozo.tasks.sat.compliance import check, copied_share
from sozo.tasks.sat.gate import Gate
from sozo.tasks.sat.run_result import SAT_V1
from sozo.tasks.sat.score import what_counts

VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"


def json_value(text):
    with suppress(ValueError):
        one_json(text)


def refused(read):
    with suppress(UserError, ParseError):
        read()


def of_file(text, name, read):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8", errors="replace")
        refused(lambda: read(path))


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")


READERS = {
    "the final text": final_text,
    "one JSON value": json_value,
    "what is judged": judged_part,
    "an answer's state": lambda text: answer_state(text, "stop"),
    "a list": split_list,
    "the words that are found": found_words,
    "the words that are found, in English": lambda text: found_words(text, "en"),
    "a word's script": script_reason,
    "a verdict": read_strictly,
    "a verdict in prose": read_in_prose,
    "a verdict as JCQ-judge": read_as_jcq_judge,
    "a grade": SAT_V1.read,
    "a prompt with a fenced answer": lambda text: JCQ_RUBRICS[
        "jcq-v1-guarded-2"
    ].prompt("問い", text),
    "a rewrite": what_counts,
    "a rewrite's compliance": lambda text: check(
        "昔々、亀を助けた漁師がいた。" * 30, text
    ),
    "a rewrite's gate": lambda text: Gate(["川に桃が流れてきた。"])(
        "亀を助けた。", text
    ),
    "a fingerprint": fingerprint,
    "a query": lambda text: refused(
        lambda: answer_in(f"[INST] {text} [/INST] x {text}", [text])
    ),
    "a line of JSON": lambda text: of_file(
        text, "x.jsonl", lambda path: list(read_objects(path))
    ),
    "addresses": without_credentials,
    "an address": lambda text: without_credentials(f"http://{text}"),
    "a message": lambda text: UserError(text),
    "what is printed": strip_steering,
    "Markdown": plain,
    "a name on a page": breakable,
    "characters of normal width": nfkc,
    "a story's words": lambda text: copied_share(text, text),
    "a server's reply": lambda text: Endpoint(
        "m", "http://me:secret-word@host/v1"
    )._line(text),
    "a mark": unknown_mark,
}
try:
    from sozo.suite.pbig.ideas import parse_idea
    from sozo.suite.people.lists import people_words
    from sozo.suite.rubrics import Criterion
    from sozo.suite.rubrics.criterion import read_scores, read_verdict
    from sozo.suite.sipen.items import FORMS
except ModuleNotFoundError:  # make test-core
    pass
else:
    CLARITY = Criterion("clarity", (1, 4))
    READERS |= {
        "a verdict by a criterion": lambda text: read_verdict(text, CLARITY),
        "all criteria at once": lambda text: read_scores(text, [CLARITY]),
        "a Japanese option": FORMS["sipen-ja-v1"].read,
        "an idea": parse_idea,
        "a person's list": people_words,
    }

# What a text may hold again and again, what stands before and behind it, and what comes in pairs.
UNITS = (
    *(" ", "\t", "\n", "\r\n", "\x85", "\n ", "\0", "\ud800", "🙂"),
    *(",", "|", "-", "- ", "*", "#", ".", ". ", "。", ":", "\\", '"', "`", "```"),
    *("あ", "ー", "漢", "A", "A-", "a ", "1", "[", "[1", "]", "(", "「", "{", "}"),
    *("<", "< /", "<think>", "</think>", "[think]", "<answer>", "</s>", "</s>\n"),
    *("<|channel|>final ", "<|channel|>final<|message|>", "<|im_end|>", "analysis"),
    *("流暢性", "流暢性: 4\n", "評価", "以下は", "できません。", "流暢性 10個", "(1)"),
    *("撤回し", "合計: 1", "http://", "1. 犬\n", "文字数", "タイトル", "※", "物語です"),
    *('{"a": ', '"a": 1, ', "```json"),
)
AROUND = (
    ("", "x"),
    ("x", ""),
    ("```json\n", "\n```"),
    ("流暢性: 4", VERDICT),
    ("<think>", "x"),
    ("analysis x", "x"),
    ("<|channel|>final", "x"),
    ('{"clarity": ', "}"),
)
PAIRS = (
    *("()", "[]", "{}", "<>", "「」", "（）", '""', "**", "({", "=\n", '",', '."'),
    *("a\u0300", "\u0301\u0316", "ﾞ\u0301", " \ufeff"),
    *(("<think>", "</think>"), ("<|channel>", "<channel|>"), ("<a ", ">")),
    *(("[", ", "), ('{"a":', "}"), ("- ", "a: "), ("&a ", "*a "), ("</s>", " ")),
    *(("http://", "@"), ("http://", " ")),
)
# Of the eight things around a unit one or two are taken, others for the next unit.
WITHIN = [(unit, *around) for unit in UNITS for around in AROUND][::5]
TEXTS = [
    *(lambda n, u=unit: u * n for unit in UNITS),
    *(lambda n, u=unit, f=first, b=last: f + u * n + b for unit, first, last in WITHIN),
    *(lambda n, o=o, c=c: "x" + o * n + "x" + c * n for o, c in PAIRS),
    *(lambda n, o=o: o * n + "x" for o, _ in PAIRS),
    *(lambda n, o=o, c=c: "x" + (o + c) * n + "x" for o, c in PAIRS),
]
FLOOR = 0.05  # seconds of CPU: less is not looked at
MOST = 2.5  # times as long for twice the text
LENGTH = 2_500  # characters: trying all pairs of twice as many takes thrice the floor


def seconds(read, text):
    start = time.process_time()
    read(text)
    return time.process_time() - start


def grows_too_fast(read, make):
    """Whether twice the text takes more than 2.5 times as long, best of five, where that is 50 ms or more."""
    n = LENGTH * 64 // len(make(64))
    text, twice = make(n), make(2 * n)
    took = seconds(read, twice)
    if took <= FLOOR or took <= MOST * seconds(read, text):
        return False
    for _ in range(3):  # a busy neighbour may spoil five in a row
        once, both = (
            min(seconds(read, one) for _ in range(5)) for one in (text, twice)
        )
        if both <= max(FLOOR, MOST * once):
            return False
    return True


@pytest.mark.parametrize("reader", READERS)
def test_reading_is_linear(reader):
    assert [make(3) for make in TEXTS if grows_too_fast(READERS[reader], make)] == []


def test_other_texts_are_read_in_time():
    many_keys = "{" + ", ".join(f'"{key}": 1' for key in range(60_000)) + ', "9": 2}'
    assert seconds(json_value, many_keys) < 2
    assert seconds(final_text, "x" + "<|im_end|>\n" * 40_000) < 2
