"""What providers do, and what is expected of us: a table that was written before any row of it was run.

Each row is a scripted server behind the real client, as judge (JUDGE, through the ledger), as answerer (WRITER) or as
encoder (ENCODER). What a verdict is, is in `test_judge_verdict.py`; how a reply ended, in `test_judge_run.py`; refused
prompts, a closed port and the wait of an hour in `test_judge_endpoint.py`; Ctrl-C, prices that come later, a second
reading and budgets in `test_paid_for.py`. Of the rows below the line that says so, 204, 402 and empty vectors did not
come out as expected and were fixed; so were terminal codes in an error, before they were run.
"""

import gzip
import json
import threading
import time
from collections import Counter
from contextlib import ExitStack

import pytest

from judge_server import VERDICT, serving
from judge_server import completion as reply_of
from sozo.data.errors import UserError
from sozo.models.openai_endpoint import OpenAIGenerator
from sozo.models.settings import GeneratorSettings, decide
from sozo.scoring.embeddings import OpenAIEncoder
from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.endpoint.profile import Profile
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.protocol import JudgeSettings, ToJudge
from sozo.scoring.judges.run import judge_answers
from sozo.tasks.jcq.rubric import JCQ_V1

KEY = "sk-proj-0123456789abcdefgh"
QUICK = RetryPolicy(retries=2, first_wait=0.01, longest_wait=0.02, patience=0.3)
JUDGE, WRITER, ENCODER = "judge", "writer", "encoder"
ANSWERS = [ToJudge(f"a{k}", str(k), f"問い{k}番", f"答え{k}。") for k in range(3)]
PRICED = JudgeSettings(judge_price_in=1.0, judge_price_out=1.0, max_cost=1.0)
DRAFT = VERDICT.replace("4", "1")
GZIP = {"Content-Encoding": "gzip"}


def ok(text=VERDICT, **how):
    return 200, {}, reply_of(text, **how)


def error(status, message="no", **detail):
    return status, {}, {"error": {"message": message, **detail}}


def body_of(**changes):
    return 200, {}, {**reply_of(), **changes}


def choice(**changes):
    body = reply_of()
    body["choices"][0] |= changes
    return 200, {}, body


def chunked(*deltas):
    """What a server sends that streams whether or not it is asked to."""
    events = [
        {"choices": [{"index": 0, "delta": {"content": text}}]} for text in deltas
    ]
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return (
        200,
        {"Content-Type": "text/event-stream"},
        f"{lines}data: [DONE]\n\n".encode(),
    )


def vectors(*rows, **more):
    data = [{"index": k, "embedding": list(row)} for k, row in enumerate(rows)]
    return 200, {}, {"data": data, **more}


def then(*replies):
    """One reply after the other, the last for ever."""
    left = list(replies)

    def script(request):
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer(request) if callable(answer) else answer

    return script


def refuses(*names, otherwise=None):
    """400 as long as the request has one of these parameters."""

    def script(request):
        if sent := [name for name in names if name in request]:
            return error(
                400,
                f"Unsupported parameter: '{sent[0]}'",
                code="unsupported_parameter",
                param=sent[0],
            )
        return otherwise or ok()

    return script


def only(word, trouble):
    """Trouble about a prompt with this word, and a verdict on any other."""
    return lambda request: (
        trouble if word in request["messages"][-1]["content"] else ok()
    )


def echo(request):
    return ok(request["messages"][0]["content"])


def wide(request):
    texts = request["input"]
    return (
        error(400, "too many inputs")
        if len(texts) > 2
        else vectors(*[[1.0, float(len(text))] for text in texts])
    )


def slow(request):
    time.sleep(0.2)
    return ok()


