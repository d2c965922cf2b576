"""700 judgements at concurrency 50 against one at a time, on a loopback server that takes 200 ms for each reply.

    python benchmarks/judging.py [--items 700] [--concurrency 50] [--latency 0.2] [--serial 30]

All of judging is timed: prompts, requests, parsing, and a line of the ledger for every reply. The ideal is the server's
time alone, items / concurrency x latency. One at a time is timed on fewer items and scaled by the item.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import judge_answers
from sozo.tasks.jcq.rubric import JCQ_V1

VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"


def serve(port: Connection, latency: float) -> None:
    """A judge in a process of its own, as light as it can be."""
    message = {"role": "assistant", "content": VERDICT}
    usage = {"prompt_tokens": 1500, "completion_tokens": 40}
    body = json.dumps(
        {
            "id": "x",
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": usage,
        }
    ).encode()
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        % (len(body), body)
    )

    async def connection(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    line
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                await reader.readexactly(int(length.split(b":")[1]))
                await asyncio.sleep(latency)
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(connection, "127.0.0.1", 0, backlog=256)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def timed(run: Callable[[], int]) -> tuple[float, float]:
    """Seconds by the clock and of this process, for each of the items that `run` did."""
    wall, cpu = time.perf_counter(), time.process_time()
    items = run()
    return (time.perf_counter() - wall) / items, (time.process_time() - cpu) / items


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=700)
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument(
        "--serial", type=int, default=30, help="items of the run one at a time"
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "none"
    long = "案を挙げて詳しく述べます。" * 60
    answers = [
        ToJudge(str(k), str(k), f"質問{k}", f"{k}. {long}") for k in range(args.items)
    ]
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, args.latency), daemon=True
    )
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"

    with tempfile.TemporaryDirectory() as folder:

        def judged(items: int, concurrency: int, name: str) -> int:
            judge = EndpointJudge("judge", base_url=url, concurrency=concurrency)
            done = judge_answers(judge, JCQ_V1, answers[:items], Path(folder) / name)
            assert done.statuses["ok"] == done.requests == items
            return items

        judged(10, 10, "warm")
        ideal = args.latency / args.concurrency
        to_ideal, to_serial = [], []
        for number in range(args.rounds):
            serial, _ = timed(lambda k=number: judged(args.serial, 1, f"serial-{k}"))
            many, cpu = timed(
                lambda k=number: judged(args.items, args.concurrency, f"many-{k}")
            )
            to_ideal.append(many / ideal)
            to_serial.append(serial / many)
            print(
                f"{args.items} at concurrency {args.concurrency}: {many * args.items:.2f} s "
                f"({cpu * 1000:.2f} ms of CPU each), {to_ideal[-1]:.2f} times the ideal {ideal * args.items:.2f} s; "
                f"one at a time {serial * args.items:.1f} s (from {args.serial}), {to_serial[-1]:.1f} times as long"
            )
    server.terminate()
    print(
        f"median: {statistics.median(to_ideal):.2f} times the ideal (target: at most 1.15), "
        f"{statistics.median(to_serial):.1f} times faster than one at a time (target: at least 10)"
    )


if __name__ == "__main__":
    main()
