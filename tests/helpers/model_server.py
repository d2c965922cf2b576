"""A small OpenAI-compatible server on loopback, scripted by a test."""

import json
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fakes import list_text

KEY = "sk-very-secret"


GOOD = list_text("犬猫水山川本車空海石")


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # of more at once than the usual five some are dropped


@contextmanager
def server(answer):
    """`answer(body) -> (status, payload)`; gives the address and the requests that came."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(body | {"authorization": self.headers["authorization"]})
            status, payload = answer(body)
            data = json.dumps(payload).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    httpd = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/v1", requests
    finally:
        httpd.shutdown()
        httpd.server_close()


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
