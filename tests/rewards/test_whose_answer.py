"""What the answer is, is decided once: TRL's reward, integrations and a judge's reward take the same words for it."""

import logging

import numpy as np
import pandas as pd
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from fakes import AXES, FakeJudge, FakeNouns, axis_encoder, list_text
from sentences import refused
from sozo.rewards.dat import DatReward
from sozo.rewards.integrations.core import Integration
from sozo.rewards.judge import JudgeReward
from sozo.rewards.reward import _asked_and_answered
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
    "a message without a role": [{"content": L}],
    "an image and a text": said([{"type": "image"}, {"type": "text", "text": L}]),
    "the last of several": said(L, "assistant", CALL, {"role": "tool", "content": "x"}),
    "parts": said([{"type": "text", "text": L[:9]}, {"type": "text", "text": L[9:]}]),
    "reasoning": f"<think>犬か</think>{L}",
    "Gemma 4's thought, closed only": f"thought\n案<channel|>{L}",
    "an end": f"{L}<|im_end|>\n",
    "a byte order mark behind it": f" \ufeff {L}\ufeff\n",
    "gpt-oss": f"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>{L}<|return|>",
}
FINAL = "<|channel|>final<|message|>"
UNPAID = {
    "a tool's words": said(L, "tool", CALL),
    "the user's words": said(L, "user"),
    "null": said(None),
    "no message": [],
    "a tool's call": [CALL],
    "an image": said([{"type": "image"}]),
    "a template's turn": f"[INST] anything [/INST]{L}",
    "ChatML": f"<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n{L}",
    "a head alone": f"<|im_start|>assistant\n{L}",
    "a beginning": f"<s>{L}",
    "an unknown mark": f"<|reflect|>案<|/reflect|>{L}",
    "thought without an end": f"<|channel>thought\n案{L}",
    "Gemma's end within": f"{L}<turn|>\n<|turn>user\nx",
    "reasoning closed by another's mark": f"<think>a[/THINK]{L}",
    "a part of thought": said([{"type": "text", "text": L, "thought": True}]),
    "gpt-oss: a tool": f"<|start|>functions.x to=assistant{FINAL}{L}",
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
def integration():
    return Integration("dat", **FREE)


@pytest.fixture(scope="module")
def reward(integration):
    """As TRL calls it."""
    settings = integration.task.settings
    scorer = DatScorer.from_settings(settings)
    return DatReward(lambda: scorer, penalise_duplicates=False)


# What `answer_in` takes for the prompt of an unknown one.
TEMPLATES = (
    "a template's turn",
    "ChatML",
    "a head alone",
    "a beginning",
)


@pytest.mark.parametrize("kind", [*PAID, *UNPAID])
def test_reward_and_integrations_take_the_same_words_for_the_answer(
    kind, reward, integration
):
    completion = PAID.get(kind, UNPAID.get(kind))
    (by_trl,) = reward(completions=[completion])
    assert (by_trl > 8) == (kind in PAID)
    assert reward.last[0].reason == (None if kind in PAID else "format")
    (by_core,) = integration.pay([completion])
    assert (by_core.reward, by_core.reason) == (by_trl, reward.last[0].reason)
    if isinstance(completion, str) and kind not in TEMPLATES:
        asked = "[INST] x [/INST]"
        (paid,) = integration.pay([asked + completion], None, [asked], whole=True)
        assert paid.reward == by_trl


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_completion_is_refused(kind):
    with refused(f"a completion is {kind}"):
        completion_text(WRONG[kind])


@pytest.mark.parametrize(
    "make", [np.array, lambda texts: pd.Series(texts, index=[7, 9])]
)
def test_any_list_of_texts(make, reward, integration):
    prompts = ["a", "b"]
    lists = reward(prompts=make(prompts), completions=make([L, "x"]))
    assert [paid > 0 for paid in lists] == [True, False]
    columns = _asked_and_answered(
        make(prompts), make([L, "x"]), {"item": make(["i", "j"])}, None
    )[0]
    assert [item.id for item in columns] == ["i", "j"]
    paid = integration.pay(make([L, "x"]), None, make(prompts))
    assert [one.reason for one in paid] == [None, "format"]


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
    ("said", "columns"),
    {
        "judge reward: no question": {},
        "judge reward: a prompt without a user": {
            "prompts": [[{"role": "system", "content": "x"}]]
        },
        "judge reward: a question of two": {"question": [["a", "b"]]},
        "judge reward: an empty question": {"question": [""]},
        "judge reward: a question that is no number": {
            "prompts": ["x"],
            "question": [float("nan")],
        },
    }.items(),
)
def test_a_judge_is_not_asked_without_a_question(said, columns, judged):
    reward, asked = judged
    with refused(said):
        reward(completions=["杖にする"], **columns)
    assert asked == []


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
        ("<think>案</think> <plan>x", "<plan>"),
        ("[INST] x", "[INST]"),
        ("1. <犬>", None),
        ("<think>案</think>犬", None),
        ("犬<|im_end|>", None),
        ("", None),
    ],
)
def test_an_unknown_mark(text, mark):
    assert unknown_mark(text) == mark


def test_unknown_marks_are_counted_and_told(integration, caplog):
    logged = {}
    texts = ["<|reflect2|>x", L, f"<|reflect2|>{L}"]
    with caplog.at_level(logging.WARNING):
        reward = DatReward(lambda: DatScorer(FakeNouns(AXES), axis_encoder()))
        reward(completions=texts, log_metric=logged.__setitem__)
        integration.pay(["<|reflect3|>x"])
    assert logged["dat/unknown_mark"] == pytest.approx(2 / 3)
    assert "<|reflect2|>" in caplog.text
    assert "<|reflect3|>" in caplog.text
    logged.clear()
    reward(completions=[L], log_metric=logged.__setitem__)
    assert "dat/unknown_mark" not in logged


MARKS = [
    ("<think>", "</think>"),
    ("<|channel>", "<channel|>"),
]


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize(("opening", "closing"), MARKS)
def test_a_mark_is_known_as_a_special_token_and_as_text(
    opening, closing, special, reward, monkeypatch
):
    end = "<turn|>"
    letters = dict.fromkeys((*L, *"thought案", "\n", "[UNK]"))
    backend = Tokenizer(
        models.WordLevel(
            {letter: k for k, letter in enumerate(letters)}, unk_token="[UNK]"
        )
    )
    backend.decoder = decoders.Fuse()
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
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

    monkeypatch.setattr(reward, "tokenizer", tokenizer)
    skipped = tokenizer.decode(ids, skip_special_tokens=True)
    for completion in (skipped, said(skipped)):
        (paid,) = reward(completions=[completion], completion_ids=[ids])
        assert paid > 8
    assert final_text(text) == L
