"""Reward functions by dotted path, so that a user's own needs no fork."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from data.errors import UserError
from training.config import ConfigError

RewardFunc = Callable[..., list[float | None]]


def load_reward_funcs(paths: Sequence[str], arguments: dict[str, dict[str, Any]] | None = None) -> list[RewardFunc]:
    """The reward functions at dotted `paths`, found in the installed packages or beside the working directory.

    Args:
        paths: `package.module.function`; with an entry in `arguments`, a factory.
        arguments: Keyword arguments per path.

    Raises:
        ConfigError: There is no such function, or the factory refuses its arguments.

    >>> load_reward_funcs(["rewards.make_dat_reward"], {"rewards.make_dat_reward": {"scale": 1.0}})[0].scale
    1.0
    """
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    functions: list[RewardFunc] = []
    for path in paths:
        module, dot, name = path.rpartition(".")
        if not dot:
            raise ConfigError(f"reward function {path!r} is no dotted path such as rewards.dat_reward")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"reward function {path}: {error}") from error
        if arguments and path in arguments:
            try:
                function = function(**arguments[path])
            except (TypeError, ValueError, UserError) as error:
                raise ConfigError(f"reward function {path} with {arguments[path]}: {error}") from error
        if not callable(function):
            raise ConfigError(f"reward function {path} cannot be called (it is a {type(function).__name__})")
        functions.append(function)
    return functions
