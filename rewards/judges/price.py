"""What judging costs, and stopping before it costs more than was allowed."""

from __future__ import annotations

from dataclasses import dataclass

from data.errors import UserError

# A chat template's own tokens, with room to spare.
_TEMPLATE_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a million tokens, in and out. There is no table of prices: they change, and a stale bill is a wrong one.

    >>> Price(2.5, 10.0).cost(1_000_000, 100_000)
    3.5
    """

    per_million_in: float
    per_million_out: float

    def __post_init__(self) -> None:
        for value in (self.per_million_in, self.per_million_out):
            if not 0 <= value < float("inf"):
                raise UserError(f"a price per million tokens cannot be {value}; give one of 0 or more")

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Of these tokens; None if their number is not known."""
        if prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * self.per_million_in + completion_tokens * self.per_million_out) / 1e6

    def at_most(self, prompt: str, max_tokens: int) -> float:
        """What one reply can cost: no tokenizer makes more tokens than there are UTF-8 bytes."""
        tokens = len(prompt.encode("utf-8", "surrogatepass")) + _TEMPLATE_TOKENS
        return (tokens * self.per_million_in + max_tokens * self.per_million_out) / 1e6


class Budget:
    """Keeps what is spent, with the most that the requests under way can cost, within a limit (None: no limit).

    >>> budget = Budget(1.0)
    >>> budget.reserve(0.6), budget.reserve(0.6)
    (True, False)
    >>> budget.settle(0.6, 0.1)
    >>> budget.reserve(0.6)
    True
    """

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self.limit, self.spent, self._reserved, self._under_way = limit, spent, 0.0, 0

    def reserve(self, most: float) -> bool:
        """Set `most` aside for a request, unless that could break the limit."""
        if self.limit is not None and self.spent + self._reserved + most > self.limit:
            return False
        self._reserved += most
        self._under_way += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """A request for which `most` was set aside cost `cost`."""
        self._under_way -= 1
        self._reserved = self._reserved - most if self._under_way else 0.0  # rounding must not pile up
        self.spent += cost

    @property
    def idle(self) -> bool:
        """Whether nothing is set aside, so that waiting frees nothing."""
        return self._under_way == 0
