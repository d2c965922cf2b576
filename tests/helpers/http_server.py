"""`sozo serve` for tests: in a thread, or, as a script, one to kill: `python http_server.py PORT JOURNAL`."""

import json
import socket
import sys
import time
from pathlib import Path
from threading import Thread

import httpx2
import uvicorn

from sozo.rewards.integrations.core import Integration
from sozo.rewards.integrations.journal import Journal
from sozo.rewards.integrations.serve import application, serve
from sozo.scoring.measure import Measure
from sozo.tasks.task import Item, Row, Task

MOST_BYTES = 2_000_000
JSON = {"content-type": "application/json"}


class Letters(Task):
    """Worth its number of letters: scored at once, and nothing is loaded."""

    name = "letters"
    title = "Letters"
    measures = (Measure("letters"),)

    def items(self):
        return [Item("any", "?", {})]

    def score(self, items, answers):
        return [
            Row({"letters": len(a.text)}) if a.text else Row(reason="empty")
            for a in answers
        ]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Running:
    """A server on loopback in a thread, and a client of it."""

    def __init__(self, integration, folder=None, hosts=()):
        self.port = free_port()
        self.journal = Journal(folder, integration.about())
        self.app = application(
            integration, MOST_BYTES, hosts=hosts, journal=self.journal
        )
        self.server = uvicorn.Server(
            uvicorn.Config(self.app, port=self.port, log_config=None)
        )
        self.thread = Thread(target=self.server.run)
        self.client = httpx2.Client(
            base_url=f"http://127.0.0.1:{self.port}", timeout=60
        )

    def __enter__(self):
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        return self.client

    def __exit__(self, *error):
        self.server.should_exit = True
        self.thread.join()
        self.client.close()
        self.journal.close()

    def wait_for_leaving(self):
        """Until the server has heard that who began has left, where nobody else is connected."""
        wait_until(lambda: not self.server.server_state.connections)

    def begin(self, body, announced=None):
        """A connection on which a request was sent, or its beginning; closing it is a client that leaves."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [
            "POST /score HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            "Content-Type: application/json",
            f"Content-Length: {announced or len(raw)}",
        ]
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + raw)
        return connection


def score(client, key=None, **body):
    """What /score answers."""
    reply = client.post(
        "/score", json=body, headers={"idempotency-key": key} if key else {}
    )
    assert reply.status_code == 200, reply.text
    return reply.json()


def wait_until(true, seconds=30):
    """Wait for what another thread brings about."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


if __name__ == "__main__":
    serve(
        Integration("letters", penalise_duplicates=True),
        "127.0.0.1",
        int(sys.argv[1]),
        (),
        Path(sys.argv[2]),
    )
