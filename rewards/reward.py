"""A reward as TRL takes it: what a completion is worth alone, and what it is worth among others, around one gather."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.processes import gather, rank
from sozo.rewards.duplicates import SeenAnswers
from sozo.scoring.final_text import (
    completion_text,
    count_unknown,
    decode,
    question_text,
    without_end_marks,
)
from sozo.scoring.keys import KEY_BYTES
from sozo.tasks.task import Answer, Item

Completion = str | Sequence[dict[str, Any]]
T = TypeVar("T")
_CALLED = "a reward is called as reward(completions=[text, ...]), with prompts=[text, ...] where they matter"


class Columns(dict[str, Any]):
    """A row of the dataset; a task that asks for a column that it lacks gets a UserError."""

    def __missing__(self, name: str) -> Any:
        there = ", ".join(self) or "none"
        raise UserError(
            f"needs the dataset's column {name}, a value for each completion; its columns are: {there}"
        )


class Part(NamedTuple):
    """A part of a text that earned a share of its own, such as one word of a list."""

    start: int  # in characters of the text
    end: int
    worth: float  # in the reward's own unit


@dataclass(frozen=True, slots=True)
class ScoredCompletion:
    """One completion with all that a reward knows of it."""

    text: str  # what was written
    score: float | None  # what it is worth by the reward's measure; None when unusable
    reason: str | None  # why it is unusable; None when usable
    # What is paid; None is TRL's word for a completion that gets no number from this reward
    reward: float | None
    duplicate: bool = False  # whether this run has seen it before, if that is penalised
    # What else a reader wants to know
    facts: Mapping[str, Any] = field(default_factory=dict)
    # Digest of what was asked: one prompt is one group
    group: str = field(default="", compare=False)
    # Tells it from others; None for what is no duplicate ever
    key: bytes | None = field(default=None, compare=False)
    # In the order of the text; none where `in_parts` is False
    parts: Sequence[Part] = field(default=(), compare=False)


class Reward:
    """Base class of sozo's reward functions: lists in, one number (or None) for each completion out.

    A subclass gives `alone`, which each process asks about its own completions, and, where a completion's worth depends
    on others, `among`, which sees those of all processes at once. In a distributed run all processes must call it
    together, as TRL does.

    W&B shows `rewards/NAME/mean`, and its own metrics behind `prefix`. `scale` is paid per unit of the score;
    `penalise_duplicates` pays 0 for an answer that this run has seen before.

    >>> class Length(Reward):
    ...     def alone(self, items, answers):
    ...         return [self.scored(item, answer.text, len(answer.text)) for item, answer in zip(items, answers)]
    >>> Length("length_reward", "length", scale=0.5)(completions=["犬", "犬と猫"])
    [0.5, 1.5]
    """

    # Name, metric and format of what a line per logging step shows
    console: Sequence[tuple[str, str, str]] = ()
    # Names of arguments that decide no reward: a resumed run may change them
    free: frozenset[str] = frozenset()
    in_parts = False  # whether it says what each part of a text earned, so that credit can go to each word
    # Of what trains: where it is known, ids decide what is reasoning
    tokenizer: Any = None
    loaded = ""  # name of a cached property that every process loads for itself
    offset = 0.0  # what a usable answer is paid besides
    # Of its metrics: the share that is usable, the mean score, what stands before a reason.
    logged = ("usable", "score", "reason")

    def __init__(
        self,
        name: str,
        prefix: str,
        *,
        scale: float = 1.0,
        penalise_duplicates: bool = False,
    ) -> None:
        for option, value in {"scale": scale, "offset": self.offset}.items():
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not abs(value) < 2**63
            ):  # so NaN, too
                raise UserError(
                    f"{option} must be a finite number, not {quoted(value)}"
                )
        if not isinstance(penalise_duplicates, bool):
            raise UserError(
                f"penalise_duplicates must be true or false, not {quoted(penalise_duplicates)}"
            )
        self.__name__ = name
        self.prefix = prefix
        self.scale = scale
        self.penalise_duplicates = penalise_duplicates
        self.seen = SeenAnswers()  # of the duplicate penalty
        # The previous call's completions of all processes, in rank order
        self.last: list[ScoredCompletion] = []

        self.mine: list[ScoredCompletion] = []  # of these, this process's

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """What each answer is worth by itself; `items[k]` is what `answers[k]` answers. An unusable one is worth 0."""
        raise NotImplementedError

    @property
    def sees_others(self) -> bool:
        """Whether more than the duplicate penalty depends on the other completions."""
        return type(self).among is not Reward.among

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        """What each is worth among all processes' completions, in rank order: here, the duplicate penalty.

        Every process must come to the same result. A subclass begins with `super().among(completions)`.
        """
        seen = self.seen.check([completion.key for completion in completions])
        if not self.penalise_duplicates:
            return completions
        return [
            replace(completion, duplicate=True, reward=0.0) if duplicate else completion
            for completion, duplicate in zip(completions, seen, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record; loads what scores, so that errors show before training."""
        return {"scale": self.scale, "penalise_duplicates": self.penalise_duplicates}

    def state(self) -> dict[str, Any]:
        """What a checkpoint must keep (JSON values): the duplicate history. It is the same in every process."""
        return {"seen": self.seen.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` gave."""
        self.seen.restore(state["seen"])

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        """Numbers of one call over all processes (at least one completion), for TRL's `log_metric`."""
        scores = [
            completion.score
            for completion in completions
            if completion.score is not None
        ]
        reasons = Counter(
            completion.reason
            for completion in completions
            if completion.reason is not None
        )
        count, (usable, mean, reason) = len(completions), self.logged
        metrics = {usable: (count - reasons.total()) / count}
        metrics["duplicate_share"] = (
            sum(completion.duplicate for completion in completions) / count
        )
        metrics |= {
            f"{reason}/{name}": number / count
            for name, number in sorted(reasons.items())
        }
        if scores:
            metrics[mean] = sum(scores) / len(scores)
        return {f"{self.prefix}/{name}": value for name, value in metrics.items()}

    def columns(self, completion: ScoredCompletion) -> dict[str, Any]:
        """What tables of completions show beside text and reward."""
        return {
            "score": completion.score,
            "reason": completion.reason,
            "duplicate": completion.duplicate,
        }

    def scored(
        self,
        item: Item,
        text: str,
        score: float | None,
        reason: str | None = None,
        **facts: Any,
    ) -> ScoredCompletion:
        """The result for one text: `scale` times its score and `offset`, 0 for an unusable one."""
        group = group_of(item.prompt)
        if score is None:
            return ScoredCompletion(text, None, reason, 0.0, False, facts, group)
        identity = bytes.fromhex(group) + text.encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(identity, digest_size=KEY_BYTES).digest()
        reward = self.scale * score + self.offset
        return ScoredCompletion(text, score, reason, reward, False, facts, group, key)

    def __call__(
        self,
        /,  # a dataset may have a column self
        *given: Any,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Completion] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **kwargs: Any,
    ) -> list[float | None]:
        """Rewards of this process's completions (texts or conversations), in order.

        `prompts` may be left out where the reward asks for nothing but completions; `log_metric` gets the metrics over
        all processes, `log_extra` columns beside this process's completions; `kwargs` are columns of the dataset, and
        what else TRL hands over. A UserError says how it is called where a call cannot be meant, a RuntimeError that
        scoring failed on another process.
        """
        if given:  # others take completions first
            raise UserError(f"a reward takes its lists by their names; {_CALLED}")
        start = time.perf_counter()
        parts = gather_made(
            f"the {self.prefix.upper()} reward",
            lambda: self.alone(
                *_asked_and_answered(prompts, completions, kwargs, self.tokenizer)
            ),
        )
        self.last = self.among([completion for part in parts for completion in part])
        offset = sum(map(len, parts[: rank()]))
        self.mine = self.last[offset : offset + len(parts[rank()])]
        unknown = count_unknown(
            (completion.text for completion in self.last), self.__name__
        )
        if log_metric and self.last:
            metrics = self.metrics(self.last) | {
                f"{self.prefix}/seconds": time.perf_counter() - start
            }
            if unknown:
                metrics[f"{self.prefix}/unknown_mark"] = unknown / len(self.last)
            for name, value in metrics.items():
                log_metric(name, value)
        if log_extra:
            # Every process logs the same columns, also one that has no completion here.
            for column in self.columns(ScoredCompletion("", None, None, None)):
                log_extra(
                    column,
                    [self.columns(completion)[column] for completion in self.mine],
                )
        return [completion.reward for completion in self.mine]

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name != self.loaded
        } | {
            "last": [],
            "mine": [],
            "tokenizer": None,
        }


def group_of(prompt: Any) -> str:
    """A digest of what was asked; of a whole conversation, since many end with the same words."""
    raw = str(prompt).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(raw, digest_size=KEY_BYTES).hexdigest()


def gather_made(what: str, make: Callable[[], T]) -> list[T]:
    """What `make` makes in each process, in rank order. A failure of one is everybody's: others would wait for it."""
    made = None
    failure = None
    try:
        made = make()
    except Exception as error:
        failure = error
    told = (
        failure
        if isinstance(failure, UserError)
        else failure and f"{type(failure).__name__}: {failure}"
    )
    everyone = gather((made, told))
    if failure is not None:
        raise failure
    for number, (_, fault) in enumerate(everyone):
        if isinstance(fault, UserError):
            raise fault
        if fault is not None:
            raise RuntimeError(f"{what} failed on process {number}: {fault}")
    return [made for made, _ in everyone]


def _asked_and_answered(
    prompts: Any, completions: Any, kwargs: Mapping[str, Any], tokenizer: Any
) -> tuple[list[Item], list[Answer]]:
    """TRL's lists as items and answers; a column `item` is the item's id."""
    if completions is None:
        raise UserError(
            f"there are no completions{'' if prompts is None else ', only prompts'}; {_CALLED}"
        )
    answered = each(completions, "completions")
    count = len(answered)
    columns = {
        name: list(values)
        for name, values in kwargs.items()
        if _is_column(values, count)
    }
    # Of lists that TRL hands over beside the dataset's columns
    ids = columns.pop("completion_ids", None)
    columns.pop("environments", None)
    named = columns.pop("item", [""] * count)
    asked = (
        [""] * count
        if prompts is None
        else [question_text(prompt) for prompt in each(prompts, "prompts")]
    )
    if len(asked) != count:
        raise UserError(
            f"{len(asked)} prompts came with {count} completions; {_CALLED}"
        )
    texts = list(map(completion_text, answered))
    if tokenizer is not None and ids is not None:  # of several messages, ids are of all
        alone = [
            isinstance(completion, str) or len(completion) == 1
            for completion in answered
        ]
        texts = [
            without_end_marks(decode(tokenizer, own)) if only else text
            for own, text, only in zip(ids, texts, alone, strict=True)
        ]
    items = []
    for k in range(count):
        own = Columns({name: values[k] for name, values in columns.items()})
        items.append(Item(str(named[k]), asked[k], own))
    answers = [Answer(str(k), items[k].id, text) for k, text in enumerate(texts)]
    return items, answers


def each(values: Any, name: str) -> list[Any]:
    """A list, or whatever has one entry for each answer, such as an array or a Series, as a list."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise UserError(
            f"{name} must be a list of texts or of conversations; {_CALLED}"
        )
    return list(values)


def _is_column(values: Any, count: int) -> bool:
    return (isinstance(values, list | tuple) or hasattr(values, "tolist")) and len(
        values
    ) == count
