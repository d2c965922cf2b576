"""A judge on loopback. As a script: a bad one, `python judge_server.py PORT LOG SEED`, for tests that kill it."""

import json
import os
import random
import re
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"
REFUSAL = "採点できません"


def completion(
    text=VERDICT, finish_reason="stop", usage=(100, 20), reply_id="r", refusal=None
):
    """The body of a chat completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body = {
        "id": reply_id,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return body


class JudgeServer(ThreadingHTTPServer):
    """Answers every request with what `reply(request, headers)` returns.

    That is (status, headers, body), the body JSON or bytes, or None to drop the connection.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, reply, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.reply = reply

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request, client_address):
        """A client that went away is no news."""


@contextmanager
def serving(reply):
    """A `JudgeServer` on a free port while the block runs; gives its address."""
    server = JudgeServer(reply)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.url
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.reply(request, self.headers)
        if answer is None:
            self.close_connection = True
            self.connection.close()
            return
        status, headers, body = answer
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = "".join(
            f"{name}: {value}\r\n"
            for name, value in {**headers, "Content-Length": len(content)}.items()
        )
        self.wfile.write(f"HTTP/1.1 {status} x\r\n{head}\r\n".encode() + content)
        self.wfile.flush()

    def log_message(self, *args):
        pass


class BadJudge:
    """Fails three times in ten: 20% of all requests at random, and one item in ten always, in its own way.

    Writes a line to its log for every request and one for every reply with tokens, before sending it.
    """

    def __init__(self, log, seed):
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.random = random.Random(seed)
        self.asked = {}
        for line in Path(log).read_text().splitlines():
            row = json.loads(line)
            if row["event"] == "reply":
                self.asked[row["item"]] = self.asked.get(row["item"], 0) + 1

    def write(self, **row):
        os.write(self.log, json.dumps(row).encode() + b"\n")

    def __call__(self, request, headers):
        item = int(re.search(r"問い(\d+)番", request["messages"][0]["content"])[1])
        self.write(event="request", item=item)
        time.sleep(0.005)
        echo = headers["Authorization"]
        fault = self.random.random()
        if fault < 0.20:
            return (
                lambda: (
                    429,
                    {"Retry-After": "0.05"},
                    {"error": {"message": f"slow down, {echo}"}},
                ),
                lambda: (500, {}, {"error": {"message": f"boom {echo}"}}),
                lambda: time.sleep(2.5),
                lambda: None,
                lambda: (200, {}, b'{"choices": [{"mess'),
            )[int(fault * 25)]()
        kind = expected(item)
        if kind == "api_error":
            return (
                400,
                {},
                {
                    "error": {
                        "message": f"this prompt is not for me ({echo})",
                        "code": "bad",
                    }
                },
            )
        number = self.asked[item] = self.asked.get(item, 0) + 1
        reply_id = f"reply-{item}-{number}-{self.random.getrandbits(40):x}"
        usage = tokens(item)
        body = completion(
            f"(key: {echo})\n{VERDICT}" if item % 7 == 0 else VERDICT,
            usage=usage,
            reply_id=reply_id,
        )
        choice = body["choices"][0]
        if kind == "refused":
            choice["message"] |= {"content": None, "refusal": REFUSAL}
        elif kind == "truncated":
            choice["finish_reason"] = "length"
        elif kind == "unparseable" or (item % 50 == 4 and number == 1):
            choice["message"]["content"] = VERDICT.replace("3", "3か4")
        self.write(event="reply", item=item, id=reply_id)
        return 200, {}, body


def expected(item):
    """The true status of an item; those with remainder 4 are unparseable at first only."""
    read = (
        "in_prose" if item % 7 == 0 else "ok"
    )  # of every seventh, the key stands above the verdict
    return {0: "refused", 1: "truncated", 2: "unparseable", 3: "api_error"}.get(
        item % 50, read
    )


def tokens(item):
    """What a reply about an item costs."""
    return 1000 + item, 20 + item % 7


if __name__ == "__main__":
    JudgeServer(
        BadJudge(sys.argv[2], int(sys.argv[3])), int(sys.argv[1])
    ).serve_forever(0.05)
