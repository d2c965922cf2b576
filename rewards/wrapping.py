"""A reward that pays what another one pays, in another way: any reward, sozo's or one's own."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.rewards.own_rewards import check_count, numbers, reward_at
from sozo.rewards.reward import Reward, ScoredCompletion, group_of
from sozo.scoring.endpoint.pace import run_to_end
from sozo.tasks.task import Answer, Item


class Wrapping(Reward):
    """Base class of the rewards around another one, `quality`; as it stands, it pays what that pays.

    `quality` is a reward function, sozo's or one's own, or its dotted path; with `quality_args`, even none, the path is
    of what makes it. `name` tells it from others in logs. A subclass changes what is paid in `among`, which it begins
    with `super().among(completions)`.
    """

    def __init__(
        self,
        name: str,
        prefix: str,
        quality: Callable[..., Any] | str,
        quality_args: Mapping[str, Any] | None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise UserError(f"name must be a text, not {quoted(name)}")
        super().__init__(name, prefix)
        if isinstance(quality, str):
            quality = reward_at(quality, quality_args)
        elif quality_args is not None:
            raise UserError(
                "quality_args belong to a dotted path, and quality is none; leave them out"
            )
        if inspect.isclass(quality) or not callable(quality):
            remedy = "give quality_args, or a reward that is made"
            raise UserError(f"quality is no reward, but {quoted(quality)}; {remedy}")
        self._call: dict[str, Any] = {}  # what a trainer hands over, while it does
        if isinstance(quality, Wrapping):
            self._call = quality._call
        self.asked = getattr(quality, "asked", quality)  # the innermost
        self.quality: Reward = (
            quality if isinstance(quality, Reward) else _Own(quality, self._call)
        )
        self.seen, self.free = self.quality.seen, self.quality.free

    def __call__(
        self,
        /,
        *given: Any,
        **call: Any,
    ) -> list[float | None]:
        """See `Reward.__call__`; a quality of one's own is called with the same arguments, in each completion the text
        that all rewards read: without white space and end marks behind it."""
        self._call.update({"prompts": None, "completions": None} | call)
        try:
            return super().__call__(*given, **call)
        finally:
            self._call.clear()

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """What `quality` says of each; answers to one prompt, the whole conversation, are a group."""
        worths = self.quality.alone(items, answers)
        prompts = self._call.get("prompts")
        asked = [item.prompt for item in items] if prompts is None else prompts
        return [
            replace(worth, group=group_of(prompt))
            for worth, prompt in zip(worths, asked, strict=True)
        ]

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        worths = self.quality.among(completions)
        if any(math.isinf(one.reward or 0.0) for one in worths):
            name = self.quality.__name__
            raise UserError(
                f"reward {name} gave an infinite number; return a finite one, or None"
            )
        return worths

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        return self.quality.metrics(completions)

    def columns(self, completion: ScoredCompletion) -> dict[str, Any]:
        return self.quality.columns(completion)

    def describe(self) -> dict[str, Any]:
        return {"quality": self.quality.__name__, **self.quality.describe()}

    def state(self) -> dict[str, Any]:
        return super().state() | {"quality": self.quality.state()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.quality.restore(state["quality"])


class _Own(Reward):
    """A function of one's own, called with what the trainer handed over, or else with texts and the items' columns."""

    def __init__(self, function: Callable[..., Any], call: dict[str, Any]) -> None:
        name = getattr(function, "__name__", type(function).__name__)
        super().__init__(name, "quality")
        self._function = function
        self._call = call

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        texts = [answer.text for answer in answers]
        names = items[0].columns if items else ()
        plain: dict[str, Any] = {
            name: [item.columns.get(name) for item in items] for name in names
        }
        plain |= {"prompts": [item.prompt for item in items], "completions": texts}
        call = self._call or plain
        completions = list(map(_with_text, call["completions"], texts))
        # It may need a completion.
        paid = self._function(**{**call, "completions": completions}) if texts else []
        if inspect.iscoroutine(paid):
            paid = run_to_end(paid)
        given = numbers(self.__name__, paid)
        worths = [None if one is None or math.isnan(one) else one for one in given]
        check_count(self.__name__, worths, len(texts))
        return [
            ScoredCompletion(text, worth, None, worth)
            for text, worth in zip(texts, worths, strict=True)
        ]

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        return {}

    def columns(self, completion: ScoredCompletion) -> dict[str, Any]:
        return {}

    def describe(self) -> dict[str, Any]:
        return {}


def _with_text(completion: Any, text: str) -> Any:
    """A completion, which may be a conversation, with `text` as its last content."""
    if isinstance(completion, str):
        return text
    if not completion:
        return completion
    return [*completion[:-1], {**completion[-1], "content": text}]
