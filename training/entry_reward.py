"""A reward within a mix of tasks: a completion of another task gets no number from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from data.errors import UserError
from rewards.reward import Reward
from rewards.task import Item


class EntryReward:
    """A reward of one entry, as TRL takes it: shown the completions of its own items only, None for all others.

    Args:
        reward: The reward.
        name: TRL's name for it, unlike those of all others of the run.
        items: What its entry asks.
        first: Number of the first of them among the items of all entries.
        own_columns: Whether what it logs beside completions gets its name in front, because others log too.
    """

    def __init__(
        self, reward: Callable[..., Any], name: str, items: Sequence[Item], first: int, *, own_columns: bool
    ) -> None:
        self.reward, self.__name__ = reward, name
        self._items, self._first = items, first
        self._prefix = f"{name}/" if own_columns else ""
        self._columns = dict.fromkeys(column for item in items for column in item.columns)

    def __call__(self, *, asked: Sequence[int], **kwargs: Any) -> list[float | None]:
        """Rewards in order; see `rewards.reward.Reward.__call__`.

        Args:
            asked: Column of the dataset: number of the item that each completion answers.
            kwargs: What TRL hands to a reward.
        """
        mine = self._mine(asked)
        # Ours gathers over processes: all must call it, also one that has nothing of it. Others may need a completion.
        if not mine and not isinstance(self.reward, Reward):
            return [None] * len(asked)
        return self._spread(self.reward(**self._shown(mine, asked, kwargs)), mine, len(asked))

    def _mine(self, asked: Sequence[int]) -> list[int]:
        return [k for k, number in enumerate(asked) if 0 <= number - self._first < len(self._items)]

    def _shown(self, mine: list[int], asked: Sequence[int], kwargs: dict[str, Any]) -> dict[str, Any]:
        """TRL's arguments, cut down to its own completions, with the columns of their items."""
        items = [self._items[asked[k] - self._first] for k in mine]
        shown = {
            name: [value[k] for k in mine] if isinstance(value, list) and len(value) == len(asked) else value
            for name, value in kwargs.items()
        }
        shown |= {column: [item.columns.get(column) for item in items] for column in self._columns}
        shown["item"] = [item.id for item in items]
        if log_extra := kwargs.get("log_extra"):
            shown["log_extra"] = lambda column, values: log_extra(
                self._prefix + column, self._spread(values, mine, len(asked))
            )
        return shown

    def _spread(self, values: Sequence[Any], mine: list[int], count: int) -> list[Any]:
        if len(values) != len(mine):
            raise UserError(
                f"reward {self.__name__} gave {len(values)} values for {len(mine)} completions; return one for each"
            )
        spread: list[Any] = [None] * count
        for k, value in zip(mine, values, strict=True):
            spread[k] = value
        return spread


class AsyncEntryReward(EntryReward):
    """The same of an async function, which TRL awaits together with others."""

    async def __call__(self, *, asked: Sequence[int], **kwargs: Any) -> list[float | None]:  # type: ignore[override]
        """See `EntryReward`."""
        mine = self._mine(asked)
        if not mine:
            return [None] * len(asked)
        return self._spread(await self.reward(**self._shown(mine, asked, kwargs)), mine, len(asked))


def entry_reward(
    reward: Callable[..., Any], name: str, items: Sequence[Item], first: int, *, own_columns: bool
) -> EntryReward:
    """See `EntryReward`."""
    call = reward if inspect.isfunction(reward) else getattr(reward, "__call__", reward)  # noqa: B004
    kind = AsyncEntryReward if inspect.iscoroutinefunction(call) else EntryReward
    return kind(reward, name, items, first, own_columns=own_columns)