# name: (role, what the server does, what is expected)
# Of a judge: how many judgements have which status, or the line that ends the run. Of a writer: the completions, or the
# line. Of an encoder: the vectors, or the line.
TABLE = {
    # Profiles.
    "writer that refuses temperature": (
        WRITER,
        refuses("temperature", "top_p", "seed", "top_k"),
        [VERDICT] * 2,
    ),
    "writer that wants max_completion_tokens": (
        WRITER,
        refuses("max_tokens"),
        [VERDICT] * 2,
    ),
    "writer that answers in parts": (
        WRITER,
        then(ok([{"type": "text", "text": "犬"}])),
        ["犬"] * 2,
    ),
    "writer that refuses a one-token probe": (
        WRITER,
        lambda request: (
            ok()
            if (request.get("max_tokens") or 16) >= 16
            else error(400, "at least 16")
        ),
        [VERDICT] * 2,
    ),
    # Embeddings.
    "HTML with 200": (
        ENCODER,
        then((200, {"Content-Type": "text/html"}, b"<html>hi</html>")),
        "holds no embeddings",
    ),
    "embeddings: error with 200": (
        ENCODER,
        then((200, {}, {"error": {"message": "cold"}})),
        "HTTP 200: cold",
    ),
    "embeddings without index": (
        ENCODER,
        then((200, {}, {"data": [{"embedding": [1, 2]}] * 3})),
        "with its index",
    ),
    "embeddings: batch limit": (ENCODER, wide, [[1, 1], [1, 2], [1, 3]]),
    # The line: what else a provider could do.
    "streams though nobody asked": (
        JUDGE,
        then(chunked("流暢性: 4\n")),
        {"api_error": 3},
    ),
    "verdict only in reasoning_content": (
        JUDGE,
        then(choice(message={"content": "", "reasoning_content": VERDICT})),
        {"unparseable": 3},
    ),
    "null content and tool calls": (
        JUDGE,
        then(
            choice(
                message={"content": None, "tool_calls": [{"id": "x"}]},
                finish_reason="tool_calls",
            )
        ),
        {"unparseable": 3},
    ),
    "two choices": (
        JUDGE,
        then(body_of(choices=[*reply_of()["choices"], *reply_of(DRAFT)["choices"]])),
        {"api_error": 3},  # of one index: nobody knows which is meant
    ),
    "a completion of the old kind": (
        JUDGE,
        then(choice(text=VERDICT, message=None)),
        {"api_error": 3},
    ),
    # (Expected {"ok": 3} at first; but no word that nobody knows is a good end, and a number is none.)
    "finish_reason is a number": (
        JUDGE,
        then(choice(finish_reason=0)),
        {"unparseable": 3},
    ),
    "finish_reason is an object": (
        JUDGE,
        then(choice(finish_reason={"type": "stop"})),
        {"unparseable": 3},
    ),
    "no finish_reason": (JUDGE, then(choice(finish_reason=None)), {"ok": 3}),
    "model and fingerprint are numbers": (
        JUDGE,
        then(body_of(model=7, system_fingerprint=[1])),
        {"ok": 3},
    ),
    "usage is a text": (JUDGE, then(body_of(usage="many")), {"ok": 3}),
    "usage with floats": (
        JUDGE,
        then(body_of(usage={"prompt_tokens": 1.5, "completion_tokens": True})),
        {"ok": 3},
    ),
    "id is a number": (JUDGE, then(body_of(id=17)), {"ok": 3}),
    "lone surrogates": (JUDGE, then(ok(f"\ud800評価\n{VERDICT}")), {"in_prose": 3}),
    "NUL and byte order mark": (JUDGE, then(ok(f"\ufeff\0{VERDICT}")), {"in_prose": 3}),
    "CRLF lines": (JUDGE, then(ok(VERDICT.replace("\n", "\r\n"))), {"ok": 3}),
    "body with a byte order mark": (
        JUDGE,
        then((200, {}, b"\xef\xbb\xbf" + json.dumps(reply_of()).encode())),
        {"ok": 3},
    ),
    "NaN in the JSON": (
        JUDGE,
        then((200, {}, json.dumps({**reply_of(), "score": float("nan")}).encode())),
        {"ok": 3},
    ),
    "nested ten thousand deep": (
        JUDGE,
        then((200, {}, b"[" * 10_000)),
        {"api_error": 3},
    ),
    "terminal codes in an error": (
        JUDGE,
        then(error(401, "\x1b[2Jbad\x07 key")),
        "HTTP 401: [2Jbad key",
    ),
    "error is a list": (
        JUDGE,
        then((500, {}, {"error": ["a", {"b": 1}]}), ok()),
        {"ok": 3},
    ),
    "error is FastAPI's detail": (
        JUDGE,
        then((422, {}, {"detail": "no field x"})),
        {"api_error": 3},
    ),
    "204 without a body": (JUDGE, then((204, {}, b""), ok()), {"ok": 3}),
    "a redirect to itself": (
        JUDGE,
        lambda request: (307, {"Location": "/v1/chat/completions"}, b""),
        {"api_error": 3},
    ),
    "529, Anthropic's overload": (JUDGE, then(error(529), error(529), ok()), {"ok": 3}),
    "402, out of credit": (JUDGE, then(error(402, "pay first")), "HTTP 402: pay first"),
    "a rate limit with a date long past": (
        JUDGE,
        then((429, {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, {}), ok()),
        {"ok": 3},
    ),
    "gzip": (
        JUDGE,
        then((200, GZIP, gzip.compress(json.dumps(reply_of()).encode()))),
        {"ok": 3},
    ),
    "gzip that is none": (JUDGE, then((200, GZIP, b"plain"), ok()), {"ok": 3}),
    "201 with a verdict": (JUDGE, then((201, {}, reply_of())), {"ok": 3}),
    "too slow": (JUDGE, slow, {"api_error": 3}),
    "echoes the prompt": (JUDGE, echo, {"unparseable": 3}),
    "the key in a verdict's line": (JUDGE, then(ok(f"{KEY}\n{VERDICT}")), {"ok": 3}),
    "writer: empty choices": (WRITER, then(ok(), body_of(choices=[])), ["", ""]),
    "writer: another model's name at each reply": (
        WRITER,
        then(body_of(model="m-1"), body_of(model="m-2")),
        "replies came from m-1 and m-2, and a run is of one model",
    ),
    "writer: content filter as a 400": (
        WRITER,
        then(ok(), error(400, code="content_filter")),
        ["", ""],
    ),
    "writer: 403 on one prompt": (
        WRITER,
        lambda request: (
            error(403, "flagged")
            if "二" in request["messages"][0]["content"]
            else ok("犬")
        ),
        ["犬", ""],
    ),
    "writer: a 400 about every prompt": (
        WRITER,
        then(ok(), error(400, "too long")),
        "HTTP 400: too long",
    ),
    "embeddings: another size later": (
        ENCODER,
        then(vectors([1, 2], [1, 2], [1, 2, 3])),
        "vectors of 2 and 3 numbers",
    ),
    "embeddings: empty vectors": (
        ENCODER,
        then(vectors([], [], [])),
        "no list of numbers",
    ),
    "embeddings: base64 though floats were asked for": (
        ENCODER,
        then(
            (
                200,
                {},
                {"data": [{"index": k, "embedding": "AACAPwAAAEA="} for k in range(3)]},
            )
        ),
        "no list of numbers",
    ),
    "embeddings: an index twice": (
        ENCODER,
        then((200, {}, {"data": [{"index": 0, "embedding": [1, 2]}] * 3})),
        "not numbered from 0",
    ),
    # Only what is meant: an error is no answer, choices go by their index, and only strings are content.
    "an error beside choices": (
        JUDGE,
        then(body_of(error={"message": f"cold {KEY}", "code": 502})),
        {"api_error": 3},
    ),
    "an error in a choice": (
        JUDGE,
        then(choice(error={"message": f"cold {KEY}", "code": 502})),
        {"api_error": 3},
    ),
    "an error in a choice's message": (
        JUDGE,
        then(choice(message={"content": VERDICT, "error": "cold"})),
        {"api_error": 3},
    ),
    "an error beside choices that passes": (
        JUDGE,
        then(body_of(error="cold"), choice(error="cold"), ok()),
        {"ok": 3},
    ),
    "an error of null": (JUDGE, then(body_of(error=None)), {"ok": 3}),
    "a filter's error beside choices": (
        JUDGE,
        then(body_of(error={"code": "content_filter"})),
        {"refused": 3},
    ),
    "choices in another order": (
        JUDGE,
        then(
            body_of(
                choices=[
                    {**reply_of(DRAFT)["choices"][0], "index": 1},
                    *reply_of()["choices"],
                ]
            )
        ),
        {"ok": 3},
    ),
    "choices without index": (
        JUDGE,
        then(
            body_of(
                choices=[
                    {"message": {"content": text}, "finish_reason": "stop"}
                    for text in (VERDICT, DRAFT)
                ]
            )
        ),
        {"ok": 3},
    ),
    "no choice of index 0": (JUDGE, then(choice(index=1)), {"api_error": 3}),
    "an index that is a text": (JUDGE, then(choice(index="0")), {"api_error": 3}),
    "an index that is false": (JUDGE, then(choice(index=False)), {"api_error": 3}),
    "choices by name": (
        JUDGE,
        then(body_of(choices={"0": reply_of()["choices"][0]})),
        {"api_error": 3},
    ),
    "choices that are texts": (
        JUDGE,
        then(body_of(choices=[VERDICT])),
        {"api_error": 3},
    ),
    "content is a number": (JUDGE, then(ok(4)), {"api_error": 3}),
    "content is an object": (JUDGE, then(ok({"text": VERDICT})), {"api_error": 3}),
    "content is false": (JUDGE, then(ok(False)), {"api_error": 3}),
    "a part whose text is null": (
        JUDGE,
        then(ok([{"type": "text", "text": None}])),
        {"api_error": 3},
    ),
    "a part whose text is a number": (
        JUDGE,
        then(ok([{"type": "text", "text": 4}])),
        {"api_error": 3},
    ),
    "parts that are texts": (JUDGE, then(ok([VERDICT])), {"api_error": 3}),
    "two parts": (
        JUDGE,
        then(
            ok([{"type": "text", "text": text} for text in (VERDICT[:9], VERDICT[9:])])
        ),
        {"ok": 3},
    ),
    "a refusal beside a verdict": (JUDGE, then(ok(refusal="いいえ")), {"refused": 3}),
    "a refusal that is no text": (
        JUDGE,
        then(ok(refusal={"why": "no"})),
        {"api_error": 3},
    ),
    "a refusal as a part": (
        JUDGE,
        then(ok([{"type": "refusal", "refusal": "いいえ"}])),
        {"refused": 3},
    ),
    "an empty refusal": (JUDGE, then(ok(refusal="")), {"ok": 3}),
    "usage of 400 digits": (
        JUDGE,
        then(body_of(usage={"prompt_tokens": 10**400, "completion_tokens": 10**12})),
        {"ok": 3},
    ),
    "usage of 5,000 digits": (
        JUDGE,
        then(
            (
                200,
                {},
                json.dumps(reply_of(usage=(100, 20)))
                .replace("100", "1" * 5000)
                .encode(),
            )
        ),
        {"ok": 3},
    ),
    "usage below zero": (
        JUDGE,
        then(body_of(usage={"prompt_tokens": -5, "completion_tokens": "20"})),
        {"ok": 3},
    ),
    "usage that is no number": (
        JUDGE,
        then(
            (
                200,
                {},
                json.dumps(body_of(usage={"prompt_tokens": float("nan")})[2]).encode(),
            )
        ),
        {"ok": 3},
    ),
    "a redirect to a port that cannot be": (
        JUDGE,
        lambda request: (307, {"Location": "http://127.0.0.1:99999/v1"}, b""),
        {"api_error": 3},
    ),
    "writer: a part whose text is null": (
        WRITER,
        then(ok([{"type": "text", "text": None}])),
        "whose content is text",
    ),
    "writer: an error beside choices": (
        WRITER,
        then(body_of(error={"message": "cold"})),
        "HTTP 200: cold",
    ),
    "writer: a refusal": (WRITER, then(ok(), ok(refusal="いいえ")), ["", ""]),
    "embeddings: an error beside data": (
        ENCODER,
        then(
            (
                200,
                {},
                {**vectors([1, 2], [1, 2], [1, 2])[2], "error": {"message": "cold"}},
            )
        ),
        "HTTP 200: cold",
    ),
    # One prompt is not the endpoint: what always happens to one prompt is that prompt's, once another one was answered.
    **{
        f"{role}: {name} on {which} prompt": (role, only(word, script), expected)
        for name, script in {
            "SSE": chunked("犬"),
            "HTML": (200, {"Content-Type": "text/html"}, b"<html>hi</html>"),
            "500": error(500, "boom"),
            "no text": ok(4),
            "no choice": body_of(choices=None),
            "an error beside choices": body_of(error="cold"),
            "a dropped connection": None,
        }.items()
        for role, which, word, expected in (
            (WRITER, "the first", "一", ["", VERDICT]),
            (WRITER, "the last", "二", [VERDICT, ""]),
            (JUDGE, "the first", "答え0", {"api_error": 1, "ok": 2}),
            (JUDGE, "the last", "答え2", {"ok": 2, "api_error": 1}),
        )
    },
    "writer: SSE about every prompt": (
        WRITER,
        then(ok(), chunked("犬")),
        "the reply is no chat completion",
    ),
    "writer: 500 about every prompt but the first": (
        WRITER,
        then(ok(), ok(), error(500, "boom")),
        "HTTP 500: boom",
    ),
    # A vector of its own kind; `WordVectors` has no row for it, and calls an encoder broken that has no others.
    "embeddings: infinite numbers": (
        ENCODER,
        then(vectors(*[[float("inf")]] * 3)),
        [[float("inf")]] * 3,
    ),
}


@pytest.fixture
def served(monkeypatch):
    """`url = served(script)`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("sozo.scoring.endpoint.client.RetryPolicy", lambda: QUICK)
    servers = ExitStack()

    def serve(script):
        lock = threading.Lock()

        def reply(request, headers):
            if script is slow:
                return script(request)
            with lock:
                return script(request)

        return servers.enter_context(serving(reply))

    with servers:
        yield serve


def judged(url, folder, timeout):
    """How many judgements have which status."""
    judge = EndpointJudge("j", base_url=url, timeout=timeout, concurrency=1)
    done = judge_answers(judge, JCQ_V1, ANSWERS, folder / "ledger.jsonl", PRICED)
    assert done.cost_at_most < 1
    ledger = (folder / "ledger.jsonl").read_text("utf-8")
    assert KEY not in ledger
    assert '"fluency": 1' not in ledger  # a draft's
    # What was written can be read, and asking again asks nobody.
    assert judge_answers(judge, JCQ_V1, ANSWERS, folder / "ledger.jsonl").requests == 0
    return dict(Counter(str(judgement.status) for judgement in done.judgements))


def written(url, folder, timeout):
    writer = OpenAIGenerator(
        decide(GeneratorSettings("m", base_url=url, concurrency=1, max_new_tokens=64))
    )
    completions = writer.answer(["一", "二"], 0, 0)
    assert all(
        completion.text or completion.finish_reason != "stop"
        for completion in completions
    )
    return [completion.text for completion in completions]


def encoded(url, folder, timeout):
    return (
        OpenAIEncoder("e", Profile(base_url=url, concurrency=1))
        .encode(["犬", "子犬", "柴犬犬"])
        .tolist()
    )


@pytest.mark.parametrize("name", TABLE)
def test_what_a_provider_does(name, served, tmp_path):
    role, script, expected = TABLE[name]
    by_role, timeout = (
        {JUDGE: judged, WRITER: written, ENCODER: encoded},
        0.1 if script is slow else 30.0,
    )
    if not isinstance(expected, str):
        assert by_role[role](served(script), tmp_path, timeout) == expected
        return
    with pytest.raises(UserError) as caught:
        by_role[role](served(script), tmp_path, timeout)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert KEY not in str(caught.value)
