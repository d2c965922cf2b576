"""What others send, however much of it: messages, replies, words and marks are bounded."""

import gzip
import threading
import unicodedata
import zlib
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fakes import AXES, FakeNouns, axis_encoder, list_text
from sozo.data.errors import UserError
from sozo.data.foreign import (
    LONGEST_WORD,
    MOST_REPLY,
    nfkc,
    quoted,
    strip_steering,
)
from sozo.data.jsonl import read_objects
from sozo.data.settings import from_json, read_yaml, settings_of
from sozo.rewards.integrations.core import Integration, answer_in
from sozo.scoring.endpoint.client import Endpoint, UnusableReplyError
from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.endpoint.profile import read_profile
from sozo.scoring.nouns.rules import Morpheme, MorphemeChecker
from sozo.tasks.dat.scorer import DatScorer, DatSettings

LONG = "犬" * 300_000
MOST = 1_000  # characters of a message, however much was sent


def written(tmp_path, text, name="x.jsonl"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


MESSAGES = {
    "a setting that is no JSON": lambda _: from_json(LONG, "reward"),
    "an unknown setting": lambda _: settings_of(DatSettings, {LONG: 1}),
    "an endpoint's number": lambda _: read_profile({"timeout": LONG}),
    "a key that comes twice": lambda p: list(
        read_objects(written(p, f'{{"{LONG}": 1, "{LONG}": 2}}'))
    ),
    "YAML": lambda p: read_yaml(written(p, f"a: {{{LONG}", "x.yaml")),
    "a label that is many addresses": lambda _: Integration("sat").pay(
        ["x"], ["{" + "http://" * 100_000]
    ),
    "a query without its prompt": lambda _: answer_in(LONG),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_a_message_quotes_little_of_what_was_sent(kind, tmp_path):
    with pytest.raises(UserError) as caught:
        MESSAGES[kind](tmp_path)
    message = str(caught.value)
    assert len(message) <= MOST
    assert "\n" not in message
    assert message.count("犬") <= 410  # at most two quotations


def test_a_message_is_one_line_without_credentials_and_escapes():
    message = str(UserError("a\nb \x1b]0;x\x07 http://me:secret@host/v1 \u202egnp"))
    assert message == "a b ]0;x http://host/v1 gnp"
    cut = str(UserError("x" * 690 + " http://me:secret" + "y" * 500 + "@host"))
    assert "secret" not in cut
    long = str(UserError(f"before {LONG} after"))
    assert len(long) <= MOST
    assert long.startswith("before 犬")
    assert long.endswith("犬 after")


def test_quoted_and_shown():
    assert quoted("犬") == "'犬'"
    assert len(quoted(LONG)) <= 205
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert len(quoted(deep)) <= 205
    assert (
        strip_steering("\x1b[31mred\x9b31m \u202egnp\u2066 \u200f犬\x07\r\n\t")
        == "[31mred31m gnp 犬\n\t"
    )


# --- replies ---


@contextmanager
def raw_server(reply):
    """A server whose handler writes what `reply(handler)` writes."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.close_connection = True
            with suppress(OSError):  # the client has gone, as it should
                reply(self)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def head(handler, **headers):
    handler.send_response(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def endless(handler):
    head(handler, Transfer_Encoding="chunked")
    block = b" " * (1 << 20)
    for _ in range(2_000):
        handler.wfile.write(b"100000\r\n" + block + b"\r\n")


def packed(size):
    return gzip.compress(b" " * size)


def sent(body, **headers):
    def reply(handler):
        head(handler, Content_Length=str(len(body)), **headers)
        handler.wfile.write(body)

    return reply


TOO_LARGE = {
    "gzip that unpacks to 200 MB": sent(packed(200 << 20), Content_Encoding="gzip"),
    "an endless chunked body": endless,
    "many packed members": sent(packed(1 << 20) * 40, Content_Encoding="gzip"),
    "an encoding that nobody asked for": sent(b"x", Content_Encoding="zstd"),
    "no gzip at all": sent(b"x", Content_Encoding="gzip"),
}


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def one(url):
        outcomes = []
        endpoint = Endpoint("m", url, retry=RetryPolicy(retries=0), timeout=60.0)

        def read(content):
            if content is None:
                raise UnusableReplyError("no JSON")
            return content["n"]

        endpoint.post_all("x", [{}], read, lambda _, outcome: outcomes.append(outcome))
        return outcomes[0]

    return one


@pytest.mark.parametrize("kind", TOO_LARGE)
def test_a_reply_is_read_to_a_bound(kind, ask):
    with raw_server(TOO_LARGE[kind]) as url:
        outcome = ask(url)
    assert outcome.value is None
    assert outcome.error
    assert len(outcome.error) <= 300


@pytest.mark.parametrize(
    "reply",
    [
        sent(gzip.compress(b'{"n": 1}'), Content_Encoding="gzip"),
        sent(zlib.compress(b'{"n": 1}'), Content_Encoding="deflate"),
        sent(b" " * (MOST_REPLY - 8) + b'{"n": 1}'),
    ],
)
def test_an_ordinary_reply_is_read_whole(reply, ask):
    with raw_server(reply) as url:
        assert ask(url).value == 1


# --- words ---


def test_a_long_word_is_no_noun_and_is_not_remembered():
    scorer = DatScorer(FakeNouns([*AXES, LONG]), axis_encoder())
    words = list(AXES[:9])
    long, good = scorer.score([list_text([*words, LONG]), list_text(AXES[:10])])
    assert (str(long.reason), good.reason) == ("not_noun", None)
    assert max(map(len, scorer.words._codes)) <= LONGEST_WORD + 1
    twice = scorer.score([list_text([*AXES[:8], LONG + "a", LONG + "b"])])
    assert str(twice[0].reason) == "not_noun"


def test_a_checker_remembers_no_long_word():
    class Every(MorphemeChecker):
        name = "every"

        def analyse(self, word):
            return [[Morpheme("名詞", "普通名詞")]]

    checker = Every()
    verdicts = checker.check([LONG, "犬" * LONGEST_WORD, "犬" * (LONGEST_WORD + 1)])
    assert [verdict.is_noun for verdict in verdicts] == [False, True, False]
    assert max(map(len, checker._verdicts)) <= LONGEST_WORD + 1


# --- marks, parentheses ---


def test_marks_are_normalised_as_ever_but_for_endless_ones():
    for text in (
        "ｶﾞｷﾞ",
        "か\u3099",
        "犬①㍻",
        "a" + "\u0301" * 29 + "b",
    ):
        assert nfkc(text) == unicodedata.normalize("NFKC", text)
    assert nfkc("a" + "\u0301\u0316" * 1_000).startswith("á")
    assert nfkc("a" + "\u0301\u0316" * 1_000) != nfkc("a" + "\u0301\u0316" * 1_001)
