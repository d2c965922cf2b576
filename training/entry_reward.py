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
        mine, shown = self._shown(asked, kwargs)
        # Ours gathers over processes: all must call it, also one that has nothing of it. Others may need a completion.
        paid = self.reward(**shown) if mine or isinstance(self.reward, Reward) else []
        return self._spread(paid, mine, len(asked))

    def _shown(self, asked: Sequence[int], kwargs: dict[str, Any]) -> tuple[list[int], dict[str, Any]]:
        """Which completions are its own; TRL's arguments, cut down to these, with the columns of their items."""
        count = len(asked)
        mine = [k for k, number in enumerate(asked) if 0 <= number - self._first < len(self._items)]
        items = [self._items[asked[k] - self._first] for k in mine]
        shown = {
            name: [value[k] for k in mine] if isinstance(value, list) and len(value) == count else value
            for name, value in kwargs.items()
        }
        shown |= {column: [item.columns.get(column) for item in items] for column in self._columns}
        shown["item"] = [item.id for item in items]
        if log := kwargs.get("log_extra"):
            shown["log_extra"] = lambda name, values: log(self._prefix + name, self._spread(values, mine, count))
        return mine, shown

    def _spread(self, values: Sequence[Any], mine: list[int], count: int) -> list[Any]:
        if len(values) != len(mine):
            counts = f"{len(values)} values for {len(mine)} completions"
            raise UserError(f"reward {self.__name__} gave {counts}; return one for each")
        by_place = dict(zip(mine, values, strict=True))
        return [by_place.get(k) for k in range(count)]


class AsyncEntryReward(EntryReward):
    """The same of an async function, which TRL awaits together with others."""

    async def __call__(self, *, asked: Sequence[int], **kwargs: Any) -> list[float | None]:  # type: ignore[override]
        """See `EntryReward`."""
        mine, shown = self._shown(asked, kwargs)
        return self._spread(await self.reward(**shown) if mine else [], mine, len(asked))
