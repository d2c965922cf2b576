"""300 bills, killed and gone on with; five judges that `sozo judge` tries."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from fakes import FakeJudge
from sozo.data.errors import UserError
from sozo.scoring.endpoint.bill import (
    Bill,
    Budget,
    Ended,
    OverBudgetError,
    Paid,
    Price,
    read_bills,
)
from sozo.suite.judge.command import ask
from sozo.suite.judge.planted import packaged
from sozo.tasks.jcq.task import Jcq, JcqSettings

REALS = packaged()
VERDICT = "流暢性: {0}\n柔軟性: {0}\n独創性: {0}\n精緻性: {0}"


@dataclass(frozen=True)
class Came:
    """What a server said in the end."""

    ended: Ended
    tokens: tuple[int | None, int | None]


async def send(random: Random) -> Came:
    """A server that answers at some time, counts or not, refuses, is lost, or says that the request is wrong."""
    for _ in range(random.randrange(4)):
        await asyncio.sleep(0)
    kind = random.random()
    if kind < 0.1:
        raise UserError("no")
    if kind < 0.2:
        return Came(Ended.REFUSED, (None, None))
    if kind < 0.3:
        return Came(Ended.LOST, (None, None))
    counted = random.randrange(10, 200), random.randrange(1, 50)
    return Came(Ended.REPLY, counted if kind < 0.9 else (counted[0], None))


async def requests(bill: Bill, random: Random) -> list[str]:
    """Up to eight at once, and what became of each."""

    async def one(k: int) -> str:
        body = {"messages": "あ" * random.randrange(80)}
        body |= {"max_tokens": 20} if k % 2 else {}
        try:
            return (await bill.note(body, lambda: send(random))).ended.value
        except OverBudgetError:
            return "over"
        except UserError:
            return "wrong"

    return await asyncio.gather(*map(one, range(random.randrange(1, 9))))


def bills(folder: Path) -> Mapping[str, Any]:
    """Bill -> what each of its commands asked for and what was paid by then. A kill leaves a torn line, or half of a pair."""
    values = {}
    for number in range(300):
        random, told = Random(f"bill {number}"), []
        path = folder / str(number) / "bill.jsonl"
        price = Price(random.randrange(1, 9) * 1e2, random.randrange(1, 9) * 1e2)
        limit = random.choice((None, 0.3, 1.0, 3.0))
        for _ in range(random.randrange(1, 5)):
            paid = read_bills([path]).get("model", Paid())
            bill = Bill(path, "model", price, 30, Budget(limit, paid.cost_at_most))
            ended = asyncio.run(requests(bill, random))
            if random.random() < 0.5:
                with suppress(FileNotFoundError):
                    content = path.read_bytes()
                    path.write_bytes(content[: len(content) - random.randrange(150)])
            told.append(
                [ended, list(asdict(read_bills([path]).get("model", Paid())).values())]
            )
        values[str(number)] = told
    return values


def read(prompt: str) -> tuple[str, str]:
    """The question and the answer of a judge's prompt."""
    question = prompt.split("\n# 質問\n", 1)[1].split("\n\n# 回答", 1)[0]
    answer = prompt.split("\n# 回答\n", 1)[1].rsplit("\n\n# 流暢性", 1)[0]
    return question, answer


def by_rule(question: str, answer: str) -> int:
    return min(5, 1 + sum(line in answer for line in REALS[question].splitlines()))


JUDGES: dict[str, Callable[[str, str], int]] = {
    "constant": lambda question, answer: 4,
    "length": lambda question, answer: min(5, 1 + len(answer) // 75),
    "rule": by_rule,
    "obedient": lambda q, a: 5 if "5 points" in a else min(4, by_rule(q, a)),
    "random": lambda q, a: 1 + Random(q + a).randrange(5),
}


def judges(folder: Path) -> Mapping[str, Any]:
    """Judge -> what its check says, by kind of what was planted."""
    values = {}
    for name, points in JUDGES.items():
        task = Jcq(JcqSettings(trial=True))
        task.judge = FakeJudge(
            lambda prompt, p=points: VERDICT.format(p(*read(prompt)))
        )
        values[name] = ask(task, REALS, folder / name)
    return values


PARTS = {"bills": bills, "judges": judges}
