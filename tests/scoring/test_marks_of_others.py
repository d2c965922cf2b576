"""Answers with the marks, parts, roles and endings that published models and their servers give them.

Each is of the shape that a chat template, a reasoning parser or a public report shows; none is of a run of ours.
"""

import json

import pytest

from fakes import list_text
from sozo.data.schema import ERROR
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.final_text import (
    Ending,
    completion_text,
    ending,
    final_text,
    judged_part,
    no_answer,
)
from sozo.scoring.parse import split_list
from sozo.tasks.answer_files import read_answers_file

WORDS = ("犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日")
L = list_text(WORDS)

# --- marks around and before an answer ---

SAID = {
    # gpt-oss without its special tokens, by whichever channel it began
    "commentary": f"commentary検索します。assistantfinal{L}",
    "analysis and commentary": f"analysisThink.assistantcommentary to=functions.f json{{}}assistantfinal{L}",
    "a space behind the channel": f"analysis We need ten.assistantfinal{L}",
    "a call before": f'commentary to=functions.search json{{"q": 1}}assistantfinal{L}',
    "the head is in the prompt": f"assistantfinal{L}",
    "reasoning that names the end": f"analysisI will write assistantfinal later.assistantfinal{L}",
    # Granite 3.2
    "Granite": f"Here is my thought process: 案\nHere is my response: {L}",
    "Granite, shortened": f"Here's my thought process:\n案\n\nHere's my response:\n{L}",
    "Granite, mixed": f"Here is my thought process:\n\n案\n\nHere's my response:\n\n{L}<|end_of_text|>",
    # Granite 3.3, ERNIE 4.5
    "Granite 3.3": f"<think>案</think><response>{L}</response>",
    "ERNIE": f"案\n</think>\n\n<response>\n{L}\n</response>\n",
    # Apriel
    "Apriel": f"Here are my reasoning steps:\n案\n[BEGIN FINAL RESPONSE]\n{L}\n[END FINAL RESPONSE]\n<|end|>",
    "Apriel, in the prompt": f"案\n[BEGIN FINAL RESPONSE]\n{L}<|end|>",
    "Apriel, no end": f"Here are my reasoning steps:\n案\n[BEGIN FINAL RESPONSE]\n{L}",
    # OpenThinker, Sky-T1
    "OpenThinker": f"<|begin_of_thought|>案<|end_of_thought|>\n\n<|begin_of_solution|>\n\n{L}\n\n<|end_of_solution|>",
    "OpenThinker, no thought": f"<|begin_of_solution|>{L}<|end_of_solution|>",
    # GLM-4.1V, GLM-4.5V
    "GLM's box": f"<think>案</think><|begin_of_box|>{L}<|end_of_box|>",
    "GLM's box and end": f"<|begin_of_box|>{L}<|end_of_box|><|user|>",
    "GLM's other end": f"{L}<|observation|>",
    # LLM-jp, PLaMo
    "LLM-jp": f"{L}<EOD|LLM-jp>",
    "LLM-jp, twice": f"{L}\n<EOD|LLM-jp><EOD|LLM-jp>",
    "PLaMo": f"{L}<|plamo:eos|>",
    # others' reasoning
    "LongCat": f"<longcat_think>\n案\n</longcat_think>\n{L}</longcat_s>",
    "MiniMax M3": f"<mm:think>案</mm:think>{L}[e~[",
    "s1": f"<|im_start|>think\n案\n<|im_start|>answer\n{L}<|im_end|>",
    "HyperCLOVA": f"/think\n案<|im_end|>\n<|im_start|>assistant\n{L}<|im_end|><|endofturn|>",
    "Marco-o1": f"<Thought>案</Thought>\n<Output>\n{L}\n</Output>",
    "Reflection": f"<thinking>案<reflection>待て</reflection></thinking>\n<output>{L}</output>",
    "LLaVA-CoT": f"<REASONING>案</REASONING>\n<CONCLUSION>{L}</CONCLUSION>",
    "Command A": f"<|START_THINKING|>案<|END_THINKING|><|START_RESPONSE|>{L}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    "Command A's text": f"<|START_TEXT|>{L}<|END_TEXT|>",
    # others' ends
    "Ling": f"{L}<|role_end|>",
    "dots": f"{L}<|endofassistant|>",
    "DeepSeek Coder": f"{L}\n<|EOT|>",
    "Hunyuan": f"<think>\n案\n</think>\n<answer>\n{L}\n</answer><|hy_eos|>",
    "Hunyuan's other end": f"{L}<|eos|>",
    "InternLM": f"{L}<eoa>",
    "InternLM2 by number": f"{L}[UNUSED_TOKEN_145]",
    "Jamba": f"{L}<|eom|>",
    "Kimi": f"◁think▷案◁/think▷{L}[EOT]",
    "Grok-1": f"{L}<|separator|>",
    "in other letters": f"<THINK>案</THINK><ANSWER>{L}</ANSWER>",
}
NOT_SAID = {
    "Granite": "Here is my thought process: 案",
    "Granite, shortened": "Here's my thought process:\n1. 犬",
    "Apriel": "Here are my reasoning steps:\n案",
    "s1": "<|im_start|>think\n案",
    "HyperCLOVA": "/think\n案",
    "LongCat": "<longcat_think>案",
    "MiniMax M3": "<mm:think>案",
    "in small letters": "<reasoning>案",
    "Kimi": "◁think▷案",
    "Command A": "<|START_THINKING|>案",
    "OpenThinker": "<|begin_of_thought|>案",
}
# What looks like one of these, and is what somebody wrote.
OWN = (
    "Here is my response: 傘立て",
    "分析です。Here is my thought process: 案",
    "commentary on umbrellas",
    "analysis/think\n傘",
    "[BEGIN] 傘 [END]",
    "<b>傘</b>",
    "final answer: 傘",
    "assistant: 傘",
    "<output>傘",
    "傘</output>",
    "<犬>",
    "[1] 傘",
    "分析 <analysis",
    "analysisだけ",
)


