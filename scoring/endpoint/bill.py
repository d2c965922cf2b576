"""What a run asked of servers that answer chats and what they counted, in its folder; and a budget for it."""

import asyncio
import fcntl
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.foreign import brief, quoted
from sozo.data.progress import note, say_once
from sozo.data.record import refuse_link, room
from sozo.data.settings import Checked, from_validation, setting
from sozo.scoring.endpoint.pace import is_ending

BILL = "bill.jsonl"
# Names of the limit on a reply's tokens.
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_MORE = 64  # tokens of a chat template, with room to spare
_LOOKS_EVERY = 0.01  # seconds


class Ended(StrEnum):
    """How a request ended."""

    REPLY = "reply"  # which may be paid for
    REFUSED = "refused"  # which is not
    LOST = "lost"  # only the server knows


class OverBudgetError(UserError):
    """The next request could cost more than is left. What was paid for is kept."""

    status = 3


@dataclass(frozen=True, slots=True)
class Price:
    """Price in dollars of a million tokens, in and out. There is no table of prices: a stale bill is a wrong one.

    >>> Price(2.5, 10.0).cost(1_000_000, 100_000)
    3.5
    """

    per_million_in: float
    per_million_out: float

    @classmethod
    def given(
        cls, paid_in: float | None, paid_out: float | None, whose: str = ""
    ) -> "Price | None":
        """What the settings price_in and price_out say, of `judge_` or of the model; None where it is not known."""
        if paid_in is None and paid_out is None:
            return None
        if paid_in is None or paid_out is None:
            both = f"{whose}price_in and {whose}price_out go together"
            raise UserError(
                f"{both}: what a million tokens cost, in and out; give both"
            )
        return cls(paid_in, paid_out)

    def cost(
        self, prompt_tokens: int | None, completion_tokens: int | None
    ) -> float | None:
        """Of these tokens; None if their number is not known."""
        if prompt_tokens is None or completion_tokens is None:
            return None
        paid_in = prompt_tokens * self.per_million_in
        return (paid_in + completion_tokens * self.per_million_out) / 1e6

    def at_most(self, prompt: str, max_tokens: int) -> float:
        """What one reply can cost."""
        tokens = most_tokens(prompt)
        return (tokens * self.per_million_in + max_tokens * self.per_million_out) / 1e6


def most_tokens(prompt: str) -> int:
    """How many tokens a prompt can be: no tokenizer makes more of it than there are UTF-8 bytes."""
    return len(prompt.encode("utf-8", "surrogatepass")) + _MORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending(Checked):
    """For how much money at most."""

    panel = "Cost"
    max_cost: float | None = setting(
        None,
        "Stop with exit code 3 before models and judge, of all runs here, cost more dollars; needs their prices.",
        affects_result=False,
        least=0,
    )
    budget_file: str | None = setting(
        None,
        "File by which all commands that name it share one total, also at once: --max-cost is then for all of them.",
        affects_result=False,
    )


def check_limit(
    max_cost: float | None, payee: str, price: Price | None, longest: int | None
) -> None:
    """Raise UserError if nobody could tell when `max_cost` is reached; `longest` is in tokens of a reply."""
    if max_cost is not None and (price is None or longest is None):
        needs = f"the prices of the {payee}'s tokens (0 where nobody is paid) and a limit on its replies"
        raise UserError(f"max_cost needs {needs}; give all of them")


