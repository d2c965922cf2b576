"""`sozo recipes`: the files that come with sozo: YAML of trainings, studies and hardware, and scripts for Slurm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import sozo
from sozo.data.errors import UserError
from sozo.data.record import write_whole
from sozo.data.settings import hint, read_yaml

FOLDER = Path(sozo.__file__).parent / "recipes"


def recipes(
    copy: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[copy NAME]", help="Write this one and all files that it names."
        ),
    ] = None,
) -> None:
    """YAML files to begin with, and scripts for Slurm; sozo recipes copy NAME writes one."""
    files = {
        path.relative_to(FOLDER).with_suffix("").as_posix(): path
        for path in sorted([*FOLDER.glob("*/*.yaml"), FOLDER / "slurm"])
    }
    if not copy:
        width = max(map(len, files))
        for name, path in files.items():
            typer.echo(f"{name:<{width}}  {_title(path)}")
        return
    action, *names = copy
    if action != "copy" or len(names) != 1:
        raise UserError("write: sozo recipes, or: sozo recipes copy NAME")
    name = names[0].removeprefix("recipes/").removesuffix(".yaml")
    if name not in files:
        there = hint(name, files, " (sozo recipes lists them)")
        raise UserError(f"there is no recipe {name}{there}")
    copied = dict.fromkeys(_with_named(files[name]))
    targets = [Path("recipes") / path.relative_to(FOLDER) for path in copied]
    for path, target in zip(copied, targets, strict=True):
        if target.exists() and target.read_bytes() != path.read_bytes():
            raise UserError(f"{target}: holds something else; move it away first")
    for path, target in zip(copied, targets, strict=True):
        if not target.exists():
            write_whole(target, path.read_bytes())
    typer.echo("\n".join(map(str, targets)))


def _title(path: Path) -> str:
    """A YAML's first line, or the names of a folder's files."""
    if path.is_dir():
        return ", ".join(sorted(file.name for file in path.iterdir()))
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _with_named(path: Path) -> Iterator[Path]:
    """A recipe, and what it names: beside it, or below recipes/; a folder's files."""
    yield from sorted(path.iterdir()) if path.is_dir() else [path]
    if path.suffix != ".yaml":
        return
    for word in _texts(read_yaml(path)):
        if not word.endswith((".yaml", ".jsonl")):
            continue
        for place in (path.parent / word, FOLDER.parent / word):
            named = place.resolve()
            if named.is_file() and named.is_relative_to(FOLDER.resolve()):
                yield from _with_named(FOLDER / named.relative_to(FOLDER.resolve()))


def _texts(node: Any) -> Iterator[str]:
    """All texts in mappings and lists."""
    if isinstance(node, str):
        yield node
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _texts(child)