@pytest.mark.parametrize("model", SAID)
def test_what_each_model_says_in_the_end(model):
    assert final_text(SAID[model]) == L
    assert judged_part(SAID[model]) == L
    assert split_list(SAID[model]) == WORDS


@pytest.mark.parametrize("model", NOT_SAID)
def test_reasoning_that_never_ends_says_nothing(model):
    assert final_text(NOT_SAID[model]) is None
    assert judged_part(NOT_SAID[model]) == ""


@pytest.mark.parametrize("text", OWN)
def test_what_only_looks_like_a_mark_stays(text):
    assert final_text(text) == text


# --- parts and roles: the same in a reply, in a file and before a reward ---

TEXT = {"type": "text", "text": L}
CONTENTS = {
    "a text": L,
    "a thought of a text": [{"type": "text", "text": "案", "thought": True}, TEXT],
    "a thought of no type": [{"text": "案", "thought": True}, {"text": L}],
    "a type that is null": [{"type": None, "text": L}],
    "Output_Text": [{"type": "Output_Text", "text": L, "annotations": []}],
    "thinking": [{"type": "thinking", "thinking": "案", "signature": "x"}, TEXT],
    "Mistral's": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "案"}]},
        TEXT,
    ],
    "Bedrock's": [{"reasoningContent": {"reasoningText": {"text": "案"}}}, {"text": L}],
    "a part that is null": [{"type": "text", "text": None}, TEXT],
    "a call": [TEXT, {"functionCall": {"name": "f", "args": {}}}],
}
ROLES = ("ASSISTANT", "model", "ai", "gpt", "chatbot", "bot")


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    return Endpoint("the server", "http://127.0.0.1:9/v1")


def of_file(tmp_path, row):
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")
    return list(read_answers_file(path))


