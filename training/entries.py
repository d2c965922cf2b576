"""One entry of a GRPO run's list `tasks`: what is asked, how often, and what is paid for it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import id_column, read_numbered, text_column
from sozo.data.settings import hint, load_dotted, settings_of
from sozo.rewards.task import RewardFunc, reward_of, reward_options
from sozo.tasks import refuse_training, task_type
from sozo.tasks.task import Item, Task

# Arguments of a reward that are no columns.
_RESERVED = {"asked", "completions", "completion_ids", "environments", "log_extra", "log_metric", "trainer_state"}


@dataclass(frozen=True)
class Entry:
    """One entry of the list `tasks`."""

    task: str | None = None  # a task's name; its items are the prompts
    prompts: str | None = None  # or a JSONL file: the column prompt, optional id; rewards are given its other columns
    num_prompts: int | None = None  # prompts in one epoch; the items are asked in turn. None asks each once
    reward_funcs: Sequence[str] | None = None  # dotted paths; None takes the task's own reward
    reward_args: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # by path, which then names a factory
    reward_weights: Sequence[float] | None = None  # one for each reward
    options: Mapping[str, Any] = field(default_factory=dict)  # of the task's `Settings` and of its own reward

    def __post_init__(self) -> None:
        if wrong := self._wrong():
            raise UserError(f"tasks: {self.name}: {wrong}")

    def _wrong(self) -> str | None:
        """What cannot be, as far as it shows before anything is loaded."""
        if (self.task is None) == (self.prompts is None):
            return "give a task (a name) or prompts (a JSONL file), and not both"
        if self.num_prompts is not None and self.num_prompts < 1:
            return f"num_prompts must be at least 1, not {self.num_prompts}"
        if not self.reward_funcs and self.task is None:
            return "nothing pays for its completions; give reward_funcs, a list of dotted paths"
        if not self.reward_funcs and reward_options(self._kind) is None:
            return "no answer is worth anything alone; give reward_funcs, such as a judge's reward"
        known = self._settings | self._reward_options
        for name in self.options:
            if name not in known:
                return f"unknown setting: {name}{hint(name, known | _KEYS)}"
        for path, arguments in self.reward_args.items():
            if path not in (self.reward_funcs or ()):
                return f"reward_args names {path}, which is not one of reward_funcs {list(self.reward_funcs or ())}"
            if not isinstance(arguments, dict):
                return f"reward_args of {path} must be a mapping of names to values, not {arguments!r}"
        if self.reward_weights is not None and len(self.reward_weights) != self.num_rewards:
            return f"{len(self.reward_weights)} reward_weights for {self.num_rewards} rewards; give one for each"
        return None

    @property
    def name(self) -> str:
        """For people."""
        return self.task or Path(str(self.prompts)).name

    @property
    def num_rewards(self) -> int:
        """How many rewards pay for it."""
        return len(self.reward_funcs or [""])

    @property
    def _kind(self) -> type[Task]:
        return task_type(str(self.task))

    @cached_property
    def _settings(self) -> set[str]:
        return {known.name for known in fields(self._kind.Settings)} if self.task else set()

    @cached_property
    def _reward_options(self) -> set[str]:
        """What the task's own reward can be told, where it is the one that pays."""
        if self.task is None or self.reward_funcs:
            return set()
        return reward_options(self._kind) or set()

    @cached_property
    def built(self) -> Task:
        """The task with its settings."""
        told = {name: value for name, value in self.options.items() if name in self._settings}
        return self._kind(settings_of(self._kind.Settings, told))

    @cached_property
    def items(self) -> Sequence[Item]:
        """What is asked; refuses what must never be trained on."""
        items = tuple(self.built.items()) if self.task else tuple(_read_prompts(Path(str(self.prompts))))
        refuse_training(items)
        return items

    @property
    def count(self) -> int:
        """Prompts in one epoch."""
        return len(self.items) if self.num_prompts is None else self.num_prompts

    @cached_property
    def rewards(self) -> Sequence[RewardFunc]:
        """Its reward functions."""
        if self.reward_funcs:
            return [_reward_func(path, self.reward_args.get(path)) for path in self.reward_funcs]
        options = {name: value for name, value in self.options.items() if name in self._reward_options}
        return [reward_of(self.built, **options)]


_KEYS = {known.name for known in fields(Entry)} - {"options"}


def read_entries(tasks: Any, defaults: Mapping[str, Any]) -> list[Entry]:
    """The entries of a list of mappings (or their JSON) or names of tasks; `defaults` hold where one says nothing."""
    if not isinstance(tasks, list) or not tasks:
        raise UserError(f"tasks must be a list of what is asked, as in recipes/tiny/grpo.yaml, not {tasks!r}")
    entries = []
    for number, given in enumerate(tasks, 1):
        entry = given
        if isinstance(given, str):
            try:
                entry = json.loads(given) if given.lstrip().startswith("{") else {"task": given}
            except json.JSONDecodeError as error:
                raise UserError(f"tasks, entry {number} is not JSON ({error}): {given}") from error
        if not isinstance(entry, dict) or not all(isinstance(key, str) for key in entry):
            raise UserError(f"tasks, entry {number} must be a task's name or a mapping, not {given!r}")
        known = {name: value for name, value in entry.items() if name in _KEYS}
        options = {name: value for name, value in entry.items() if name not in _KEYS}
        # Arguments belong to the functions beside which they stand.
        kept = {k: v for k, v in defaults.items() if not (k == "reward_args" and "reward_funcs" in known)}
        entries.append(Entry(**{**kept, **known}, options=options))
    return entries


def _read_prompts(path: Path) -> list[Item]:
    items = []
    for number, where, row in read_numbered(path):
        prompt = text_column(row, "prompt", where)
        if reserved := sorted(_RESERVED & set(row)):
            raise UserError(f"{where}: a column cannot be called {reserved[0]}, which TRL hands to rewards; rename it")
        columns = {name: value for name, value in row.items() if name not in ("prompt", "id")}
        items.append(Item(id_column(row, "id", where) if "id" in row else f"{number:08d}", prompt, columns))
    if not items:
        raise UserError(f'{path}: holds no prompts; write one per line: {{"prompt": "..."}}')
    return items


def _reward_func(path: str, arguments: Mapping[str, Any] | None) -> RewardFunc:
    function = load_dotted(path, "reward function")
    try:
        function = function if arguments is None else function(**arguments)
    except (TypeError, ValueError) as error:
        raise UserError(f"reward function {path} with {dict(arguments or {})}: {error}") from error
    if not callable(function):
        raise UserError(f"reward function {path} cannot be called (it is a {type(function).__name__})")
    return function
