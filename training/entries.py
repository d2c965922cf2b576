"""One entry of a GRPO run's list `tasks`: what is asked, how often, and what is paid for it."""

from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    PositiveInt,
    ValidationError,
    model_validator,
)

from sozo.data.errors import UserError
from sozo.data.jsonl import id_column, read_numbered, text_column
from sozo.data.settings import from_json, from_validation, hint, settings_of
from sozo.rewards.own_rewards import check_arguments, reward_at
from sozo.rewards.reward import Reward
from sozo.rewards.task import RewardFunc, reward_of, reward_options
from sozo.tasks import refuse_training, task_type
from sozo.tasks.task import Item, Task
from sozo.training.hub import HUB, HubPrompts

# Arguments of a reward that are no columns.
_RESERVED = {
    "asked",
    "completions",
    "completion_ids",
    "environments",
    "item",
    "log_extra",
    "log_metric",
    "prompts",
    "self",
    "trainer_state",
}


class Entry(BaseModel):
    """One entry of the list `tasks`. Further keys are settings of the task and of its own reward."""

    model_config = ConfigDict(extra="allow", strict=True)
    # A task's name; its items are the prompts.
    task: str | None = None
    # Or a JSONL file, or hub:NAME: column prompt, optional id; rewards are given the other columns.
    prompts: str | None = None
    # Prompts in one epoch, the items in turn. None asks each once.
    num_prompts: PositiveInt | None = None
    # Dotted paths; None takes the task's own reward.
    reward_funcs: list[str] | None = None
    reward_args: dict[str, dict[str, Any]] = {}  # by path, which then names a factory
    reward_weights: list[float] | None = None  # one for each reward

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what cannot be, as far as it shows before anything is loaded."""
        if (self.task is None) == (self.prompts is None):
            raise ValueError(
                "give a task (a name) or prompts (a JSONL file, or hub:NAME), and not both"
            )
        funcs = self.reward_funcs or []
        if not funcs and (not self.task or reward_options(self._kind) is None):
            raise ValueError(
                "nothing pays for its completions; give reward_funcs, dotted paths, such as of a judge's reward"
            )
        settings = fields(self._kind.Settings) if self.task else ()
        known = {*type(self).model_fields, *self._of_reward}
        known.update(setting.name for setting in settings)
        for name in self.model_extra or ():
            if name not in known:
                raise ValueError(f"unknown setting: {name}{hint(name, known)}")
        if unused := self.reward_args.keys() - set(funcs):
            raise ValueError(
                f"reward_args names {min(unused)}, which is not one of reward_funcs {funcs}"
            )
        return self

    @property
    def name(self) -> str:
        """The task's name, or that of the file or data set."""
        return self.task or Path(str(self.prompts)).name

    @property
    def num_rewards(self) -> int:
        """How many rewards pay for it."""
        return len(self.reward_funcs or [""])

    @property
    def _kind(self) -> type[Task]:
        return task_type(str(self.task))

    @property
    def _of_reward(self) -> set[str]:
        """Names of the arguments of the task's own reward, where that pays."""
        return set() if self.reward_funcs else reward_options(self._kind) or set()

    def _more(self, *, of_reward: bool) -> dict[str, Any]:
        more, names = self.model_extra or {}, self._of_reward
        return {k: value for k, value in more.items() if (k in names) == of_reward}

    @cached_property
    def built(self) -> Task:
        """The task with its settings."""
        return self._kind(settings_of(self._kind.Settings, self._more(of_reward=False)))

    @cached_property
    def items(self) -> Sequence[Item]:
        """What is asked; refuses what must never be trained on."""
        if self.task:
            items = tuple(self.built.items())
        else:
            path = str(self.prompts)
            hub = path.startswith(HUB)
            rows = HubPrompts.named(path).rows() if hub else read_numbered(Path(path))
            items = tuple(_item(*row) for row in rows)
            if not items:
                raise UserError(
                    f'{path}: holds no prompts; write one per line: {{"prompt": "..."}}'
                )
        refuse_training(items)
        return items

    @property
    def count(self) -> int:
        """Prompts in one epoch."""
        return self.num_prompts or len(self.items)

    @cached_property
    def rewards(self) -> Sequence[RewardFunc]:
        """Its reward functions."""
        if not self.reward_funcs:
            return [reward_of(self.built, **self._more(of_reward=True))]
        return list(map(self._reward, self.reward_funcs))

    def _reward(self, path: str) -> RewardFunc:
        function = reward_at(path, self.reward_args.get(path))
        # One that pays for a quality is handed what that needs.
        own = getattr(function, "asked", function)
        if not isinstance(own, Reward):
            named = path if own is function else f"{path} of this quality"
            check_arguments(named, own, self)
        return function

    @property
    def free_arguments(self) -> dict[str, Sequence[str]]:
        """By path the arguments of its rewards that decide nothing, such as a budget."""
        paid = zip(self.reward_funcs or [""], self.rewards, strict=True)
        return {path: getattr(reward, "free", ()) for path, reward in paid}


def read_entries(tasks: Any, num_prompts: int | None = None) -> list[Entry]:
    """The entries of `tasks_of(tasks)`; `num_prompts` holds where one says nothing."""
    entries = []
    for number, task in enumerate(tasks_of(tasks), 1):
        try:
            entries.append(Entry.model_validate({"num_prompts": num_prompts} | task))
        except ValidationError as error:
            raise from_validation(error, f"tasks, entry {number}") from error
    return entries


def tasks_of(tasks: Any) -> list[dict[str, Any]]:
    """The mappings that a list of them, of their JSON or of tasks' names stands for."""
    if not isinstance(tasks, list) or not tasks:
        raise UserError(
            f"tasks must be a list of what is asked, as in recipes/tiny/grpo.yaml, not {tasks!r}"
        )
    mappings = []
    for number, task in enumerate(tasks, 1):
        mapping = {"task": task}
        if not isinstance(task, str) or task.lstrip().startswith("{"):
            mapping = from_json(task, f"tasks, entry {number}")
        if not isinstance(mapping, dict):
            raise UserError(
                f"tasks, entry {number} must be a task's name or a mapping, not {task!r}"
            )
        mappings.append(mapping)
    return mappings


def _item(number: int, where: str, row: dict[str, Any]) -> Item:
    """An item of a row, whose prompt is a text, or a conversation of one message of the user."""
    match row.get("prompt"):
        case [{"role": "user", "content": str(text)}]:
            pass
        case _:
            text = text_column(row, "prompt", where)
    if reserved := _RESERVED & row.keys():
        raise UserError(
            f"{where}: a column cannot be called {min(reserved)}, which is handed to rewards; rename it"
        )
    name = id_column(row, "id", where, f"{number:08d}")
    columns = {key: row[key] for key in row if key not in ("prompt", "id")}
    return Item(name, text, columns)
