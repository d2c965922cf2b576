"""Commands that join `sozo` from above the core: this package's studies, and those of other packages."""

import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import sozo
from sozo.data.errors import UserError
from sozo.data.foreign import in_one_line

GROUP = "sozo.commands"  # of entry points: NAME = "package.module:function"


def joined_commands() -> Iterator[tuple[str, Callable[..., None]]]:
    """Each command's name and function; what cannot be loaded is told in one line, and the others stay.

    UserError for a name that two packages give.
    """
    owners: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        owner = entry.dist.name if entry.dist else "a package"
        if entry.name in owners:
            both = f"{owners[entry.name]} and {owner}"
            raise UserError(f"{both} both bring a command {entry.name}; uninstall one of them")
        owners[entry.name] = owner
        if command := _load(entry, owner):
            yield entry.name, command
    for name in _declared() - owners.keys():
        sys.stderr.write(f"sozo {name} is missing: the installation is older than pyproject.toml; run make install\n")


def _load(entry: EntryPoint, owner: str) -> Callable[..., None] | None:
    try:
        command: Callable[..., None] = entry.load()
        return command
    except Exception as error:  # whatever another package's import does
        if not (isinstance(error, ModuleNotFoundError) and error.name == "sozo.studies"):  # a copy of the core alone
            why = in_one_line(f"{type(error).__name__}: {error}")
            sys.stderr.write(f"sozo {entry.name} is missing: {owner} cannot be loaded ({why})\n")
        return None


def _declared() -> set[str]:
    """The commands of this repository, if sozo is run from it: the environment may know those of an older state."""
    file = Path(sozo.__file__).resolve().parents[2] / "pyproject.toml"
    if not (file.is_file() and (file.parent / "studies").is_dir()):
        return set()
    return set(tomllib.loads(file.read_text("utf-8"))["project"]["entry-points"][GROUP])
