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
from sozo.data.foreign import nfkc, quoted, strip_steering
from sozo.data.jsonl import read_objects
from sozo.data.markdown import plain
from sozo.data.prompts import prompt
from sozo.data.schema import utf8_safe
from sozo.data.secrets import without_credentials
from sozo.data.settings import from_json, read_yaml
from sozo.data.sheet import as_text, read_sheet
from sozo.eval.report.exports import escape
from sozo.eval.report.names import Names
from sozo.eval.report.render import breakable
from sozo.rewards.integrations.core import answer_in
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.final_text import (
    answer_state,
    ending,
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
    "a prompt with an answer": lambda text: JCQ_RUBRICS["jcq-v1"].prompt("問い", text),
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
    "what can be stored": utf8_safe,
    "the answer in a text": lambda text: refused(
        lambda: answer_in(text, [prompt("dat")])
    ),
    "a query": lambda text: refused(
        lambda: answer_in(f"[INST] {text} [/INST] x {text}", [text])
    ),
    "a sheet with a heading": lambda text: of_file(
        f"participant,{text[:4000]}\n1,{text[:4000]}\n", "x.csv", read_sheet
    ),
    "a cell to write": as_text,
    "a line of JSON": lambda text: of_file(
        text, "x.jsonl", lambda path: list(read_objects(path))
    ),
    "YAML": lambda text: of_file(f"a: {text[:4000]}", "x.yaml", read_yaml),
    "a quoted YAML": lambda text: of_file(f"a: '{text[:4000]}'", "x.yaml", read_yaml),
    "a setting in JSON": lambda text: refused(lambda: from_json(text, "x")),
    "addresses": without_credentials,
    "an address": lambda text: without_credentials(f"http://{text}"),
    "a message": lambda text: UserError(text),
    "a quotation": quoted,
    "what is printed": strip_steering,
    "Markdown": plain,
    "a name on a page": breakable,
    "characters of normal width": nfkc,
    "a story's words": lambda text: copied_share(text, text),
    "a server's reply": lambda text: Endpoint(
        "m", "http://me:secret-word@host/v1"
    )._line(text),
    "a mark": unknown_mark,
    "a name of a file": lambda text: Names().new(text),
    "a LaTeX cell": escape,
}
try:
    from sozo.studies.ratings import read_ratings
    from sozo.suite.pbig.ideas import parse_idea
    from sozo.suite.people.lists import people_words, read_written
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
        "an option": FORMS["sipen-v1"].read,
        "a Japanese option": FORMS["sipen-ja-v1"].read,
        "an idea": parse_idea,
        "a person's list": people_words,
        "a person's English list": lambda text: people_words(text, "en"),
        "a sheet": lambda text: of_file(
            text[:4000], "x.csv", lambda path: read_written(read_sheet(path))
        ),
        "ratings": lambda text: of_file(
            f"model,item,criterion,rater,score\n{text[:4000]}",
            "x.csv",
            lambda path: read_ratings([path]),
        ),
    }

# What a text may hold again and again, and what stands before and behind it.
UNITS = (
    *(
        " ",
        "\t",
        "\n",
        "\r\n",
        "\x85",
        "\n ",
        "\0",
        "\ud800",
        "🙂",
    ),
    *(
        ",",
        "|",
        "-",
        "- ",
        "*",
        "#",
        ".",
        ". ",
        "。",
        ":",
        "\\",
        '"',
    ),
    *(
        "あ",
        "ー",
        "漢",
        "A",
        "A-",
        "a ",
        "1",
        "[",
        "[1",
        "]",
        "(",
        "「",
        "{",
        "}",
    ),
    *(
        "<",
        "< /",
        "<think>",
        "</think>",
        "[think]",
        "<answer>",
        "<|channel|>final ",
        "</s>",
    ),
    *(
        "<|channel|>final<|message|>",
        "<|im_end|>",
        "</s>\n",
        "analysis",
        "`",
        "```",
        "```json",
    ),
    *(
        "流暢性",
        "流暢性: 4\n",
        "評価",
        "以下は",
        "できません。",
        "流暢性 10個",
        "(1)",
        "撤回し",
        "合計: 1",
        "http://",
    ),
    *(
        "1. 犬\n",
        "文字数",
        "タイトル",
        "※",
        '{"a": ',
        '"a": 1, ',
        "物語です",
        "http://",
        "```json",
    ),
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
    *("()", "[]", "{}", "<>", "「」", "（）", '""', "**"),
    *(
        ("<think>", "</think>"),
        ("[", ", "),
        ('{"a":', "}"),
        ("<|channel>", "<channel|>"),
        ("\u0301", "\u0316"),
    ),
    *(
        ("http://", "@"),
        ("http://", " "),
        ("ﾞ", "\u0301"),
        ("(", "{"),
        ("=", "\n"),
        ("<a ", ">"),
        ("</s>", " "),
    ),
    *(
        (" ", "\ufeff"),
        ("- ", "a: "),
        ("&a ", "*a "),
        ('"', ","),
        (".", '"'),
        ("a", "\u0300"),
    ),
)
# How a text is made of a unit or two, `n` times.
GENERATORS = {
    "repeat": [lambda n, u=unit: u * n for unit in UNITS],
    "repeat within": [
        lambda n, f=first, u=unit, b=last: f + u * n + b
        for unit in UNITS
        for first, last in AROUND
    ],
    "nest": [lambda n, o=o, c=c: "x" + o * n + "x" + c * n for o, c in PAIRS],
    "never close": [lambda n, o=o: o * n + "x" for o, _ in PAIRS],
    "alternate": [
        lambda n, o=o, c=c, b=b: "x" + (o + c) * n + b
        for o, c in PAIRS
        for b in ("", "x")
    ],
}
FLOOR, MOST = (
    0.05,
    2.5,
)  # seconds of CPU, less is not looked at; times as long for twice the text
LENGTHS = (
    1_250,
    5_000,
)  # characters: reading that tries all pairs of them takes ten times the floor
EACH = 5  # of the eight things around a unit `make test` takes one or two, others for the next unit


def seconds(read, text):
    start = time.process_time()
    read(text)
    return time.process_time() - start


def grows_too_fast(read, make, lengths):
    """Whether twice the text takes more than 2.5 times as long, best of five, where that is 50 ms or more."""
    each = len(make(64)) / 64
    for length in lengths:
        text, twice = (make(max(1, int(n / each))) for n in (length, 2 * length))
        if (took := seconds(read, twice)) > FLOOR:
            if took <= MOST * seconds(read, text):
                return False
            for _ in range(3):  # a busy neighbour may spoil five in a row
                once, both = (
                    min(seconds(read, one) for _ in range(5)) for one in (text, twice)
                )
                if both <= FLOOR or both <= MOST * once:
                    return False
            return True
    return False


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize(
    ("lengths", "each"),
    [
        (LENGTHS, EACH),
        *(pytest.param(n, 1, marks=pytest.mark.slow) for n in (LENGTHS, (20_000,))),
    ],
    ids=["some", "short", "long"],
)
def test_reading_is_linear(reader, generator, lengths, each):
    makers = GENERATORS[generator][:: each if generator == "repeat within" else 1]
    slow = [
        make(3) for make in makers if grows_too_fast(READERS[reader], make, lengths)
    ]
    assert slow == []


def test_other_texts_are_read_in_time():
    object_with_many_keys = (
        "{" + ", ".join(f'"{key}": 1' for key in range(60_000)) + ', "59999": 2}'
    )
    assert seconds(json_value, object_with_many_keys) < 2
    assert seconds(final_text, "x" + "<|im_end|>\n" * 40_000) < 2
