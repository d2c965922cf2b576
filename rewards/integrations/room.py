"""Who has room at `sozo serve`, and for how long: what is slow or deaf keeps nobody else waiting."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.exceptions import HTTPException

SMALL = 1 << 20  # bytes; a body of more is a large one
# Seconds that a body or a reply may take in all, and each of its millions of bytes, the last part of one too.
PATIENCE, STALLED = 600.0, 30.0


class SlowClientError(HTTPException):
    """A client that sends or reads too slowly."""

    def __init__(self) -> None:
        line = f"a million bytes took more than {STALLED:.0f} seconds, or all {PATIENCE:.0f}"
        super().__init__(408, line)


class GaveWayError(HTTPException):
    """A request for which there is no room, or none any more."""

    def __init__(self) -> None:
        line = "too many requests are under way; send it again"
        super().__init__(503, line, {"Retry-After": "1"})


class Pace:
    """How long a client may take: STALLED seconds for each million bytes, of the last part too, and PATIENCE for all."""

    def __init__(self) -> None:
        self._now = asyncio.get_running_loop().time
        self._bytes, self._last = 0, 0
        self.running = self._gave_way = False

    async def __aenter__(self) -> "Pace":
        self._end = self._now() + PATIENCE
        self._timeout = asyncio.timeout(STALLED)
        await self._timeout.__aenter__()
        self.running = True
        return self

    async def __aexit__(self, *error: Any) -> None:
        self.running = False
        try:
            await self._timeout.__aexit__(*error)
        except TimeoutError:
            raise (GaveWayError if self._gave_way else SlowClientError) from None

    def give_way(self) -> None:
        """What is under way ends here, for another client."""
        self.running, self._gave_way = False, True
        self._timeout.reschedule(self._now())

    def moved(self, count: int) -> None:
        """So many bytes have gone over."""
        self._bytes += count
        if self.running and self._bytes - self._last >= SMALL:
            self._last = self._bytes
            self._timeout.reschedule(min(self._now() + STALLED, self._end))


class Room:
    """Room for so many requests, shared by clients (by address).

    Where it is full, the client that holds most of it gives up what it began to send first, to one that holds less; and
    of those who wait the one that holds least is next. So a client alone has all of it, and no client keeps others out.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._held = defaultdict[str, list[Pace]](list)
        self._waiting: list[tuple[str, Pace, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def held(self, client: str, pace: Pace) -> AsyncIterator[None]:
        """One request's part of it, as soon as there is one."""
        if self._left:
            self._left -= 1
            self._held[client].append(pace)
        else:
            self._ask_for(client)
            await self._wait(client, pace)
        try:
            yield
        finally:
            self._leave(client, pace)

    async def _wait(self, client: str, pace: Pace) -> None:
        place = client, pace, asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place[2]
        except asyncio.CancelledError:
            if place in self._waiting:
                self._waiting.remove(place)
            else:  # its turn came as it gave up
                self._leave(client, pace)
            raise

    def _leave(self, client: str, pace: Pace) -> None:
        self._held[client].remove(pace)
        if not self._held[client]:
            del self._held[client]
        if not self._waiting:
            self._left += 1
            return
        next_one = min(self._waiting, key=lambda place: self._count(place[0]))
        self._waiting.remove(next_one)
        # It holds its part from now on, and not only when it wakes: others may leave before that.
        self._held[next_one[0]].append(next_one[1])
        next_one[2].set_result(None)

    def _count(self, client: str) -> int:
        return len(self._held.get(client, ()))

    def _ask_for(self, client: str) -> None:
        holder = max(self._held, key=self._count)
        if self._count(holder) > self._count(client) + 1:
            sending = (pace for pace in self._held[holder] if pace.running)
            if oldest := next(sending, None):
                oldest.give_way()
