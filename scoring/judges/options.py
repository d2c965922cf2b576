"""What a user can say about the judge: a group of flags, a block of YAML, the arguments of `make_judge_reward`."""

from dataclasses import asdict, dataclass
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import setting
from sozo.scoring.endpoint.profile import HELP
from sozo.scoring.judges.protocol import Judge


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
        tokens = len(prompt.encode("utf-8", "surrogatepass")) + 64  # a chat template's own, with room to spare
        return (tokens * self.per_million_in + max_tokens * self.per_million_out) / 1e6


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Who judges, how, and for how much money at most."""

    judge_model: str = setting(
        "gpt-4o-2024-08-06", "The judge (the paper's), by its name on the endpoint, or a local model."
    )
    judge_base_url: str | None = setting(
        None, "Address of the judge's endpoint, up to /v1; key from OPENAI_API_KEY.", decides=False
    )
    judge_backend: str = setting(
        "openai", "openai (any compatible endpoint), or transformers or vllm for a local model.", decides=False
    )
    judge_endpoint: str | None = setting(None, f"How the judge's endpoint is spoken to: {HELP}.")
    judge_concurrency: int = setting(16, "Judgements under way at once.", decides=False)
    judge_max_tokens: int = setting(1024, "Longest reply of the judge; a verdict takes some 40 tokens.")
    price_in: float | None = setting(
        None, "Price of a million prompt tokens; without both prices the cost is unknown.", decides=False
    )
    price_out: float | None = setting(None, "Price of a million tokens that the judge writes.", decides=False)
    max_cost: float | None = setting(
        None,
        "Stop before judging (all models together) costs more than this, with exit code 3; needs both prices.",
        decides=False,
    )
    reparse: bool = setting(
        False, "Ask nobody: read the kept replies once more, and price them by the prices given.", decides=False
    )
    retry_failed: bool = setting(False, "Ask again for every judgement that has no scores.", decides=False)

    def price(self) -> Price | None:
        """The price of the judge's tokens; None if it is not known."""
        if self.price_in is None and self.price_out is None:
            return None
        if self.price_in is None or self.price_out is None:
            raise UserError("price_in and price_out go together: what a million tokens cost, in and out; give both")
        return Price(self.price_in, self.price_out)

    def facts(self, judge: Judge | None) -> dict[str, Any]:
        """What a run's record says of its judge and decides nothing: where it runs, and what it costs."""
        if judge is None:
            return {}
        price = self.price()
        return {"judge": {"backend": self.judge_backend, **judge.describe(), "price": price and asdict(price)}}
