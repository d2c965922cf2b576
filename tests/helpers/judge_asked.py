"""A judge behind a scripted server."""

import asyncio


def ask(judge, *prompts):
    async def all_of_them():
        try:
            return await asyncio.gather(*(judge.ask(prompt) for prompt in prompts))
        finally:
            await judge.close()

    return asyncio.run(all_of_them())
