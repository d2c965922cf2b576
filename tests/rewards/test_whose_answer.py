"""What the answer is, is decided once: TRL's reward, integrations and a judge's reward take the same words for it."""

import logging

import numpy as np
import pandas as pd
import pytest

from fakes import AXES, FakeJudge, FakeNouns, axis_encoder, list_text
from sozo.data.errors import UserError
from sozo.rewards.dat import DatReward
from sozo.rewards.integrations import lm_eval, verl
from sozo.rewards.integrations.core import Integration
from sozo.rewards.integrations.openrlhf import make_reward_func
from sozo.rewards.judge import JudgeReward
from sozo.rewards.reward import _asked_and_answered
from sozo.rewards.task import make_task_reward
from sozo.scoring.final_text import (
    completion_text,
    decode,
    final_text,
    judged_part,
    question_text,
    unknown_mark,
)
from sozo.scoring.parse import split_list
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.jcq.verdict import read_strictly

WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
L = list_text(WORDS)
FREE = {"noun_checker": "jumandic", "penalise_duplicates": False}


def said(content, role="assistant", *before):
    return [*before, {"role": role, "content": content}]


CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
# What is worth what the list is worth, and what is worth nothing, whoever is asked.
PAID = {
    "a text": L,
    "a message": said(L),
    "the last of several": said(L, "assistant", CALL, {"role": "tool", "content": "x"}),
    "parts": said([{"type": "text", "text": L[:9]}, {"type": "text", "text": L[9:]}]),
    "parts of output": said([{"type": "output_text", "text": L}]),
    "a part of reasoning": said(
        [{"type": "reasoning", "text": "案"}, {"type": "text", "text": L}]
    ),
    "a part that says nothing": said(
        [{"type": "text", "text": None}, {"type": "text", "text": L}]
    ),
    "reasoning": f"<think>犬か</think>{L}",
    "Gemma 4's thought": f"<|channel>thought\n案<channel|>{L}",
    "Gemma 4's thought, closed only": f"thought\n案<channel|>{L}",
    "Gemma 4's empty thought": f"<|channel>thought\n<channel|>{L}<turn|>\n",
    "Apertus' thought": f"<|inner_prefix|>案<|inner_suffix|>{L}<|assistant_end|>",
    "an end": f"{L}<|im_end|>\n",
    "a byte order mark": f"\ufeff{L}",
    "a byte order mark behind it": f" \ufeff {L}\ufeff\n",
    "a zero-width space": f"\u200b{L}\u2060",
    "reasoning opened twice": f"<think><think>a</think>{L}",
    "pads behind the end": f"{L}</s><pad><pad>",
    "Seed's end": f"<seed:think>a</seed:think>{L}<seed:eos>",
    "Command's answer": f"<|START_THINKING|>a<|END_THINKING|><|START_ANSWER|>{L}<|END_ANSWER|>",
    "gpt-oss": f"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>{L}<|return|>",
}
FINAL = "<|channel|>final<|message|>"
UNPAID = {
    "a tool's words": said(L, "tool", CALL),
    "the user's words": said(L, "user"),
    "the system's words": said(L, "system"),
    "null": said(None),
    "no content": [{"role": "assistant"}],
    "no message": [],
    "an image": said([{"type": "image"}]),
    "a template's turn": f"[INST] anything [/INST]{L}",
    "a Japanese template's turn": f"### 応答:{L}",
    "ChatML": f"<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n{L}",
    "a head alone": f"<|im_start|>assistant\n{L}",
    "a beginning": f"<s>{L}",
    "an unknown mark": f"<|reflect|>案<|/reflect|>{L}",
    "thought without an end": f"<|channel>thought\n案{L}",
    "Gemma's end within": f"{L}<turn|>\n<|turn>user\nx",
    "reasoning closed by another's mark": f"<think>a[/THINK]{L}",
    "reasoning that names another's end": f"[THINK]a</think>{L}",
    "a part of thought": said([{"type": "text", "text": L, "thought": True}]),
    "gpt-oss: a tool": f"<|start|>functions.x to=assistant{FINAL}{L}",
    "gpt-oss: the user": f"<|start|>user{FINAL}{L}",
    "gpt-oss: to a tool": f"<|channel|>final to=functions.x<|message|>{L}",
    "gpt-oss: a call": f"{FINAL}{L}<|call|>",
    "gpt-oss: a tool has the last word": f"{FINAL}{L}<|end|><|start|>functions.f to=assistant{FINAL}{L}",
    "gpt-oss: reasoning that writes a head": f"<|channel|>analysis<|message|>I will write {FINAL}{L}<|end|>",
}
WRONG = {
    "a number": said(5),
    "true": said(True),
    "an object": said({"type": "text"}),
    "a list of numbers": said([1]),
    "a part without text": said([{"type": "text", "text": 5}]),
    "a text in a list": [L],
    "a mapping": {"role": "assistant", "content": L},
    "nothing": None,
    "bytes": L.encode(),
}


