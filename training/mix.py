"""A mix of tasks as TRL takes it: one dataset, and the reward functions of all entries."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from data.prompts import as_prompt
from rewards.reward import Reward
from training.entries import Entry
from training.entry_reward import AsyncEntryReward, EntryReward


def dataset_rows(entries: Sequence[Entry], *, conversational: bool) -> list[dict[str, Any]]:
    """One epoch: the prompt, and in the column `asked` the number of the item among those of all entries.

    Rewards look an item's columns up by this number, so that entries need not have the same columns, or of one type.
    """
    rows: list[dict[str, Any]] = []
    first = 0
    for entry in entries:
        for number in range(entry.count):
            place = number % len(entry.items)
            prompt = as_prompt(entry.items[place].prompt, conversational=conversational)
            rows.append({"prompt": prompt, "asked": first + place})
        first += len(entry.items)
    return rows


def reward_functions(entries: Sequence[Entry]) -> list[EntryReward]:
    """The reward functions of all entries, as TRL takes them, each with a name of its own."""
    several = sum(isinstance(reward, Reward) for entry in entries for reward in entry.rewards) > 1
    names: Counter[str] = Counter()
    functions, first = [], 0
    for entry in entries:
        for reward in entry.rewards:
            name = getattr(reward, "__name__", type(reward).__name__)
            names[name] += 1
            name += f"_{names[name]}" if names[name] > 1 else ""
            call = reward if inspect.isfunction(reward) else type(reward).__call__
            kind = AsyncEntryReward if inspect.iscoroutinefunction(call) else EntryReward
            functions.append(kind(reward, name, entry.items, first, own_columns=several))
        first += len(entry.items)
    return functions


def reward_weights(entries: Sequence[Entry]) -> list[float] | None:
    """One weight for each reward of all entries; None if no entry has any."""
    if all(entry.reward_weights is None for entry in entries):
        return None
    return [w for entry in entries for w in entry.reward_weights or [1.0] * entry.num_rewards]


def without_free_arguments(script: dict[str, Any], entries: Sequence[Entry]) -> dict[str, Any]:
    """A script's settings (plain JSON) without the rewards' arguments that decide nothing, such as a budget."""
    script = deepcopy(script)
    paid = [pair for entry in entries for pair in zip(entry.reward_funcs or (), entry.rewards, strict=False)]
    free = {path: reward.free for path, reward in paid if isinstance(reward, Reward)}
    for block in (script, *(task for task in script["tasks"] if isinstance(task, dict))):
        for path, arguments in (block.get("reward_args") or {}).items():
            for name in free.get(path, frozenset()):
                arguments.pop(name, None)
    return script


def described(entries: Sequence[Entry]) -> dict[str, Any]:
    """What identifies data and rewards, for the run's record. Loads what scores, so that errors show early."""
    tasks, rewards = [], []
    for entry in entries:
        whole = json.dumps([(item.id, item.prompt, dict(item.columns)) for item in entry.items], default=str)
        digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        tasks.append({"name": entry.name, "prompts": entry.count, "items": len(entry.items), "sha256": digest})
        for path, reward in zip(entry.reward_funcs or [""], entry.rewards, strict=True):
            facts = reward.describe() if isinstance(reward, Reward) else {}
            rewards.append({"task": entry.name, **({"path": path} if path else {}), **facts})
    return {"tasks": tasks, "rewards": rewards}
