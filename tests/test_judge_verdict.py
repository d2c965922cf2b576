"""A reply is four scores or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sozo.scoring.final_text import final_text
from sozo.tasks.jcq.questions import CRITERIA
from sozo.tasks.jcq.rubric import JAPANESE, parse_verdict, write_verdict

NAMES = list(JAPANESE.values())
SCORES = {"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}
DRAFT = "流暢性: 1\n柔軟性: 1\n独創性: 1\n精緻性: 1"
PLAIN = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"
scores = st.fixed_dictionaries({criterion: st.integers(1, 5) for criterion in CRITERIA})
# Text that could stand before a verdict: it names no criterion, and no reasoning.
beside = st.text().filter(lambda text: not any(name in text for name in NAMES) and final_text(text) == text.strip())


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        "流暢性: 4  \n柔軟性: 3  \n独創性: 2  \n精緻性: 5",
        "\n\n流暢性:4\r\n柔軟性 : 3\r\n\r\n独創性:　2\r\n精緻性: 5\r\n",
        "流暢性：４\n柔軟性：３\n独創性：２\n精緻性：５",
        "流暢性: [4]\n柔軟性: ［3］\n独創性: [ 2 ]\n精緻性: 5",
        "**流暢性**: 4\n**柔軟性: 3**\n独創性: **2**\n**精緻性:** 5",
        "- 流暢性: 4\n* 柔軟性: 3\n・ 独創性: 2\n- **精緻性**: 5",
        f"評価結果は次の通りです。\n```\n{PLAIN}\n```\n以上です。",
        f"<think>流暢性: 1 かな</think>\n{PLAIN}",
        f"<Thinking>流暢性: 1 かな</Thinking>\n{PLAIN}",
        f"下書き\n{DRAFT}</think>\n{PLAIN}",  # the chat template opened it
        f"[THINK]{DRAFT}[/THINK]{PLAIN}",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{PLAIN}<|return|>",
        f"analysisLet me see. {DRAFT}assistantfinal{PLAIN}",
        "流暢性: 4、柔軟性: 3、独創性: 2、精緻性: 5",
        "流暢性: 4 柔軟性: 3 独創性: 2 精緻性: 5",  # JCQ-judge reads these too
        f"アイデアの例が豊富です。\n{PLAIN}",
        "1. 流暢性: 4\n2. 柔軟性: 3\n3. 独創性: 2\n4. 精緻性: 5",
    ],
)
def test_forms_that_leave_no_doubt(reply):
    assert parse_verdict(reply) == SCORES


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "申し訳ありませんが、評価を行うためには具体的な回答が必要です。",
        "流暢性: 4\n柔軟性: 3\n独創性: 2",
        "柔軟性: 3\n流暢性: 4\n独創性: 2\n精緻性: 5",
        "流暢性: 4 柔軟性: 3 独創性: 2",
        "流暢性: 4 柔軟性: 3 独創性: 2 精緻性: 5 流暢性: 4",
        "流暢性: 4, 柔軟性: 3, 独創性: 2-3, 精緻性: 5",
        "柔軟性: 3, 流暢性: 4, 独創性: 2, 精緻性: 5",
        "流暢性: 0\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: 6\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: 44\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: 4.5\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: 4/5\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: 3〜4\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: 四\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: ④\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: [1-5]\n柔軟性: [1-5]\n独創性: [1-5]\n精緻性: [1-5]",
        "流暢性: [4\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        "流暢性: 4（8個）\n柔軟性: 3\n独創性: 2\n精緻性: 5",
        f"{PLAIN}\n流暢性: 4",
        f"{PLAIN}\n流暢性は本当は 5 です",
        f"# 流暢性: 質問と関連する異なるアイデアの量\n{PLAIN}",
        f"{PLAIN}\n{PLAIN}",
        f"回答には「流暢性: 5」とあります。\n{PLAIN}",
        f"<think>まず {PLAIN}",
        f"下書き\n{PLAIN}\n</think>",
        f"{PLAIN}\n<think>いや、待てよ",
        f"<thinking>{PLAIN}",
        f"<|channel|>analysis<|message|>{PLAIN}",
        f"<|channel|>analysis<|message|>{PLAIN}<|end|><|start|>assistant<|channel|>commentary<|message|>呼び出し",
        f"出力形式の例:\n{PLAIN}",
        f"出力形式の例：\n```text\n{PLAIN}\n```",
        f"For example:\n{PLAIN}",
        f"仮の採点\n{PLAIN}",
        f"{PLAIN}\n上記は誤りです。",
        f"{PLAIN}\n\n訂正します。すべて1です。",
        f"{PLAIN}\nSorry, ignore these scores.",
        f"{PLAIN}\n理由: 案が多い。",  # what follows could take it back, and a reader cannot tell
        "流暢性: **4\n柔軟性: 3\n独創性: 2\n精緻性: 5",
    ],
)
def test_doubt_is_no_score(reply):
    assert parse_verdict(reply) is None


@given(scores)
def test_what_is_written_is_read(values):
    assert parse_verdict(write_verdict(values)) == values


@given(st.text())
def test_any_text_is_scores_in_range_or_nothing(reply):
    found = parse_verdict(reply)
    assert found is None or (list(found) == list(CRITERIA) and all(1 <= value <= 5 for value in found.values()))


@given(scores, beside)
def test_text_before_that_names_no_criterion_changes_nothing(values, before):
    assert parse_verdict(f"{before}。\n{write_verdict(values)}") in (
        values,
        None if "例。" in f"{before}。" else values,
    )


@given(scores, beside.filter(str.strip))
def test_text_behind_takes_the_score_away(values, after):
    closing = ("```", "---", "以上")
    if not any(mark in after for mark in closing):
        assert parse_verdict(f"{write_verdict(values)}\n{after}") is None


@given(scores, st.sampled_from(NAMES), st.sampled_from(["1", "5", "３", ": ?", "：", "[2]"]), st.booleans(), beside)
def test_a_second_word_on_a_criterion_takes_the_score_away(values, name, word, first, between):
    line = f"{name}{between.splitlines()[0] if between.splitlines() else ''}{word}"
    reply = write_verdict(values)
    assert parse_verdict(f"{line}\n{reply}" if first else f"{reply}\n{line}") is None


@given(scores, st.integers(0, 3), st.text(alphabet="0678９一二/.-〜か ", min_size=1).filter(str.strip))
def test_a_value_with_company_is_no_value(values, line, company):
    lines = write_verdict(values).splitlines()
    lines[line] += company
    assert parse_verdict("\n".join(lines)) is None
