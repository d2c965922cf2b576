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
