"""A reply is a verdict, a verdict in prose or nothing: no reply that is not meant becomes a score."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sozo.tasks.jcq.questions import CRITERIA
from sozo.tasks.jcq.verdict import (
    JAPANESE,
    read_as_jcq_judge,
    read_strictly,
    read_verdict,
    write_verdict,
)

SCORES = {"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}
PLAIN = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"
FIRST = "流暢性: {}\n柔軟性: 3\n独創性: 2\n精緻性: 5"
STATES = {
    "plain": {"verdict"},
    "explained": {"verdict", "prose"},
    "not-meant": {"prose", "unparseable"},
    "refused": {"unparseable"},
}
scores = st.fixed_dictionaries({criterion: st.integers(1, 5) for criterion in CRITERIA})
names = st.sampled_from(list(JAPANESE.values()))


def written_replies():
    """The replies of verdict_replies.txt with their kinds."""
    path = Path(__file__).parents[1] / "files" / "verdict_replies.txt"
    text = path.read_text("utf-8")
    for part in text.split("\n=== ")[1:]:
        kind, _, reply = part.partition("\n")
        yield kind, re.sub(r"(?<![A-Za-z])V(?![A-Za-z])", PLAIN, reply)


def state_of(reply):
    verdict = read_verdict(reply)
    if verdict is None:
        return "unparseable"
    assert verdict.scores == SCORES
    return "prose" if verdict.in_prose else "verdict"


def test_every_written_reply_is_what_it_was_said_to_be():
    replies = list(written_replies())
    assert len(replies) >= 200
    assert sum(kind == "explained" for kind, _ in replies) >= 80
    assert [
        (kind, reply) for kind, reply in replies if state_of(reply) not in STATES[kind]
    ] == []


@pytest.mark.parametrize(
    "reply",
    [
        "\n\n流暢性:4\r\n柔軟性 : 3\r\n\r\n独創性:　2\r\n精緻性: 5\r\n",
        "流暢性: [4]\n柔軟性: ［3］\n独創性: [ 2 ]\n精緻性: 5",
        f"<Thinking>流暢性: 1 かな</Thinking>\n{PLAIN}",
        f"[THINK]流暢性: 1[/THINK]{PLAIN}",
        f"analysisLet me see. 流暢性: 1 assistantfinal{PLAIN}",
    ],
)
def test_forms_that_leave_no_doubt(reply):
    assert state_of(reply) == "verdict"


@pytest.mark.parametrize(
    "value",
    [
        *("0", "6", "44", "4.5", "4/5", "四", "④", "[1-5]", "4 (5 でもよい)", ""),
    ],
)
def test_a_value_that_leaves_doubt_is_no_verdict(value):
    assert read_verdict(FIRST.format(value)) is None


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "流暢性: 4\n柔軟性: 3\n独創性: 2",
        f"{PLAIN}\n流暢性: 4",
        f"下書き\n{PLAIN}</think>",
    ],
)
def test_a_verdict_has_each_criterion_once(reply):
    assert read_verdict(reply) is None


@given(scores)
def test_what_is_written_is_read(values):
    assert read_strictly(write_verdict(values)) == values
    assert read_as_jcq_judge(write_verdict(values)) == values


@given(st.text())
def test_any_text_is_scores_in_range_or_nothing(reply):
    verdict = read_verdict(reply)
    if verdict:
        assert list(verdict.scores) == list(CRITERIA)
        assert all(1 <= value <= 5 for value in verdict.scores.values())


@given(scores, st.text(alphabet=st.characters(categories=("Ll", "Lo"))), st.booleans())
def test_text_beside_the_scores_changes_no_score(values, beside, before):
    reply = write_verdict(values)
    verdict = read_verdict(f"{beside}\n{reply}" if before else f"{reply}\n{beside}")
    assert verdict is None or verdict.scores == values


@given(scores, names, st.sampled_from(["1", "は5", "は 3 か 4", "[2]"]), st.booleans())
def test_a_second_number_for_a_criterion_takes_the_scores_away(
    values, name, word, first
):
    reply, line = write_verdict(values), f"{name}{word}"
    assert read_verdict(f"{line}\n{reply}" if first else f"{reply}\n{line}") is None


@given(
    scores, st.integers(0, 3), st.text(alphabet="/.-〜か "), st.sampled_from("0678９")
)
def test_a_value_with_a_second_digit_is_no_value(values, line, between, digit):
    lines = write_verdict(values).splitlines()
    lines[line] += between + digit
    assert read_verdict("\n".join(lines)) is None
