"""What the largest requests take of memory: `python benchmarks/serving.py [--megabytes 64]`.

`sozo serve dat` in a process of its own for each kind of body; its largest resident size over what it has when idle, as
Linux counts both. Eight at once are the most that the server takes.
"""

import argparse
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

COUNT = 131_072
WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]


def listed(number: int) -> str:
    """A usable list, another for each number below 10!."""
    words = list(WORDS)
    for k in range(len(words), 1, -1):
        number, place = divmod(number, k)
        words[k - 1], words[place] = words[place], words[k - 1]
    return "\n".join(f"{k}. {word}" for k, word in enumerate(words, 1))


def filled(text: str, most: int) -> list[str]:
    """As many copies as there may be, so long that the body is as large as it may be."""
    times = (most - 4 * COUNT - 1000) // (COUNT * len(text.encode()))
    return [text * max(times, 1)] * COUNT


def bodies(most: int) -> dict[str, tuple[bytes, int]]:
    """Kinds of bodies, and how many are sent at once."""

    def sent(**body: object) -> bytes:
        return json.dumps(body, ensure_ascii=False).encode()

    conversations = [
        [{"role": "assistant", "content": listed(k)}] for k in range(COUNT)
    ]
    prompts = [[{"role": "user", "content": f"名詞を10個 {k}"}] for k in range(COUNT)]
    wide = sent(completions=[f"{'a' * ((most - 5_000_000) // COUNT)}😀"] * COUNT)
    return {
        "131,072 usable lists": (
            sent(completions=[listed(k) for k in range(COUNT)]),
            1,
        ),
        "131,072 conversations with prompts": (
            sent(completions=conversations, prompts=prompts),
            1,
        ),
        "64 MB of Japanese": (sent(completions=filled("犬", most)), 1),
        "64 MB of ASCII with an emoji in each": (wide, 1),
        "one text of 64 MB with an emoji": (
            sent(completions=["a" * (most - 1000) + "😀"]),
            1,
        ),
        "the most values, as pairs": (
            b'{"completions": [], "item": ['
            + b'{"a":"\xc3\xa9\xe7\x8a\xac"},' * 1_048_000
            + b"0]}",
            1,
        ),
        "64 MB eight times at once": (wide, 8),
    }


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """Port and process of a server."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "sozo",
        "serve",
        "dat",
        "--noun-checker",
        "jumandic",
        "--port",
        str(port),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while not post(port, json.dumps({"completions": [listed(0)]}).encode()):
                time.sleep(0.2)
            yield port, process.pid
        finally:
            process.send_signal(signal.SIGKILL)


def post(port: int, body: bytes) -> int:
    """Status of the reply; 0 for none."""
    connection = HTTPConnection("127.0.0.1", port, timeout=900)
    try:
        connection.request("POST", "/score", body, {"content-type": "application/json"})
        reply = connection.getresponse()
        reply.read()
        return reply.status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()


def megabytes(process: int, name: str) -> float:
    """A line of /proc/PROCESS/status in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=64)
    most = parser.parse_args().megabytes << 20
    for kind, (body, at_once) in bodies(most).items():
        with server() as (port, process), ThreadPoolExecutor(at_once) as pool:
            idle, start = megabytes(process, "VmRSS"), time.perf_counter()
            statuses = list(pool.map(lambda _: post(port, body), range(at_once)))  # noqa: B023 - ends before the next
            peak = megabytes(process, "VmHWM") - idle
            took = time.perf_counter() - start
            print(
                f"{kind} ({len(body) / 1e6:.0f} MB): {peak:,.0f} MB over {idle:,.0f}; {took:.0f} s; {set(statuses)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
