"""Room at `sozo serve`, shared by clients: whose turn is next, also where several leave at once."""

import asyncio
from contextlib import AsyncExitStack

from sozo.rewards.integrations.room import Pace, Room


async def turns_of(room, holders, waiting):
    """The clients of `waiting` in the order of their turns, when all holders leave in one turn of the loop."""
    order = []

    async def ask(client):
        async with room.held(client, Pace()):
            order.append(client)
            await asyncio.sleep(60)

    held = AsyncExitStack()
    for client in holders:
        await held.enter_async_context(room.held(client, Pace()))
    asking = [asyncio.ensure_future(ask(client)) for client in waiting]
    await asyncio.sleep(0)
    await held.aclose()
    await asyncio.sleep(0.01)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    return order


def test_places_that_come_free_at_once_go_to_different_clients():
    order = asyncio.run(turns_of(Room(2), ["x", "x"], ["a", "a", "a", "b"]))
    assert sorted(order) == ["a", "b"]


def test_all_places_come_back():
    async def often():
        room = Room(3)
        for _ in range(5):
            assert len(await turns_of(room, "xyz", ["a", "b", "c", "d"])) == 3
        return room._left, dict(room._held), room._waiting

    assert asyncio.run(often()) == (3, {}, [])


def test_who_comes_while_others_wake_waits():
    async def at_once():
        room, free = Room(8), asyncio.Event()

        async def hold(client, until):
            async with room.held(client, Pace()):
                await until.wait()

        eight = [asyncio.ensure_future(hold("a", free)) for _ in range(8)]
        await asyncio.sleep(0)
        others = [asyncio.ensure_future(hold("b", asyncio.Event())) for _ in range(8)]
        await asyncio.sleep(0)
        free.set()
        late = asyncio.ensure_future(hold("c", asyncio.Event()))
        await asyncio.gather(*eight)
        await asyncio.sleep(0.01)
        failed = [task for task in (*others, late) if task.done()]
        for task in (*others, late):
            task.cancel()
        await asyncio.gather(*others, late, return_exceptions=True)
        return failed, room._left

    assert asyncio.run(at_once()) == ([], 8)