class SharedTotal:
    """Dollars of all commands that name a file: the sum of its lines, a number each.

    A request stands there at the most that it can cost before it is sent, and what it cost less when it has ended: of a
    process that is killed the most stays.
    """

    def __init__(self, path: Path) -> None:
        refuse_link(path)
        self.path, self.dollars, self._read = path, 0.0, 0

    def add(self, dollars: float, limit: float = math.inf) -> bool:
        """Add a line, unless the total would come above the limit; whether it was added."""
        line = f"{dollars!r}\n".encode()
        try:
            with room(self.path, len(line)), self.path.open("ab+", 0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # gone with the process
                file.seek(self._read)
                new = file.read()
                *each, torn = new.split(b"\n")
                if torn:
                    raise ValueError("its last line is not whole")
                self.dollars += math.fsum(map(float, each))
                self._read += len(new)
                fits = self.dollars + dollars <= limit
                if fits and file.write(line) < len(line):
                    raise OSError("a line is not whole")
        except (OSError, ValueError) as error:
            says = f"cannot be read or written as the lines of a budget ({error})"
            raise UserError(
                f"{self.path}: {says}; give another --budget-file"
            ) from error
        return fits


class Budget:
    """Dollars for all runs of a command. What is under way is reserved at the most that it can cost.

    With a `file` these are dollars of all commands that name it, too (`SharedTotal`): a request must fit both totals.
    """

    def __init__(
        self, limit: float | None, spent: float = 0.0, file: str | None = None
    ) -> None:
        self.limit, self.spent = limit, spent
        self.shared = SharedTotal(Path(file)) if file else None
        if self.shared and limit is None:
            raise UserError(
                "budget_file needs max_cost, the limit of all commands that name it; give both"
            )
        self._reserved, self._under_way, self._told = 0.0, 0, False

    def _fits(self, most: float) -> bool:
        if self.limit is None:
            return True
        own = self.spent + self._reserved + most <= self.limit
        return own and (self.shared is None or self.shared.add(most, self.limit))

    async def reserve(self, most: float) -> bool:
        """Wait until there is room for `most` dollars; False if what is under way here cannot make any."""
        while not self._fits(most):
            if not self._under_way:
                return False
            await asyncio.sleep(_LOOKS_EVERY)
            if is_ending():
                return False
        self._reserved += most
        self._under_way += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """What `most` was reserved for has ended, at this cost; the first one that cost more is told."""
        if 0 < most < cost * (1 - 1e-9) and not self._told:
            self._told = True
            reckoned = "what its prompt's bytes and its limit on a reply come to"
            say_once(
                f"a request cost {cost:.6g} dollars, more than {most:.6g}, {reckoned}: its server counts otherwise"
            )
        self._under_way -= 1
        # Rounding must not pile up.
        self._reserved = self._reserved - most if self._under_way else 0.0
        self.spent += cost
        if self.shared:
            self.shared.add(cost - most)

    @property
    def used_up(self) -> str:
        """Why nothing more is asked."""
        of_all = f" of all commands by {self.shared.path}" if self.shared else ""
        return f"the next request could bring the cost{of_all} above {self.limit:g}"


def _prompt(body: Mapping[str, Any]) -> str:
    return json.dumps(body.get("messages"), ensure_ascii=False)


class Outcome(Protocol):
    """What a bill reads of a request's outcome."""

    @property
    def ended(self) -> Ended:
        """How it ended."""

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Of prompt and reply, as the server counted them; None where it does not say."""


Some = TypeVar("Some", bound=Outcome)


class Bill:
    """What one client asks of a server for a run: a line before each request, one after it, in `path`.

    `payee` is model or judge, `longest` the most tokens of a reply, unless a request's body says how many. Where a
    process is killed, the requests under way have a first line only, and count as lost. A new file in which everything
    was refused goes again, with the folders that were made for it.
    """

    def __init__(
        self,
        path: Path,
        payee: str,
        price: Price | None,
        longest: int | None,
        budget: Budget | None = None,
    ) -> None:
        refuse_link(path)
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: is no file; give another output folder")
        self.budget = budget or Budget(None)
        check_limit(self.budget.limit, payee, price, longest)
        self.path, self.payee, self.price = path, payee, price
        self.longest = longest
        self._under_way, self._new = 0, not path.exists()
        self._told = False  # that the server's count cannot be
        self._made = [place for place in path.parents if not place.exists()]
        torn = not self._new and path.read_bytes()[-1:] not in (b"", b"\n")
        self._first = b"\n" if torn else b""  # what comes before the next line

    async def note(
        self, body: Mapping[str, Any], send: Callable[[], Awaitable[Some]]
    ) -> Some:
        """Send one request and note it; OverBudgetError if it could cost more than is left."""
        most = self._most(body)
        budget = self.budget
        if not await budget.reserve(most or 0.0):
            raise OverBudgetError(budget.used_up)
        request, ended = token_hex(8), Ended.LOST
        tokens: tuple[int | None, int | None] = None, None
        sent = {"request": request, "to": self.payee, "most": most}
        sent["time"] = datetime.now(UTC).isoformat("T", "milliseconds")
        cost = None
        self._under_way += 1
        try:
            self._write(sent)
            outcome = await send()
            ended, tokens = outcome.ended, outcome.tokens
            cost = self.price.cost(*tokens) if self.price else None
            if not self._told and (tokens[0] or 0) > most_tokens(_prompt(body)):
                self._told = True
                counts = f"{tokens[0]:,} tokens of a prompt that has {most_tokens(_prompt(body)):,} at most"
                say_once(
                    f"{self.path}: the {self.payee}'s server counts {counts}; costs are by its count"
                )
            return outcome
        except UserError:  # before anything was paid
            ended = Ended.REFUSED
            raise
        finally:
            self._under_way -= 1
            # First: who waits for room must not wait for ever, even where the disk is full.
            known = 0.0 if ended == Ended.REFUSED else most or 0.0
            budget.settle(most or 0.0, known if cost is None else cost)
            note(cost=cost or 0.0)
            names = ("prompt_tokens", "completion_tokens")
            counted = dict(zip(names, tokens, strict=True))
            self._write({"request": request, "ended": ended, **counted, "cost": cost})
            self._new &= ended == Ended.REFUSED
            if self._new and not self._under_way:
                self._withdraw()

    def _most(self, body: Mapping[str, Any]) -> float | None:
        """The most that a request can cost; None where nobody can tell."""
        limits = [body.get(name) for name in _LIMITS]
        longest = max((n for n in limits if isinstance(n, int)), default=self.longest)
        if self.price is None or longest is None:
            return None
        choices = n if isinstance(n := body.get("n"), int) else 1
        return self.price.at_most(_prompt(body), longest * choices)

    def _write(self, line: Mapping[str, Any]) -> None:
        content = self._first + json.dumps(line).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: once it is written, killing the process does not lose it.
        with room(self.path, len(content)), self.path.open("ab", 0) as file:
            whole = file.write(content) == len(content)
        self._first = b"" if whole else b"\n"

    def _withdraw(self) -> None:
        self._first = self.path.read_bytes()  # of a server that may yet answer
        self.path.unlink()
        for place in self._made:
            with suppress(OSError):  # something else is in it
                place.rmdir()


@dataclass(slots=True)
class Paid:
    """What requests took, of one payee."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    refused: int = 0  # requests that cost nothing
    lost: int = 0  # requests of which nothing is known, such as those under way when a process was killed
    # Requests that may have cost something of which nobody knows how much
    unknown_cost: int = 0
    cost: float = 0.0  # dollars, without what is not known
    cost_at_most: float = 0.0  # dollars, with that at the most that it can be


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a bill: of a request that is sent, or of what came."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    request: str
    to: str | None = None
    most: float | None = None
    time: str | None = None
    ended: Ended | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


_LINE = TypeAdapter(_Line)
NUMBERS = ("prompt_tokens", "completion_tokens", "cost")
MOST_TOKENS = 10**9  # more than any model reads or writes at once
_MOST_DOLLARS = 1e6  # of one request


def impossible(numbers: Mapping[str, float | None]) -> str | None:
    """Which of these numbers no request can have; None if each may be.

    >>> impossible({"cost": -1.0}), impossible({"cost": None, "prompt_tokens": 5})
    ('cost is -1.0', None)
    """
    for name, value in numbers.items():
        most = MOST_TOKENS if name.endswith("tokens") else _MOST_DOLLARS
        if value is not None and not 0 <= value < most:
            return f"{name} is {quoted(value)}"
    return None


_START = b'{"request": "'


def read_bills(
    paths: Iterable[Path],
    prices: Mapping[str, Price | None] | None = None,
    *,
    limited: bool = False,
) -> dict[str, Paid]:
    """What each payee was paid by these files, as far as they exist; `prices` are for what has no cost yet.

    A UserError for an end of which there is no beginning and, where the cost is `limited`, for a request that may have
    cost anything.
    """
    paid = dict[str, Paid]()
    for path in filter(Path.is_file, paths):
        sent, came = dict[str, _Line](), dict[str, _Line]()
        for line in _lines(path):
            (came if line.to is None else sent)[line.request] = line
        for request, end in came.items():
            if request not in sent and end.ended != Ended.REFUSED:
                ends = (
                    f"says how the request {brief(request)} ended, and not whose it was"
                )
                raise UserError(f"{path}: {ends}; restore it, or take another folder")
        for request, line in sent.items():
            payee = str(line.to)
            end = came.get(request) or _Line(request, ended=Ended.LOST)
            took = paid.setdefault(payee, Paid())
            unknown = took.unknown_cost
            _add(took, line, end, (prices or {}).get(payee))
            if limited and took.unknown_cost > unknown and line.most is None:
                cost = f"nobody knows what the request {brief(request)} cost at most"
                raise UserError(
                    f"{path}: {cost}; leave max_cost out, or take another folder"
                )
    return paid


def _add(paid: Paid, sent: _Line, end: _Line, price: Price | None) -> None:
    counts = end.prompt_tokens, end.completion_tokens
    cost = end.cost
    if cost is None and price:
        cost = price.cost(*counts)
    free = end.ended == Ended.REFUSED and None in counts
    paid.requests += 1
    paid.prompt_tokens += counts[0] or 0
    paid.completion_tokens += counts[1] or 0
    paid.refused += free
    paid.lost += end.ended == Ended.LOST
    paid.unknown_cost += cost is None and not free
    paid.cost += cost or 0.0
    most = 0.0 if free else sent.most or 0.0
    paid.cost_at_most += most if cost is None else cost


def _lines(path: Path) -> Iterable[_Line]:
    """A torn line, which a kill leaves, is passed over; what is none of ours is a UserError."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        text = line.strip()
        torn = text.startswith(_START) or _START.startswith(text)
        if torn and not text.endswith(b"}"):
            continue
        try:
            read = _LINE.validate_json(text)
        except ValidationError as error:
            where = f"{path}, line {number}: is no line of a bill"
            raise UserError(f"{from_validation(error, where)}; fix it") from error
        counts = {name: getattr(read, name) for name in (*NUMBERS, "most")}
        if wrong := impossible(counts):
            # As of a request whose end is not known: it counts at the most that it can have cost.
            say_once(f"{path}, line {number}: {wrong}; it is kept, and does not count")
            none: dict[str, Any] = {
                name: None for name in counts if impossible({name: counts[name]})
            }
            read = replace(read, **none)
        yield read