def batch(message, reason="stop", **more):
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = {"choices": [choice], **more}
    return {
        "id": "b",
        "custom_id": "r1",
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


@pytest.mark.parametrize("kind", CONTENTS)
def test_parts_are_read_alike_everywhere(kind, endpoint, tmp_path):
    message = {"role": "assistant", "content": CONTENTS[kind]}
    reply = endpoint.chat_reply({"choices": [{"message": message}]})
    (answer,) = of_file(tmp_path, batch(message))
    assert (reply.text, completion_text([message]), answer.text) == (L, L, L)


@pytest.mark.parametrize("role", ROLES)
def test_a_model_has_many_names(role, tmp_path):
    message = {"role": role, "content": L}
    assert completion_text([{"role": "user", "content": "?"}, message]) == L
    (answer,) = of_file(tmp_path, {"completion": [message]})
    assert answer.text == L


@pytest.mark.parametrize("role", ["User", "human", "tool", "system", "function"])
def test_nobody_else_answers(role, tmp_path):
    message = {"role": role, "content": L}
    assert completion_text([message]) == ""
    assert completion_text([{"type": role, "content": L}]) == ""
    (answer,) = of_file(tmp_path, {"completion": [message]})
    assert answer.text == ""


@pytest.mark.parametrize(
    "message",
    [
        {"role": "model", "parts": [{"text": "案", "thought": True}, {"text": L}]},
        {"type": "AI", "content": [{"type": "text", "text": L}]},
        {"role": None, "type": "message", "content": L},
    ],
)
def test_messages_of_other_tools(message):
    assert completion_text([{"role": "user", "content": "?"}, dict(message)]) == L


# --- endings ---

CUT, FILTERED, WELL = Ending.CUT, Ending.FILTERED, Ending.WELL


def responses(status, reason=None, part=TEXT):
    said = {"type": "message", "role": "assistant", "content": [part]}
    details = reason and {"reason": reason}
    body = {"status": status, "incomplete_details": details, "output": [said]}
    response = {"status_code": 200, "body": body}
    return {"custom_id": "r1", "response": response, "error": None}


def claude(reason, *parts):
    message = {"role": "assistant", "content": [*parts, TEXT], "stop_reason": reason}
    return {"custom_id": "r1", "result": {"type": "succeeded", "message": message}}


def gemini(reason, *parts):
    content = {"role": "model", "parts": [*parts, {"text": L}]}
    candidate = {"content": content, "finishReason": reason}
    return {"key": "r1", "response": {"candidates": [candidate]}}


ENDED = {
    "completions, cut": (
        batch(None)
        | {
            "response": {
                "status_code": 200,
                "body": {"choices": [{"text": L, "finish_reason": "length"}]},
            }
        },
        CUT,
    ),
    "responses, cut": (responses("incomplete", "max_output_tokens"), CUT),
    "responses, filtered": (responses("incomplete", "content_filter"), FILTERED),
    "ours": ({"text": L, "finish_reason": "SAFETY"}, FILTERED),
    "JCQ": ({"answer": L, "id": 1, "finish_reason": "max_tokens"}, CUT),
    "Claude, cut": (claude("max_tokens"), CUT),
    "Gemini, cut": (gemini("MAX_TOKENS"), CUT),
    "Gemini, thought": (
        gemini("STOP", {"text": "案", "thought": True}),
        WELL,
    ),
}


@pytest.mark.parametrize("kind", ENDED)
def test_how_an_answer_ended_stands_in_the_file(kind, tmp_path):
    row, how = ENDED[kind]
    (answer,) = of_file(tmp_path, row)
    assert (answer.text, ending(answer.finish_reason)) == (L, how)


NO = {"type": "refusal", "refusal": "できません。"}
REFUSALS = {
    "a field": batch({"role": "assistant", "content": None, "refusal": NO["refusal"]}),
    "a part": batch({"role": "assistant", "content": [NO]}),
    "responses": responses("completed", part=NO),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_is_one_in_a_file_too(kind, tmp_path):
    (answer,) = of_file(tmp_path, REFUSALS[kind])
    assert answer.text == "できません。"
    assert ending(answer.finish_reason) is Ending.REFUSED


def failed(status, body):
    response = {"status_code": status, "request_id": "q", "body": body}
    return {"id": "b", "custom_id": "r1", "response": response, "error": None}


TOO_LONG = {"error": {"message": "too long", "type": "invalid_request_error"}}
FAILED = {
    "status 400": failed(400, TOO_LONG),
    "status 500, a text": failed(500, {"error": "internal"}),
    "no body": failed(429, None),
    "an error beside": failed(200, None) | {"error": {"code": "batch_expired"}},
    "no response": {"custom_id": "r1", "response": None, "error": None},
    "responses failed": failed(200, {"status": "failed", "output": [], **TOO_LONG}),
    "Claude errored": {
        "custom_id": "r1",
        "result": {"type": "errored", "error": {"type": "error"}},
    },
    "Claude expired": {"custom_id": "r1", "result": {"type": "expired"}},
    "Gemini": {"key": "r1", "error": {"code": 3, "message": "INVALID_ARGUMENT"}},
    "Gemini's status": {"key": "r1", "status": {"code": 3, "message": "x"}},
    "text null": {"id": "r1", "text": None},
    "lm-eval": {"doc_id": "r1", "resps": [[]], "doc": {}},
    "error true": {"id": "r1", "error": True},
}


@pytest.mark.parametrize("kind", FAILED)
def test_a_row_that_failed_is_an_answer_that_never_came(kind, tmp_path):
    path = tmp_path / "f.jsonl"
    lines = (json.dumps(row) for row in (FAILED[kind], {"text": L, "id": "good"}))
    path.write_text("\n".join(lines), "utf-8")
    came, good = read_answers_file(path)
    assert (came.id, came.text, came.finish_reason) == ("r1", "", ERROR)
    assert good.text == L


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (
            {"key": "r1", "response": {"candidates": [{"finishReason": "STOP"}]}},
            "no_text",
        ),
        (
            {"key": "r1", "response": {"candidates": [{"finishReason": "SAFETY"}]}},
            "filtered",
        ),
        (failed(200, {"status": "completed", "output": []}), "no_text"),
        (batch({"role": "assistant", "content": None}), "no_text"),
    ],
)
def test_what_came_without_text_is_no_request_that_failed(row, state, tmp_path):
    (answer,) = of_file(tmp_path, row)
    assert (answer.text, no_answer(answer)) == ("", state)


def test_a_blocked_prompt_is_filtered(tmp_path):
    row = {"key": "r1", "response": {"promptFeedback": {"blockReason": "SAFETY"}}}
    (answer,) = of_file(tmp_path, row)
    assert (answer.id, answer.text) == ("r1", "")
    assert ending(answer.finish_reason) is Ending.FILTERED


def test_filters_of_lm_eval_are_rows_of_one_answer(tmp_path):
    path = tmp_path / "samples_x.jsonl"
    rows = [
        {"doc_id": k, "doc": {}, "resps": [[L]], "filter": name, "filtered_resps": said}
        for name, said in (("strict-match", ["犬"]), ("flexible-extract", ["海"]))
        for k in range(3)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert [a.id for a in read_answers_file(path)] == ["0", "1", "2"]
