"""`sozo recipes`: the files that come with sozo: YAML of trainings, studies and hardware, and scripts for Slurm."""

from pathlib import Path
from typing import Annotated

import typer

import sozo
from sozo.data.errors import UserError
from sozo.data.record import write_whole
from sozo.data.settings import hint

FOLDER = (Path(sozo.__file__).parent / "recipes").resolve()


def recipes(
    copy: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[copy NAME]",
            help="Write this one, what stands beside it, and accelerate's.",
        ),
    ] = None,
) -> None:
    """YAML files to begin with, and scripts for Slurm; sozo recipes copy NAME writes one."""
    files = {
        path.relative_to(FOLDER).with_suffix("").as_posix(): path
        for path in sorted([*FOLDER.glob("*/*.yaml"), FOLDER / "slurm"])
    }
    if not copy:
        for name, path in files.items():
            title = (
                "scripts" if path.is_dir() else path.read_text("utf-8").splitlines()[0]
            )
            typer.echo(f"{name:<34}  {title.removeprefix('# ')}")
        return
    action, *names = copy
    if action != "copy" or len(names) != 1:
        raise UserError("write: sozo recipes, or: sozo recipes copy NAME")
    name = names[0].removeprefix("recipes/").removesuffix(".yaml")
    if name not in files:
        there = hint(name, files, " (sozo recipes lists them)")
        raise UserError(f"there is no recipe {name}{there}")
    # What it names stands beside it, or is accelerate's.
    folders = {FOLDER / name.partition("/")[0], FOLDER / "accelerate"}
    for path in sorted(path for folder in folders for path in folder.iterdir()):
        target = Path("recipes") / path.relative_to(FOLDER)
        if not target.exists():
            write_whole(target, path.read_bytes())
            typer.echo(str(target))
        elif target.read_bytes() != path.read_bytes():
            typer.echo(f"{target}: holds something else, and is left as it is")
        elif path == files[name]:
            typer.echo(f"{target}: is there already")
