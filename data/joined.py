"""What joins sozo by entry points: its own suite and studies, and what other packages bring."""

import sys
from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from sozo.data.errors import UserError
from sozo.data.foreign import in_one_line

COMMANDS = "sozo.commands"  # NAME = "package.module:function"; the function's parameters become flags
# NAME = "package.module:Class", a subclass of sozo.tasks.task.Task
TASKS = "sozo.tasks"
# NAME = "package.module:function", from a `sozo.models.generators.ModelWriter` to a `sozo.models.generator.Generator`
GENERATORS = "sozo.generators"
METHODS = "sozo.methods"  # NAME = "package.module:function", which gives what `sozo.training.methods.recipe` gives
FOR_PAPERS = "sozo.studies"  # whose commands stand behind the daily ones
_ROOMS = (FOR_PAPERS, "sozo.suite")  # not in a copy of the core alone


class Joined(NamedTuple):
    """What a package adds."""

    package: str
    value: Any


@cache
def joined(group: str) -> dict[str, Joined]:
    """What installed packages add to a group of entry points, by name; what cannot be loaded is told, and left out.

    UserError for a name that two packages give.
    """
    packages, values = dict[str, str](), dict[str, Joined]()
    for entry in _entry_points().select(group=group):
        package = entry.dist.name if entry.dist else "a package"
        if entry.name in packages:
            raise UserError(
                f"{packages[entry.name]} and {package} both bring {entry.name}; uninstall one of them"
            )
        packages[entry.name] = package
        try:
            values[entry.name] = Joined(package, entry.load())
        # Whatever another package does when it is imported: it may end the process, or say that a key was pressed.
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if not _is_core_alone(error):
                why = f"cannot be loaded ({type(error).__name__}: {error})"
                left_out(group, entry.name, f"{package} {why}")
    return values


def packages() -> set[str]:
    """All installed packages that add something, sozo among them."""
    groups = (COMMANDS, TASKS, GENERATORS, METHODS)
    every = [entry for group in groups for entry in _entry_points().select(group=group)]
    return {entry.dist.name for entry in every if entry.dist}


def added(group: str, taken: Collection[str]) -> dict[str, Joined]:
    """What `joined` gives; UserError for a name that is among those that sozo has `taken`."""
    brought = joined(group)
    for name in brought.keys() & set(taken):
        kind = group.removeprefix("sozo.").removesuffix("s")
        raise UserError(
            f"{brought[name].package} brings a {kind} {name}, which sozo has; uninstall it"
        )
    return brought


@cache
def _entry_points() -> Any:
    return entry_points()  # of hundreds of packages: a tenth of a second


@cache
def left_out(group: str, name: str, why: str) -> None:
    """Say once what of a group is missing, and why; all else goes on."""
    sys.stderr.write(f"{in_one_line(f'{group}: {name} is missing: {why}')}\n")


def _is_core_alone(error: BaseException) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name in _ROOMS
