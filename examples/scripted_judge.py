"""A judge that is a script on loopback: it counts, and knows nothing. To try JCQ, and pages, where no judge is at hand.

    python examples/scripted_judge.py 8017 &
    sozo run --model tiny --tasks jcq --trial --judge-base-url http://127.0.0.1:8017/v1 \
        --judge-model scripted-judge --output runs/eval

What it reports as tokens are characters: they, and a cost made of them, say nothing of a real judge.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERDICT = "流暢性: {}\n柔軟性: {}\n独創性: {}\n精緻性: {}"


def grade(answer: str) -> tuple[int, int, int, int]:
    """Lines, different words in them, rare letters, length: each 1 to 5, and no opinion of anything.

    >>> grade("1. 猫\\n2. 犬"), grade("")
    ((2, 1, 1, 1), (1, 1, 1, 1))
    """
    lines = [line for line in answer.splitlines() if line.strip()]
    words = set(re.findall(r"[一-龠々]+|[ァ-ヴー]+", answer))
    letters = set(re.findall(r"[一-龠]", answer))
    counts = (len(lines) / 2, len(words) / 5, len(letters) / 12, len(answer) / 60)
    return tuple(min(5, 1 + int(count)) for count in counts)  # type: ignore[return-value]


class Judge(BaseHTTPRequestHandler):
    """Chat completions of one model."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One verdict."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["messages"][-1]["content"]
        answer = prompt.split("\n# 回答\n", 1)[-1].rsplit("\n\n# 流暢性", 1)[0]
        text = VERDICT.format(*grade(answer))
        message = {"role": "assistant", "content": text}
        body = {
            "id": "scripted",
            "model": request["model"],
            "choices": [{"message": message, "finish_reason": "stop"}],
        }
        body["usage"] = {"prompt_tokens": len(prompt), "completion_tokens": len(text)}
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Judge).serve_forever()
