"""One entry of a GRPO run's list `tasks`: what is asked, how often, and what is paid for it."""

from collections.abc import Iterable, Mapping, Sequence
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
from sozo.data.settings import (
    from_json,
    from_validation,
    hint,
    settings_of,
)
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
    task: str | None = None  # a task's name; its items are the prompts
    prompts: str | None = (
        None  # or a JSONL file, or hub:NAME: column prompt, optional id; rewards are given the other columns
    )
    num_prompts: PositiveInt | None = (
        None  # prompts in one epoch, the items in turn. None asks each once
    )
    reward_funcs: list[str] | None = (
        None  # dotted paths; None takes the task's own reward
    )
    reward_args: dict[str, dict[str, Any]] = {}  # by path, which then names a factory
    reward_weights: list[float] | None = None  # one for each reward

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what cannot be, as far as it shows before anything is loaded."""
        funcs = self.reward_funcs or []
        if (self.task is None) == (self.prompts is None):
            raise ValueError(
                "give a task (a name) or prompts (a JSONL file, or hub:NAME), and not both"
            )
        if not funcs and self.task is None:
            raise ValueError(
                "nothing pays for its completions; give reward_funcs, a list of dotted paths"
            )
        if not funcs and reward_options(self._kind) is None:
            raise ValueError(
                "no answer is worth anything alone; give reward_funcs, such as a judge's reward"
            )
        known = self._task_settings | self._reward_settings
        for name in self.model_extra or {}:
            if name not in known:
                raise ValueError(
                    f"unknown setting: {name}{hint(name, known | type(self).model_fields.keys())}"
                )
        for path in self.reward_args:
            if path not in funcs:
                raise ValueError(
                    f"reward_args names {path}, which is not one of reward_funcs {funcs}"
                )
        if (
            self.reward_weights is not None
            and len(self.reward_weights) != self.num_rewards
        ):
            count = len(self.reward_weights)
            raise ValueError(
                f"{count} reward_weights for {self.num_rewards} rewards; give one for each"
            )
        return self

    @property
    def name(self) -> str:
        """The task's name, the file's, or that of the hub's data set."""
        if self.hub:
            return self.hub.name
        return self.task or Path(str(self.prompts)).name

    @cached_property
    def hub(self) -> HubPrompts | None:
        """The data set of the hub that `prompts` names."""
        named = self.prompts is not None and self.prompts.startswith(HUB)
        return HubPrompts.named(str(self.prompts)) if named else None

    @property
    def num_rewards(self) -> int:
        """How many rewards pay for it."""
        return len(self.reward_funcs or [""])

    @property
    def _kind(self) -> type[Task]:
        return task_type(str(self.task))

    @property
    def _task_settings(self) -> set[str]:
        return (
            {known.name for known in fields(self._kind.Settings)}
            if self.task
            else set()
        )

    @property
    def _reward_settings(self) -> set[str]:
        """Names of the arguments of the task's own reward, where it is the one that pays."""
        if self.task is None or self.reward_funcs:
            return set()
        return reward_options(self._kind) or set()

    def _options(self, names: set[str]) -> dict[str, Any]:
        return {
            name: value
            for name, value in (self.model_extra or {}).items()
            if name in names
        }

    @cached_property
    def built(self) -> Task:
        """The task with its settings."""
        return self._kind(
            settings_of(self._kind.Settings, self._options(self._task_settings))
        )

    @cached_property
    def items(self) -> Sequence[Item]:
        """What is asked; refuses what must never be trained on."""
        if self.task:
            items = tuple(self.built.items())
        else:
            path = str(self.prompts)
            rows = self.hub.rows() if self.hub else read_numbered(Path(path))
            items = tuple(_as_items(path, rows))
        refuse_training(items)
        return items

    @property
    def count(self) -> int:
        """Prompts in one epoch."""
        return self.num_prompts or len(self.items)

    @cached_property
    def rewards(self) -> Sequence[RewardFunc]:
        """Its reward functions."""
        if self.reward_funcs:
            return [
                _reward_func(path, self.reward_args.get(path), self)
                for path in self.reward_funcs
            ]
        return [reward_of(self.built, **self._options(self._reward_settings))]

    @property
    def free_arguments(self) -> dict[str, Sequence[str]]:
        """By path the arguments of its rewards that decide nothing, such as a budget."""
        paid = zip(self.reward_funcs or (), self.rewards, strict=False)
        return {path: getattr(reward, "free", ()) for path, reward in paid}


def entries_of(script: Any) -> list[Entry]:
    """The entries of a run's settings (`sozo.training.grpo.GrpoArguments`)."""
    return read_entries(script.tasks, {"num_prompts": script.num_prompts})


def read_entries(tasks: Any, defaults: Mapping[str, Any]) -> list[Entry]:
    """The entries of `tasks_of(tasks)`; `defaults` hold where one says nothing."""
    entries = []
    for task in tasks_of(tasks):
        name = Path(str(task.get("task") or task.get("prompts"))).name
        try:
            entries.append(Entry(**{**defaults, **task}))
        except ValidationError as error:
            raise from_validation(error, f"tasks: {name}") from error
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
        if not isinstance(mapping, dict) or not all(
            isinstance(key, str) for key in mapping
        ):
            raise UserError(
                f"tasks, entry {number} must be a task's name or a mapping, not {task!r}"
            )
        mappings.append(mapping)
    return mappings


def _as_items(
    source: str, rows: Iterable[tuple[int, str, dict[str, Any]]]
) -> list[Item]:
    items = []
    for number, where, row in rows:
        prompt = _prompt(row, where)
        if reserved := sorted(_RESERVED & set(row)):
            raise UserError(
                f"{where}: a column cannot be called {reserved[0]}, which is handed to rewards; rename it"
            )
        columns = {
            name: value for name, value in row.items() if name not in ("prompt", "id")
        }
        items.append(
            Item(
                id_column(row, "id", where) if "id" in row else f"{number:08d}",
                prompt,
                columns,
            )
        )
    if not items:
        raise UserError(
            f'{source}: holds no prompts; write one per line: {{"prompt": "..."}}'
        )
    return items


def _prompt(row: dict[str, Any], where: str) -> str:
    """What a row asks: a text, or a conversation of one message of the user."""
    messages = row.get("prompt")
    if not isinstance(messages, list):
        return text_column(row, "prompt", where)
    match messages:
        case [{"role": "user", "content": str(text)}]:
            return text
    raise UserError(
        f"{where}: prompt must be a text, or one message of the user; a system message is the setting system_prompt"
    )


def _reward_func(
    path: str, arguments: Mapping[str, Any] | None, entry: Entry
) -> RewardFunc:
    function = reward_at(path, arguments)
    # One that pays for a quality is handed what that needs.
    own = getattr(function, "asked", function)
    if not isinstance(own, Reward):
        of = (
            ""
            if own is function
            else f" of quality {getattr(own, '__name__', type(own).__name__)}"
        )
        check_arguments(path + of, own, entry)
    return function
