"""A mix of tasks as TRL takes it: one dataset, and the reward functions of all entries."""

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sozo.data.errors import UserError
from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.rewards.own_rewards import check_count, numbers
from sozo.rewards.reward import Reward
from sozo.rewards.wrapping import Wrapping
from sozo.tasks.task import Item
from sozo.training.entries import Entry


def dataset_rows(
    entries: Sequence[Entry], *, conversational: bool, form: PromptForm = PLAIN
) -> list[dict[str, Any]]:
    """One epoch: the prompt, and in `asked` the item's number among all entries', by which rewards look up its columns.

    So entries need not have the same columns, or of one type.
    """
    rows = []
    first = 0
    for entry in entries:
        prompts = [
            form.prompt(item.prompt, conversational=conversational)
            for item in entry.items
        ]
        for number in range(entry.count):
            place = number % len(prompts)
            rows.append({"prompt": prompts[place], "asked": first + place})
        first += len(prompts)
    return rows


class EntryReward:
    """A reward of one entry, as TRL takes it: shown the completions of its own items only, None for all others.

    `first` is the number of the first of its `items` among those of all entries; `prefix` stands before the names of
    what it logs beside completions.
    """

    def __init__(
        self,
        reward: Callable[..., Any],
        name: str,
        items: Sequence[Item],
        first: int,
        prefix: str,
    ) -> None:
        self.reward = reward
        self.__name__ = name
        self._items = items
        self._first = first
        self._prefix = prefix
        self.scored: list[
            Any
        ] = []  # of the previous call: what a reward of ours knows of each completion

    def __call__(self, /, *, asked: Sequence[int], **kwargs: Any) -> list[float | None]:
        """Rewards in order, as `Reward.__call__`; `asked` is the dataset's column of numbers of items."""
        mine, arguments = self._select(asked, kwargs)
        if isinstance(
            self.reward, Reward
        ):  # it gathers over processes: called by all, even with no completions
            paid = self.reward(**arguments)
            self.scored = self._spread(self.reward.mine, mine, len(asked))
        else:  # somebody else's may need a completion
            paid = numbers(self.__name__, self.reward(**arguments)) if mine else []
        return self._spread(paid, mine, len(asked))

    def _select(
        self, asked: Sequence[int], kwargs: dict[str, Any]
    ) -> tuple[list[int], dict[str, Any]]:
        """Which completions are its own; TRL's arguments, cut down to these, with the columns of their items."""
        count = len(asked)
        mine = [
            k
            for k, number in enumerate(asked)
            if 0 <= number - self._first < len(self._items)
        ]
        items = [self._items[asked[k] - self._first] for k in mine]
        arguments: dict[str, Any] = {}
        for name, value in kwargs.items():
            by_completion = isinstance(value, list) and len(value) == count
            arguments[name] = [value[k] for k in mine] if by_completion else value
        for column in {column for item in self._items for column in item.columns}:
            arguments[column] = [item.columns.get(column) for item in items]
        arguments["item"] = [item.id for item in items]
        if log := kwargs.get("log_extra"):
            arguments["log_extra"] = lambda name, values: log(
                self._prefix + name, self._spread(values, mine, count)
            )
        return mine, arguments

    def _spread(self, values: Sequence[Any], mine: list[int], count: int) -> list[Any]:
        check_count(self.__name__, values, len(mine))
        spread = [None] * count
        for place, value in zip(mine, values, strict=True):
            spread[place] = value
        return spread


class AsyncEntryReward(EntryReward):
    """The same of an async function, which TRL awaits together with others."""

    async def __call__(  # type: ignore[override]
        self, /, *, asked: Sequence[int], **kwargs: Any
    ) -> list[float | None]:
        """See `EntryReward`."""
        mine, arguments = self._select(asked, kwargs)
        paid = numbers(self.__name__, await self.reward(**arguments)) if mine else []
        return self._spread(paid, mine, len(asked))


def reward_functions(entries: Sequence[Entry]) -> list[EntryReward]:
    """The reward functions of all entries, as TRL takes them, each with a name of its own."""
    several = (
        sum(isinstance(reward, Reward) for entry in entries for reward in entry.rewards)
        > 1
    )
    names: Counter[str] = Counter()
    functions = []
    first = 0
    for entry in entries:
        for reward in entry.rewards:
            name = getattr(reward, "__name__", type(reward).__name__)
            names[name] += 1
            if names[name] > 1 and isinstance(reward, Wrapping):
                raise UserError(
                    f"two rewards are called {name}, and would be logged as one; give each a name= of its own"
                )
            name += f"_{names[name]}" if names[name] > 1 else ""
            # Of a method, or of a function with some arguments, the first one tells; of an object the second.
            awaited = inspect.iscoroutinefunction(reward)
            awaited |= inspect.iscoroutinefunction(type(reward).__call__)
            kind = AsyncEntryReward if awaited else EntryReward
            # Where several of ours log, each needs columns of its own.
            functions.append(
                kind(reward, name, entry.items, first, f"{name}/" if several else "")
            )
        first += len(entry.items)
    return functions


def reward_weights(entries: Sequence[Entry]) -> list[float] | None:
    """One weight for each reward of all entries; None if no entry has any."""
    if all(entry.reward_weights is None for entry in entries):
        return None
    return [
        w
        for entry in entries
        for w in entry.reward_weights or [1.0] * entry.num_rewards
    ]


def described(entries: Sequence[Entry]) -> dict[str, Any]:
    """What identifies data and rewards, for the run's record. Loads what scores, so that errors show early."""
    tasks = []
    rewards = []
    for entry in entries:
        content = json.dumps(
            [(item.id, item.prompt, dict(item.columns)) for item in entry.items],
            default=str,
        )
        digest = hashlib.sha256(content.encode()).hexdigest()
        tasks.append(
            {
                "name": entry.name,
                "prompts": entry.count,
                "items": len(entry.items),
                "sha256": digest,
            }
        )
        for path, reward in zip(entry.reward_funcs or [""], entry.rewards, strict=True):
            facts = reward.describe() if isinstance(reward, Reward) else {}
            rewards.append(
                {"task": entry.name, **({"path": path} if path else {}), **facts}
            )
    return {"tasks": tasks, "rewards": rewards}