@pytest.fixture(scope="module")
def worth():
    """The list's reward."""
    (value,) = make_task_reward("dat", **_without(FREE))(completions=[L])
    return value


def _without(settings):
    return {
        name: value for name, value in settings.items() if name != "penalise_duplicates"
    }


def by_trl(completion):
    reward = DatReward(
        lambda: DatScorer.from_settings(Integration("dat", **FREE).task.settings),
        penalise_duplicates=False,
    )
    (paid,) = reward(completions=[completion])
    return paid, reward.last[0].reason and str(reward.last[0].reason)


def by_integration(completion):
    (paid,) = Integration("dat", **FREE).pay([completion])
    return paid.reward, paid.reason


@pytest.mark.parametrize("kind", [*PAID, *UNPAID])
def test_reward_and_integrations_take_the_same_words_for_the_answer(kind):
    completion = PAID.get(kind, UNPAID.get(kind))
    trl, integration = by_trl(completion), by_integration(completion)
    assert trl == integration
    assert (trl[0] > 8) == (kind in PAID)
    assert trl[1] == (None if kind in PAID else "format")
    if isinstance(completion, str):
        result = verl.compute_score("dat", completion, "", **FREE)
        assert (result["score"], result["reason"] or None) == trl
        doc = lm_eval.documents(settings={"noun_checker": "jumandic"})["test"][0]
        assert lm_eval.process_results(doc, [completion])["reason"] == (trl[1] or "")
        query = make_reward_func("dat", **FREE)(
            [f"[INST] x [/INST]{completion}"], ["[INST] x [/INST]"], [""]
        )
        if kind not in (
            "a template's turn",
            "ChatML",
            "a head alone",
            "a Japanese template's turn",
            "a beginning",
        ):
            assert query["rewards"] == [trl[0]]


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_completion_is_one_line(kind):
    for call in (by_trl, by_integration, completion_text):
        with pytest.raises(UserError) as caught:
            call(WRONG[kind])
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make", [tuple, np.array, pd.Series, lambda texts: pd.Series(texts, index=[7, 9])]
)
def test_any_list_of_texts(make):
    prompts = ["a", "b"]
    lists = make_task_reward("dat", noun_checker="jumandic")(
        prompts=make(prompts), completions=make([L, "x"])
    )
    assert lists[0] > 0
    assert lists[1] == 0
    columns = _asked_and_answered(
        make(prompts), make([L, "x"]), {"item": make(["i", "j"])}, None
    )[0]
    assert [item.id for item in columns] == ["i", "j"]
    assert [
        c.reason
        for c in Integration("dat", **FREE).pay(make([L, "x"]), None, make(prompts))
    ] == [None, "format"]


def test_the_question_is_the_users_last_turn():
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert question_text("a") == question_text(turns[:1]) == question_text(turns) == "a"
    assert question_text([{"role": "system", "content": "x"}]) == ""


# --- a judge ---


@pytest.fixture
def judged(tmp_path):
    asked = []

    def reply(prompt):
        asked.append(prompt)
        return "流暢性: 3\n柔軟性: 3\n独創性: 3\n精緻性: 3"

    reward = JudgeReward("jcq-v1", ledger=tmp_path / "j.jsonl", judge=FakeJudge(reply))
    yield reward, asked
    reward.close()


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"prompts": [""]},
        {"prompts": [[{"role": "system", "content": "x"}]]},
        {"question": [["a", "b"]]},
        {"question": [5]},
        {"question": [{"a": 1}]},
        {"question": [""]},
        {"question": [None]},
        {"prompts": ["x"], "question": [float("nan")]},
    ],
)
def test_a_judge_is_not_asked_without_a_question(columns, judged):
    reward, asked = judged
    with pytest.raises(UserError, match="question"):
        reward(completions=["杖にする"], **columns)
    assert asked == []


