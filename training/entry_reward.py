"""A reward within a mix of tasks: a completion of another task gets no number from it."""

from __future__ import annotations

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
        """Rewards in order, as `Reward.__call__`; `asked` is the dataset's column of numbers of items."""
        mine = self._mine(asked)
        # Ours gathers over processes: all must call it, also one that has nothing of it. Others may need a completion.
        called = mine or isinstance(self.reward, Reward)
        paid = self.reward(**self._shown(mine, asked, kwargs)) if called else []
        return self._spread(paid, mine, len(asked))

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
        if log := kwargs.get("log_extra"):
            count = len(asked)
            shown["log_extra"] = lambda name, values: log(self._prefix + name, self._spread(values, mine, count))
        return shown

    def _spread(self, values: Sequence[Any], mine: list[int], count: int) -> list[Any]:
        if len(values) != len(mine):
            counts = f"{len(values)} values for {len(mine)} completions"
            raise UserError(f"reward {self.__name__} gave {counts}; return one for each")
        spread: list[Any] = [None] * count
        for k, value in zip(mine, values, strict=True):
            spread[k] = value
        return spread


class AsyncEntryReward(EntryReward):
    """The same of an async function, which TRL awaits together with others."""

    async def __call__(self, *, asked: Sequence[int], **kwargs: Any) -> list[float | None]:  # type: ignore[override]
        """See `EntryReward`."""
        mine = self._mine(asked)
        paid = await self.reward(**self._shown(mine, asked, kwargs)) if mine else []
        return self._spread(paid, mine, len(asked))
