"""How many others `sozo serve dat` serves beside slow and deaf clients: `python benchmarks/slow_clients.py`.

For each kind eight such clients, or one with 300 connections, are there for as long as others ask: four at a time, each
for one list, again and again for a minute, without a second attempt. What is counted: replies with status 200, and how
long the slowest took.
"""

import argparse
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from serving import listed, post, server

HEAD = "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
SECONDS, SLOW, OTHERS = 60, 8, 4


def drips(port: int, number: int, ended: threading.Event) -> None:
    """A byte each four seconds."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEAD.format(100_000).encode())
        while not ended.wait(4):
            connection.sendall(b" ")


def stops(port: int, number: int, ended: threading.Event) -> None:
    """A large body that never ends."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEAD.format(60_000_000).encode() + b" " * 50_000_000)
        ended.wait()


def reads_nothing(port: int, number: int, ended: threading.Event) -> None:
    """131,000 lists, whose reply is never read."""
    lists = [listed(131_000 * number + k) for k in range(131_000)]
    body = json.dumps({"completions": lists}, ensure_ascii=False).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(HEAD.format(len(body)).encode() + body)
        ended.wait()


def crowds(port: int, number: int, ended: threading.Event) -> None:
    """One address with 300 connections, a byte each four seconds."""
    source = f"127.0.0.{number + 2}", 0

    def drip() -> None:
        while not ended.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), None, source) as one:
                    one.sendall(HEAD.format(100_000).encode())
                    while not ended.wait(4):
                        one.sendall(b" ")
            except OSError:
                ended.wait(1)

    threads = [threading.Thread(target=drip, daemon=True) for _ in range(300)]
    for thread in threads:
        thread.start()
    ended.wait()


def again(
    client: Callable[..., None], port: int, number: int, ended: threading.Event
) -> None:
    """The same client anew whenever it is dropped."""
    while not ended.is_set():
        try:
            client(port, number, ended)
        except OSError:
            ended.wait(1)


def ask(port: int, worker: int, end: float) -> list[tuple[int, float]]:
    """Status and seconds of each request."""
    replies = []
    while (start := time.monotonic()) < end:
        text = listed(3_000_000 + 1000 * worker + len(replies))
        status = post(port, json.dumps({"completions": [text]}).encode())
        replies.append((status, time.monotonic() - start))
        time.sleep(0.05)
    return replies


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for client in (None, drips, stops, reads_nothing, crowds):
        ended = threading.Event()
        with server() as (port, _), ThreadPoolExecutor(OTHERS) as pool:
            for number in range({None: 0, crowds: 1}.get(client, SLOW)):
                words = client, port, number, ended
                threading.Thread(target=again, args=words, daemon=True).start()
            end = time.monotonic() + SECONDS
            asked = [pool.submit(ask, port, k, end) for k in range(OTHERS)]
            replies = [reply for one in asked for reply in one.result()]
            ended.set()
        statuses = Counter(status for status, _ in replies)
        kind = client.__doc__ if client else "Nobody else."
        print(
            f"{kind} {len(replies)} requests, {statuses[200] / len(replies):.1%} served, "
            f"the slowest in {max(took for _, took in replies):.1f} s; {dict(statuses)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