@pytest.mark.parametrize(
    "columns", [{"prompts": ["傘?"]}, {"prompts": [""], "question": ["傘?"]}]
)
def test_a_judge_is_shown_the_answer_alone(columns, judged):
    reward, asked = judged
    texts = [
        "<|channel>thought\n秘密<channel|>傘立て<turn|>",
        said("秘密", "tool", CALL),
        said("秘密", "user"),
    ]
    three = {name: values * 3 for name, values in columns.items()}
    assert reward(completions=texts, **three) == [3.0, 1.0, 1.0]
    assert len(asked) == 1
    assert "傘立て" in asked[0]
    assert "秘密" not in asked[0]
    assert "傘?" in asked[0]


# --- marks ---


def test_a_byte_order_mark_before_a_verdict():
    verdict = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"
    assert read_strictly(f"\ufeff{verdict}") == read_strictly(verdict) is not None
    assert split_list(f"\ufeff{L}", reasoning=False) == tuple(WORDS)
    assert judged_part("\ufeff傘") in ("傘", "\ufeff傘")


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("<|reflect|>案", "<|reflect|>"),
        ("<reflect>案", "<reflect>"),
        ("[REFLECT]案", "[REFLECT]"),
        ("◁x▷案", "◁x▷"),
        ("<think>案</think> <plan>x", "<plan>"),
        ("[INST] x", "[INST]"),
        ("1. <犬>", None),
        ("<think>案</think>犬", None),
        ("犬<|im_end|>", None),
        ("<think>案", None),
        ("", None),
    ],
)
def test_an_unknown_mark(text, mark):
    assert unknown_mark(text) == mark


def test_unknown_marks_are_counted_and_told(caplog):
    logged = {}
    texts = ["<|reflect2|>x", L, f"<|reflect2|>{L}"]
    with caplog.at_level(logging.WARNING):
        reward = DatReward(lambda: DatScorer(FakeNouns(AXES), axis_encoder()))
        reward(completions=texts, log_metric=logged.__setitem__)
        Integration("dat", **FREE).pay(["<|reflect3|>x"])
    assert logged["dat/unknown_mark"] == pytest.approx(2 / 3)
    assert "<|reflect2|>" in caplog.text
    assert "<|reflect3|>" in caplog.text
    logged.clear()
    reward(completions=[L], log_metric=logged.__setitem__)
    assert "dat/unknown_mark" not in logged


MARKS = [
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel>", "<channel|>"),
    ("<unused94>", "<unused95>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
]


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize(("opening", "closing"), MARKS)
def test_a_mark_is_known_as_a_special_token_and_as_text(opening, closing, special):
    from tokenizers import AddedToken, Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    end = "<turn|>"
    letters = dict.fromkeys((*L, *"thought案", "\n", "[UNK]"))
    backend = Tokenizer(
        models.WordLevel(
            {letter: k for k, letter in enumerate(letters)}, unk_token="[UNK]"
        )
    )
    backend.decoder = decoders.Fuse()
    backend.pre_tokenizer = __import__("tokenizers").pre_tokenizers.Split(
        "", "isolated"
    )
    backend.add_tokens(
        [
            AddedToken(mark, special=special, normalized=False)
            for mark in (opening, closing)
        ]
    )
    backend.add_special_tokens([AddedToken(end, special=True, normalized=False)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    text = f"{opening}thought\n案{closing}{L}"
    ids = tokenizer(text + end + "案", add_special_tokens=False)["input_ids"]
    assert final_text(decode(tokenizer, ids)) == L
    plain = tokenizer(L, add_special_tokens=False)["input_ids"]
    assert (
        decode(tokenizer, plain)
        == tokenizer.decode(plain, skip_special_tokens=True)
        == L
    )

    reward = DatReward(
        lambda: DatScorer.from_settings(Integration("dat", **FREE).task.settings),
        penalise_duplicates=False,
    )
    reward.tokenizer = tokenizer
    skipped = tokenizer.decode(ids, skip_special_tokens=True)
    for completion in (skipped, said(skipped)):
        (paid,) = reward(completions=[completion], completion_ids=[ids])
        assert paid > 8
    assert final_text(text) == L
