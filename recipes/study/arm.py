"""An arm of a study: a row of its table, made of a model, of other arms, and of what it is told otherwise."""

import re
from dataclasses import dataclass

METHODS = ("sft", "dpo", "grpo")


@dataclass(frozen=True)
class Arm:
    """One arm, at each of its seeds."""

    name: str  # of its row
    seeds: tuple[int, ...]
    train: str | None = None  # one of METHODS; None is only sampled
    config: str | None = None  # the method's YAML, if not the study's
    start: "Arm | None" = None  # whose model it starts from; None: the study's
    responses: "Arm | None" = None  # what it trains on is drawn from this arm
    num_training_responses: int | None = None  # how much of it, if not the study's
    flags: tuple[tuple[str, str], ...] = ()  # of the trainer; of recipes/sample_dat.py where nothing is trained

    @property
    def step(self) -> str:
        """Name of its steps: `DPO 1` is dpo1, `frontier SFT` is frontier-sft."""
        return re.sub(r" (?=\d)", "", self.name.lower()).replace(" ", "-")

    @property
    def depth(self) -> int:
        """How many trained models were drawn from to train it."""
        before = [arm.depth for arm in (self.start, self.responses) if arm]
        return max(before, default=0) + (self.train is not None)

    def seed(self, wanted: int) -> int:
        """The seed at which an arm that came from it at `wanted` finds it: its first where it has no such seed."""
        return wanted if wanted in self.seeds else self.seeds[0]
