"""What asking will take, before anybody is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from sozo.data.rubrics import Criterion
from sozo.eval.experts.asks import asks
from sozo.eval.experts.histories import Condition, Rated
from sozo.scoring.judges.criterion import criterion_rubric
from sozo.scoring.judges.protocol import Price


@dataclass(frozen=True, slots=True)
class Estimate:
    """The size of a run; what a ledger holds already is not taken off."""

    predictions: int  # ratings x conditions x seeds
    requests: int  # equal prompts of one seed are one request
    prompt_bytes: int
    cost: float | None  # at most, if every reply can be read at once; None without a price

    def lines(self, ratings: int, conditions: int, seeds: int) -> list[str]:
        """What a terminal shows."""
        size = f"{ratings:,} ratings x {conditions} conditions x {seeds} seeds = {self.predictions:,} requests"
        fewer = self.predictions - self.requests
        lines = [f"{size}, of which {fewer:,} equal another one and are not sent: {self.requests:,} are"]
        lines.append(f"prompts: {self.prompt_bytes / 1e6:,.1f} MB")
        if self.cost is None:
            return [*lines, "cost: not known without --price-in and --price-out"]
        return [
            *lines,
            f"cost: at most {self.cost:,.2f}; twice that if no reply can be read and each is asked for again",
        ]


def estimate(
    ratings: Sequence[Rated],
    of: Sequence[Rated],
    conditions: Sequence[Condition],
    criteria: Sequence[Criterion],
    seeds: int,
    price: Price | None,
    max_tokens: int,
) -> Estimate:
    """Requests, bytes of their prompts and the most that these can cost."""
    requests = size = 0
    cost = 0.0
    for seed in range(seeds):
        for criterion in criteria:
            rubric = criterion_rubric(criterion)
            part = [rating for rating in of if rating.criterion == criterion.name]
            different = {(one.question, one.answer) for one in asks(ratings, part, conditions, seed)}
            for question, answer in different:
                prompt = rubric.prompt(question, answer)
                size += len(prompt.encode())
                cost += price.at_most(prompt, max_tokens) if price else 0.0
            requests += len(different)
    return Estimate(len(of) * len(conditions) * seeds, requests, size, cost if price else None)
