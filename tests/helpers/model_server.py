"""A small OpenAI-compatible server on loopback, scripted by a test: `judge_server`'s, with the requests that came."""

import time
import urllib.error
import urllib.request
from contextlib import contextmanager

from fakes import list_text
from judge_server import serving

KEY = "sk-very-secret"


GOOD = list_text("犬猫水山川本車空海石")
_HEADERS = {"Content-Type": "application/json", "Retry-After-Ms": "1"}


@contextmanager
def server(answer):
    """`answer(body) -> (status, payload)`; gives the address and the requests that came."""
    requests = []

    def reply(body, headers):
        requests.append(body | {"authorization": headers["authorization"]})
        status, payload = answer(body)
        return status, _HEADERS, payload

    with serving(reply) as url:
        yield url, requests


def completion(text, finish_reason="stop"):
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return 200, {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
    }


def wait_for(url):
    for _ in range(600):
        try:
            urllib.request.urlopen(url).close()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError(f"{url} did not come up")
