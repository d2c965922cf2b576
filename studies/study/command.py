"""`sozo study`."""

import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sozo.data.errors import UserError
from sozo.eval.terminal import print_lines

if TYPE_CHECKING:
    from sozo.studies.study.config import Study


def study(
    file: Annotated[Path, typer.Argument(help="The study's YAML, such as recipes/tiny/reproduce.yaml.")],
    output: Annotated[str | None, typer.Option(help="Folder of the study (default: the YAML's output_dir).")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands and what they need; run nothing.")
    ] = False,
    first: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="Leave the earlier steps as they are.")
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="STEP", help="Run this step alone.")] = None,
    launcher: Annotated[
        str, typer.Option(help="Words instead of these, such as 'srun launch.sh'.")
    ] = "accelerate launch",
    page: Annotated[bool, typer.Option("--page", help="Write the page of what is finished; run nothing.")] = False,
    guard: Annotated[
        str | None,
        typer.Option(help="With --page: a second encoder instead of the YAML's; claims are exploratory then."),
    ] = None,
) -> None:
    """The paper's study, or arms and seeds of your own: train, sample, and Table 11 beside the paper's."""
    from sozo.studies.study.config import load_study
    from sozo.studies.study.plan import check_training_flags
    from sozo.studies.study.run import chosen, plan, run_study
    from sozo.studies.study.steps import study_steps

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if guard and not page:
        raise UserError("--guard goes with --page; of a study to run it is guard_encoder in the YAML")
    settings = load_study(file, output, guard)
    if page:
        _page(settings, "table-guard" if guard else "table")
        return
    check_training_flags(settings)
    steps, launch = chosen(study_steps(settings), first, only), shlex.split(launcher)
    if dry_run:
        typer.echo("\n".join(plan(settings, steps, launch)))
        return
    run_study(settings, steps, launch)
    if steps[-1].name == "table":
        table = Path(settings.step_folder("table"))
        print_lines([(table / "result.md").read_text("utf-8"), f"The page: {table / 'report.html'}"])


def _page(settings: "Study", name: str) -> None:
    """Write result.md, report.html, plane.svg of a study with arms or several seeds and, last, metrics.json."""
    from sozo.studies.study.page import write_result
    from sozo.studies.study.result import study_result

    folder = Path(settings.step_folder(name))
    print_lines([write_result(folder, study_result(settings), "result"), f"The page: {folder / 'report.html'}"])
