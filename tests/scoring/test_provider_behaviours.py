"""What providers do, and what is expected of us: a table that was written before any row of it was run.

Each row is a scripted server behind the real client, as judge (JUDGE, through the ledger), as answerer (WRITER) or as
encoder (ENCODER). What passes, one refused prompt, a closed port and the wait of an hour are in `test_judge_endpoint.py`.
"""

import gzip
import json
import threading
from collections import Counter
from contextlib import ExitStack

import pytest

from judge_server import VERDICT, serving
from judge_server import completion as reply_of
from sentences import refused
from sozo.models.openai_endpoint import OpenAIGenerator
from sozo.models.settings import GeneratorSettings, resolve
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


def data(*items):
    return 200, {}, {"data": list(items)}


def vectors(*rows):
    return data(*({"index": k, "embedding": row} for k, row in enumerate(rows)))


def then(*replies):
    """One reply after the other, the last for ever."""
    left = list(replies)

    def script(request):
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer(request) if callable(answer) else answer

    return script


def only(word, trouble):
    """Trouble about a prompt with this word, and a verdict on any other."""
    return lambda request: (
        trouble if word in request["messages"][-1]["content"] else ok()
    )


def echo(request):
    return ok(request["messages"][0]["content"])


def slow(request):
    threading.Event().wait(5)
    return ok()


# What a judge may reply: verdicts, what is none, and what is something else.
READ = {
    "usage of 5,000 digits": (
        200,
        {},
        json.dumps(reply_of(usage=(100, 20))).replace("100", "1" * 5000).encode(),
    ),
    "id is a number": body_of(id=17),
    "body with a byte order mark": (
        200,
        {},
        b"\xef\xbb\xbf" + json.dumps(reply_of()).encode(),
    ),
    "gzip": (200, GZIP, gzip.compress(json.dumps(reply_of()).encode())),
    "the key in a verdict's line": ok(f"{KEY}\n{VERDICT}"),
    "an error of null": body_of(error=None),
    "choices in another order": body_of(
        choices=[
            {**reply_of(DRAFT)["choices"][0], "index": 1},
            *reply_of()["choices"],
        ]
    ),
    "two parts": ok(
        [{"type": "text", "text": text} for text in (VERDICT[:9], VERDICT[9:])]
    ),
}
# Only what is meant: an error is no answer, choices go by their index, and only strings are content.
UNREADABLE = {
    "two choices of one index": body_of(
        choices=[*reply_of()["choices"], *reply_of(DRAFT)["choices"]]
    ),
    "nested ten thousand deep": (200, {}, b"[" * 10_000),
    "error is FastAPI's detail": (422, {}, {"detail": "no field x"}),
    "an error in a choice's message": choice(
        message={"content": VERDICT, "error": "cold"}
    ),
    "an index that is false": choice(index=False),
    "choices that are texts": body_of(choices=[VERDICT]),
    "content is a number": ok(4),
    "a part whose text is null": ok([{"type": "text", "text": None}]),
    "a refusal that is no text": ok(refusal={"why": "no"}),
}
OTHERS = {
    "verdict only in reasoning_content": (
        "unparseable",
        choice(message={"content": "", "reasoning_content": VERDICT}),
    ),
    "lone surrogates": ("in_prose", ok(f"\ud800評価\n{VERDICT}")),
    "a filter's error": ("refused", body_of(error={"code": "content_filter"})),
    "a refusal beside a verdict": ("refused", ok(refusal="いいえ")),
}
# Where a prompt stands that is never answered, and what comes of all.
PLACES = (
    (WRITER, "the first", "一", ["", VERDICT]),
    (WRITER, "the last", "二", [VERDICT, ""]),
    (JUDGE, "the last", "答え2", {"ok": 2, "api_error": 1}),
    (JUDGE, "the first", "答え0", {"api_error": 1, "ok": 2}),
)
# What is expected of a judge: how many judgements have which status; of a writer the texts, of an encoder the vectors.
# None: the run ends, with the sentence of that name.
TABLE = {
    **{name: (JUDGE, then(reply), {"ok": 3}) for name, reply in READ.items()},
    **{
        name: (JUDGE, then(reply), {"api_error": 3})
        for name, reply in UNREADABLE.items()
    },
    **{
        name: (JUDGE, then(reply), {status: 3})
        for name, (status, reply) in OTHERS.items()
    },
    "streams though nobody asked": (JUDGE, then(chunked("流暢性: 4\n")), None),
    "204 without a body": (JUDGE, then((204, {}, b""), ok()), {"ok": 3}),
    "error is a list": (JUDGE, then((500, {}, {"error": ["a"]}), ok()), {"ok": 3}),
    "an error beside choices that passes": (
        JUDGE,
        then(body_of(error="cold"), choice(error="cold"), ok()),
        {"ok": 3},
    ),
    "too slow": (JUDGE, slow, {"api_error": 3}),
    "echoes the prompt": (JUDGE, echo, {"unparseable": 3}),
    "another server's error within one": (
        JUDGE,
        then(
            error(402, "Provider error", metadata={"raw": "quota\x1b of " + "x" * 999})
        ),
        None,
    ),
    "a redirect": (JUDGE, then((307, {"Location": "http://h/v1"}, b"")), None),
    "terminal codes in an error": (JUDGE, then(error(401, "\x1b[2Jbad\x07 key")), None),
    "writer: another model's name at each reply": (
        WRITER,
        then(body_of(model="m-1"), body_of(model="m-2")),
        None,
    ),
    "writer: content filter as a 400": (
        WRITER,
        then(ok(), error(400, code="content_filter")),
        ["", ""],
    ),
    # One prompt is not the endpoint: what always happens to one prompt is that prompt's, once another one was answered.
    **{
        f"{role}: {name} on {which} prompt": (role, only(word, script), expected)
        for k, (name, script) in enumerate(
            {
                "SSE": chunked("犬"),
                "500": error(500, "boom"),
                "a dropped connection": None,
            }.items()
        )
        for role, which, word, expected in PLACES[k % 2 :: 2]
    },
    "writer: a 400 about every prompt": (
        WRITER,
        then(ok(), error(400, "too long")),
        None,
    ),
    "writer: 500 about every prompt but the first": (
        WRITER,
        then(ok(), ok(), error(500, "boom")),
        None,
    ),
    **{
        f"embeddings: {name}": (ENCODER, then(reply), None)
        for name, reply in {
            "too few": vectors([1, 2]),
            "without index": data(*[{"embedding": [1, 2]}] * 3),
            "another size later": vectors([1, 2], [1, 2], [1, 2, 3]),
            "base64": data(
                *({"index": k, "embedding": "AACAPwAAAEA="} for k in range(3))
            ),
            "an index twice": data(*[{"index": 0, "embedding": [1, 2]}] * 3),
        }.items()
    },
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
        resolve(GeneratorSettings("m", base_url=url, concurrency=1, max_new_tokens=64))
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
    by_role = {JUDGE: judged, WRITER: written, ENCODER: encoded}
    timeout = 0.1 if script is slow else 30.0
    if expected is not None:
        assert by_role[role](served(script), tmp_path, timeout) == expected
        return
    with refused(f"client: {name}") as caught:
        by_role[role](served(script), tmp_path, timeout)
    assert str(caught.value).isprintable()
