"""The arms of a study's YAML, read and checked; without any they are the paper's five methods.

An arm is a row of the study's table, made of a model, of other arms, and of the settings in which it differs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    StrictInt,
    StringConstraints,
)

from sozo.data.errors import UserError
from sozo.models.sampling import Sampling

# Flags that the study gives each step itself.
_GIVEN = {"num_answers", "seed", "output", "output_dir", "run_name"}
Name = Annotated[
    str, StringConstraints(pattern=r"^[\w.+-]+( [\w.+-]+)*$")
]  # a folder's


class Arm(BaseModel):
    """One arm, at each of its seeds. What else stands there are flags: of `sozo train`, or of `sozo dat` (or `run`)."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str = ""  # of its row
    seeds: tuple[StrictInt, ...] = ()  # none are all of the study's
    train: Literal["sft", "dpo", "grpo"] | None = None  # None is only sampled
    config: str | None = None  # the method's YAML, if not the study's
    start: str | None = Field(
        default=None, alias="from"
    )  # whose model it starts from; None: the study's
    answers: str | None = None  # what it trains on is drawn from this arm
    num_training_answers: PositiveInt | None = (
        None  # how much of it, if not the study's
    )
    beside: dict[
        str, PositiveInt
    ] = {}  # arms and folders whose usable answers it imitates too, and how many at most
    sampling: str | list[str] = ""  # several are further rows of its model
    again: bool = False  # a further row of an arm's model, drawn otherwise

    @property
    def flags(self) -> dict[str, Any]:
        """As YAML has their values."""
        drawn = (
            {"sampling": self.sampling}
            if isinstance(self.sampling, str) and self.sampling
            else {}
        )
        return (self.model_extra or {}) | drawn

    @property
    def step(self) -> str:
        """Name of its steps: `DPO 1` is dpo1, `base temperature=0.7` is base-temperature-0.7."""
        return re.sub("[ =,]", "-", re.sub(r" (?=\d)", "", self.name.lower()))

    @property
    def row_step(self) -> str:
        """Name of the step that draws its row."""
        return self.step + "-sample" * bool(self.train)

    def seed(self, wanted: int) -> int:
        """The seed at which an arm that is made of this one at `wanted` takes it: the first where it lacks that one."""
        return wanted if wanted in self.seeds else self.seeds[0]

    def sampled(self) -> Iterator["Arm"]:
        """Further rows of its model, which draw otherwise (`sozo.models.sampling`)."""
        for text in self.sampling if isinstance(self.sampling, list) else ():
            way = Sampling.parse(text)
            if not way.text:
                raise UserError(
                    f"sampling {text!r} names no way to draw, such as temperature=0.7"
                )
            start = self.name if self.train else self.start
            own = {} if self.train else self.flags
            own |= {"name": way.named(self.name), "from": start, "sampling": way.text}
            own |= {"seeds": self.seeds, "again": True}
            yield Arm.model_validate(own)


# Section 5.1: SFT, DPO 1 and GRPO start from the model, DPO 2 from DPO 1.
_PAPER = {
    "random": {"model": "random"},
    "base": {},
    "SFT": {"train": "sft", "answers": "random"},
    "DPO 1": {"train": "dpo", "answers": "base"},
    "DPO 2": {"train": "dpo", "from": "DPO 1", "answers": "DPO 1"},
    "GRPO": {"train": "grpo"},
}
PAPER = {name: Arm.model_validate(arm) for name, arm in _PAPER.items()}


def complete(arms: Mapping[str, Arm], seeds: Sequence[int]) -> dict[str, Arm]:
    """The arms with their names and seeds, and with further rows of their models; each is made of arms above it."""
    known: dict[str, Arm] = {}
    for name, given in arms.items():
        own = given.seeds or tuple(seeds)
        arm = given.model_copy(update={"name": name, "seeds": own})
        for other in filter(None, (arm.start, arm.answers)):
            if other not in known:
                raise UserError(f"arm {name}: no arm above it is called {other}")
        wrong = ""
        if not set(own) <= set(seeds):
            wrong = f"seeds must be some of the study's, {list(seeds)}, not {list(own)}"
        if (arm.train in ("sft", "dpo")) != (arm.answers is not None):
            wrong = "answers, an arm's name, goes with train: sft or dpo, which need it"
        if not arm.train and (arm.config or arm.num_training_answers):
            wrong = "config and num_training_answers go with train"
        if arm.start and {"model", "model_name_or_path"} & arm.flags.keys():
            wrong = f"it starts from {arm.start} and names a model itself; take one out"
        if taken := _GIVEN & arm.flags.keys():
            wrong = f"{min(taken)} is the study's own; leave it out"
        if wrong:
            raise UserError(f"arm {name}: {wrong}")
        known |= {row.name: row for row in (arm, *arm.sampled())}
    return known
