"""The arms of a study's YAML, read and checked; without any they are the paper's five methods.

An arm is a row of the study's table, made of a model, of other arms, and of the settings in which it differs.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import brief
from sozo.data.settings import hint
from sozo.models.sampling import Sampling
from sozo.models.settings import OF_NOUNS
from sozo.training.arguments import read_beside

METHODS = ("sft", "dpo", "grpo")
_ON_TABLES = ("sft", "dpo")  # methods that train on answers of another arm
_KEYS = (
    "train",
    "config",
    "from",
    "answers",
    "num_training_answers",
    "seeds",
)  # all others are flags
PAPER: dict[
    str, dict[str, Any]
] = {  # section 5.1: SFT, DPO 1 and GRPO start from the model, DPO 2 from DPO 1
    "random": {"model": "random"},
    "base": {},
    "SFT": {"train": "sft", "answers": "random"},
    "DPO 1": {"train": "dpo", "answers": "base"},
    "DPO 2": {"train": "dpo", "from": "DPO 1", "answers": "DPO 1"},
    "GRPO": {"train": "grpo"},
}


@dataclass(frozen=True)
class Arm:
    """One arm, at each of its seeds."""

    name: str  # of its row
    seeds: tuple[int, ...]
    train: str | None = None  # one of METHODS; None is only sampled
    config: str | None = None  # the method's YAML, if not the study's
    start: "Arm | None" = None  # whose model it starts from; None: the study's
    answers: "Arm | None" = None  # what it trains on is drawn from this arm
    num_training_answers: int | None = None  # how much of it, if not the study's
    beside: tuple["Arm", ...] = ()  # whose usable answers it imitates too
    flags: tuple[
        tuple[str, str], ...
    ] = ()  # of the trainer; of studies/study/sample.py where nothing is trained
    again: bool = False  # a further row of an arm's model, drawn otherwise

    @property
    def step(self) -> str:
        """Name of its steps: `DPO 1` is dpo1, `base temperature=0.7` is base-temperature-0.7."""
        return re.sub("[ =,]", "-", re.sub(r" (?=\d)", "", self.name.lower()))

    @property
    def depth(self) -> int:
        """How many trained models were drawn from to train it."""
        before = [arm.depth for arm in (self.start, self.answers) if arm]
        return max(before, default=0) + (self.train is not None)

    def seed(self, wanted: int) -> int:
        """The seed at which an arm that is made of this one at `wanted` takes it: the first where it lacks that one."""
        return wanted if wanted in self.seeds else self.seeds[0]


def read_arms(
    values: Any, seeds: Sequence[int], sampling_flags: set[str]
) -> tuple[Arm, ...]:
    """The arms of a YAML's `arms`, each made of arms above it; `sampling_flags` are those of studies/study/sample.py."""
    if not isinstance(values, Mapping) or not values:
        raise UserError(
            "arms must hold lines such as `SFT: {train: sft, answers: random}`; see docs/reproduce.md"
        )
    arms: dict[str, Arm] = {}
    for name, settings in values.items():
        if not isinstance(name, str) or not re.fullmatch(r"[\w.+-]+( [\w.+-]+)*", name):
            raise UserError(
                f"arm {name!r} cannot name a folder; take letters, digits, single spaces and . _ + -"
            )
        try:
            settings = dict(settings or {})
            if settings.get("sampling") and settings.get("model") in OF_NOUNS:
                raise UserError(
                    f"sampling goes with a language model, not with {settings['model']}"
                )
            several = isinstance(settings.get("sampling"), list)
            samplings = settings.pop("sampling") if several else ()
            arm = _read_arm(name, settings, arms, seeds, sampling_flags)
            rows = [arm, *_sampled(arm, samplings)]
            arms |= {row.name: row for row in rows}
        except (UserError, TypeError, ValueError) as error:
            raise UserError(f"arm {name}: {error}") from error
    return tuple(arms.values())


def _sampled(arm: Arm, samplings: Sequence[Any]) -> Iterator[Arm]:
    """Further rows of an arm's model, which draw otherwise (`sozo.models.sampling`)."""
    for text in samplings:
        if not isinstance(text, str):
            raise UserError(
                f"sampling: {brief(repr(text))} is no text such as temperature=0.7"
            )
        sampling = Sampling.parse(text)
        if not sampling.text:
            raise UserError(
                f"sampling: {text!r} names no way to draw; the arm's own row is there without it"
            )
        flags = {} if arm.train else dict(arm.flags)
        flags["sampling"] = sampling.text
        yield Arm(
            name=sampling.named(arm.name),
            seeds=arm.seeds,
            start=arm if arm.train else arm.start,
            flags=tuple(flags.items()),
            again=True,
        )


def _read_arm(
    name: str,
    flags: dict[str, Any],
    arms: dict[str, Arm],
    seeds: Sequence[int],
    sampling: set[str],
) -> Arm:
    keys = {key: flags.pop(key, None) for key in _KEYS}
    method = keys["train"]
    if method not in (None, *METHODS):
        raise UserError(f"train {method}: there are {', '.join(METHODS)}")
    for key in ("from", "answers"):
        if keys[key] not in (None, *arms):
            raise UserError(
                f"{key} {keys[key]}: no arm above it has this name"
                + hint(str(keys[key]), arms)
            )
    if (method in _ON_TABLES) != (keys["answers"] is not None):
        raise UserError(
            f"answers, an arm's name, goes with train: {' or '.join(_ON_TABLES)}, which need it"
        )
    if not method:
        for key in ("config", "num_training_answers"):
            if keys[key]:
                raise UserError(f"{key} goes with train")
        # Of another task what draws the answers tells.
        if (unknown := sorted(set(flags) - sampling)) and "task" not in flags:
            raise UserError(
                f"unknown setting: {unknown[0]}"
                + hint(unknown[0], sampling | set(_KEYS))
            )
    beside = read_beside(flags.get("beside"))
    start = arms.get(keys["from"])
    if start and (
        dict(start.flags).get("model") in OF_NOUNS
        or {"model", "model_name_or_path"} & set(flags)
    ):
        raise UserError(
            f"cannot start from {start.name}: that is no model, or this arm names a model itself"
        )
    for key, value in flags.items():
        if isinstance(value, list):
            raise UserError(
                f"{key} is a list; put it into a YAML of this arm's own (config)"
            )
    own_seeds = tuple(seeds if keys["seeds"] is None else keys["seeds"])
    if not own_seeds or not set(own_seeds) <= set(seeds):
        raise UserError(
            f"seeds must be some of the study's, {list(seeds)}, not {list(own_seeds)}"
        )
    return Arm(
        name=name,
        seeds=own_seeds,
        train=method,
        config=keys["config"],
        start=start,
        answers=arms.get(keys["answers"]),
        num_training_answers=keys["num_training_answers"],
        beside=tuple(arms[name] for name in beside if name in arms),
        flags=tuple(
            (key, json.dumps(v) if isinstance(v, bool | dict) else str(v))
            for key, v in flags.items()
        ),
    )
