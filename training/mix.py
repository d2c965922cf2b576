"""A mix of tasks as TRL takes it: one dataset, and the reward functions of all entries."""

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.rewards.own_rewards import check_count, numbers
from sozo.rewards.reward import Reward
from sozo.scoring.endpoint.pace import run_to_end
from sozo.tasks.task import Item
from sozo.training.entries import Entry


def dataset_rows(
    entries: Sequence[Entry],
    *,
    conversational: bool,
    form: PromptForm = PLAIN,
) -> list[dict[str, Any]]:
    """One epoch: the prompt, and in `asked` the item's number among all entries', by which rewards look up its columns.

    So entries need not have the same columns, or of one type.
    """
    rows: list[dict[str, Any]] = []
    first = 0
    for entry in entries:
        for number in range(entry.count):
            place = number % len(entry.items)
            item = entry.items[place]
            prompt = form.prompt(item.prompt, conversational=conversational)
            rows.append({"prompt": prompt, "asked": first + place})
        first += len(entry.items)
    return rows


class EntryReward:
    """A reward of one entry, as TRL takes it: shown the completions of its own items only, None for all others.

    `first` is the number of the first of its `items` among those of all entries.
    """

    def __init__(
        self,
        reward: Callable[..., Any],
        name: str,
        items: Sequence[Item],
        first: int,
    ) -> None:
        self.reward = reward
        self.__name__ = name
        self._items = items
        self._first = first
        # Of the previous call: each completion's tokens, and what a reward of ours knows of it.
        self.completion_ids: Sequence[Sequence[int]] = ()
        self.scored: list[Any] = []

    def __call__(
        self, /, *, asked: Sequence[int], log_extra: Any = None, **kwargs: Any
    ) -> list[float | None]:
        """Rewards in order, as `Reward.__call__`; `asked` is the dataset's column of numbers of items."""
        self.completion_ids = kwargs.get("completion_ids", ())
        count, items = len(asked), {}
        for k, number in enumerate(asked):
            if 0 <= number - self._first < len(self._items):
                items[k] = self._items[number - self._first]

        def spread(values: Sequence[Any]) -> list[Any]:
            check_count(self.__name__, values, len(items))
            return list(map(dict(zip(items, values, strict=True)).get, range(count)))

        for name, value in kwargs.items():
            if isinstance(value, list) and len(value) == count:
                kwargs[name] = [value[k] for k in items]
        for column in {column for item in self._items for column in item.columns}:
            kwargs[column] = [item.columns.get(column) for item in items.values()]
        kwargs["item"] = [item.id for item in items.values()]
        if log_extra:
            kwargs["log_extra"] = lambda name, values: log_extra(
                f"{self.__name__}/{name}", spread(values)
            )
        if isinstance(self.reward, Reward):
            # It gathers over processes: called by all, even with no completions.
            paid = self.reward(**kwargs)
            self.scored = spread(self.reward.mine)
            return spread(paid)
        paid = self.reward(**kwargs) if items else []  # it may need a completion
        if inspect.iscoroutine(paid):
            paid = run_to_end(paid)
        return spread(numbers(self.__name__, paid))


def reward_functions(entries: Sequence[Entry]) -> list[EntryReward]:
    """The reward functions of all entries, as TRL takes them, each with a name of its own."""
    names: Counter[str] = Counter()
    functions = []
    first = 0
    for entry in entries:
        for reward in entry.rewards:
            name = getattr(reward, "__name__", type(reward).__name__)
            names[name] += 1
            name += f"_{names[name]}" if names[name] > 1 else ""
            functions.append(EntryReward(reward, name, entry.items, first))
        first += len(entry.items)
    return functions


def reward_weights(entries: Sequence[Entry]) -> list[float] | None:
    """One weight for each reward of all entries; None if no entry has any."""
    weights = []
    for entry in entries:
        weights += entry.reward_weights or [1.0] * entry.num_rewards
    return weights if any(entry.reward_weights for entry in entries) else None


def described(entries: Sequence[Entry]) -> dict[str, Any]:
    """What identifies data and rewards, for the run's record. Loads what scores, so that errors show early."""
    tasks = []
    rewards = []
    for entry in entries:
        asked = [(item.id, item.prompt, dict(item.columns)) for item in entry.items]
        digest = hashlib.sha256(json.dumps(asked, default=str).encode()).hexdigest()
        tasks.append({"name": entry.name, "sha256": digest})
        for path, reward in zip(entry.reward_funcs or [""], entry.rewards, strict=True):
            facts = reward.describe() if isinstance(reward, Reward) else {}
            rewards.append({"task": entry.name, "path": path} | facts)
    return {"tasks": tasks, "rewards": rewards}
