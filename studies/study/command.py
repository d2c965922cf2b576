"""`sozo study` and `sozo table11`."""

import os
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from sozo.data.errors import UserError
from sozo.data.preemption import PREEMPTED
from sozo.eval.terminal import print_lines
from sozo.studies.study.process import GRACE

if TYPE_CHECKING:
    from sozo.studies.study.config import Study


def study(
    file: Annotated[
        Path,
        typer.Argument(help="The study's YAML, such as recipes/tiny/reproduce.yaml."),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="A folder or a hub id, in place of the YAML's model, such as for recipes/any/wide.yaml."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            help="Folder of the study (default: the YAML's output_dir; with --model, below that)."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the commands, what they need and what is missing (exit status 1).",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Say what is missing here for any step to do, or try it; exit status 1 if something does not work.",
        ),
    ] = False,
    only: Annotated[
        str | None, typer.Option(metavar="STEP", help="Run this step alone.")
    ] = None,
    launcher: Annotated[
        str, typer.Option(help="Words instead of these, such as 'srun node.sh'.")
    ] = "accelerate launch",
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="All steps with 1,024 answers and two updates, in OUTPUT-rehearsal.",
        ),
    ] = False,
    grace: Annotated[
        int,
        typer.Option(
            envvar="TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
            help="Seconds for a step to write its checkpoint when SIGTERM comes.",
        ),
    ] = GRACE,
    go_on: Annotated[
        bool,
        typer.Option("--go-on", help="Go on where random or base miss the paper."),
    ] = False,
    page: Annotated[
        bool,
        typer.Option("--page", help="Write the page of what is finished; run nothing."),
    ] = False,
) -> None:
    """The paper's study, or one of your own: train and sample.

    With arms and seeds as the YAML says, and Table 11 beside the paper's.
    """
    from sozo.studies.study.config import load_study
    from sozo.studies.study.needs import missing
    from sozo.studies.study.rehearsal import rehearsal, rehearsed
    from sozo.studies.study.run import chosen, plan, run_study, terminal, to_do
    from sozo.studies.study.steps import study_steps
    from sozo.studies.study.trial import trial

    signal.signal(signal.SIGTERM, _end_preempted)
    settings = load_study(file, output, model)
    if page:
        _page(settings)
        return
    told = re.findall(r"--num_processes[ =](\d+)", launcher)
    processes = max(map(int, told), default=None)
    if rehearse:
        settings = rehearsal(settings, processes)
    steps = chosen(study_steps(settings), only, processes)
    if rehearse:
        steps = list(map(rehearsed, steps))
    launch = shlex.split(launcher)
    lacking = list(missing(settings, to_do(settings, steps)))
    if dry_run:
        lines = [f"# missing: {line}" for line in lacking]
        typer.echo("\n".join([*plan(settings, steps, launch), *lines]))
        raise typer.Exit(bool(lacking))
    if check and not lacking:
        lacking = list(trial(settings, steps, launch, terminal.print))
    if check or lacking:
        print_lines(lacking or ["Nothing is missing"])
        raise typer.Exit(bool(lacking))
    run_study(settings, steps, launch, grace, go_on=go_on, rehearse=rehearse)
    if steps[-1].name == "table":
        table = Path(settings.step_folder("table"))
        result = (table / "result.md").read_text("utf-8")
        print_lines([result, f"The page: {table / 'report.html'}"])


def table11(
    rows: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=DIR", help="Tables of answers; gains are over `base`."
        ),
    ],
    output: Annotated[
        Path, typer.Option(help="Folder of table11.md, report.html and metrics.json.")
    ],
    paper_model: Annotated[
        str | None,
        typer.Option(
            help="Show the paper's rows of this model, such as Swallow-8B, too."
        ),
    ] = None,
    second_encoder: Annotated[
        str | None, typer.Option(help="One that nobody trained on, such as e5.")
    ] = None,
    nouns: Annotated[
        str | None,
        typer.Option(
            help="Whose mean is taken out of its vectors: tiny, or a file (default: JumanDIC's)."
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="The page's heading.")] = "Table 11",
) -> None:
    """The paper's Table 11 of your tables of answers.

    The paper's rows stand below. A row named as in the paper (random, base, SFT, DPO 1, DPO 2, GRPO) has the paper's
    figures beside it in metrics.json. With a second encoder each row's gain over `base`, or the first row, stands
    beside its gain by that encoder, both in standard deviations of the base's scores.
    """
    from sozo.studies.study.page import tables_result, write_result

    folders = dict(_named(rows))
    result = tables_result(title, folders, paper_model, second_encoder, nouns)
    print_lines(
        [write_result(output, result, "table11"), f"The page: {output / 'report.html'}"]
    )


def _end_preempted(*_: Any) -> NoReturn:
    """End with the step under way, which may write a checkpoint; another SIGTERM changes nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(2, f"SIGTERM: ends, with exit status {PREEMPTED}\n".encode())
    sys.exit(PREEMPTED)


def _named(words: Sequence[str]) -> list[tuple[str, Path]]:
    pairs = [
        (name, Path(path)) for name, _, path in (word.partition("=") for word in words)
    ]
    for word, (name, _) in zip(words, pairs, strict=True):
        if not name or word.endswith("=") or "=" not in word:
            raise UserError(f"{word}: give NAME=DIR, such as base=runs/base")
    return pairs


def _page(settings: "Study") -> None:
    """Write result.md and report.html of a study with arms or several seeds and, last, metrics.json."""
    from sozo.studies.study.page import study_result, write_result

    folder = Path(settings.step_folder("table"))
    print_lines(
        [
            write_result(folder, study_result(settings), "result"),
            f"The page: {folder / 'report.html'}",
        ]
    )
