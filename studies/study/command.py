"""`sozo study`, `sozo table11` and `sozo nouns`."""

import re
import shlex
import signal
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sozo.data.record import write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.evaluated import named
from sozo.eval.terminal import print_lines


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
    status: Annotated[
        bool,
        typer.Option("--status", help="Print the steps, and how far each is."),
    ] = False,
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
            help="Say what is missing here for any step to do; exit status 1 if something is.",
        ),
    ] = False,
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
    go_on: Annotated[
        bool,
        typer.Option("--go-on", help="Go on where random or base miss the paper."),
    ] = False,
) -> None:
    """The paper's study, or one of your own: train and sample.

    With arms and seeds as the YAML says, and Table 11 beside the paper's.
    """
    from sozo.studies.study import run
    from sozo.studies.study.config import load_study
    from sozo.studies.study.page import study_result, write_result
    from sozo.studies.study.plan import missing
    from sozo.studies.study.process import end_preempted
    from sozo.studies.study.rehearsal import rehearsed
    from sozo.studies.study.steps import GATE, study_steps

    signal.signal(signal.SIGTERM, end_preempted)
    settings = load_study(file, output, model)
    if rehearse:
        settings = replace(settings, output_dir=f"{settings.output_dir}-rehearsal")
    told = map(int, re.findall(r"--num_processes[ =](\d+)", launcher))
    steps = [
        step
        for step in study_steps(settings, max(told, default=None))
        if step.name != GATE or not (go_on or rehearse)
    ]
    if rehearse:
        steps = list(map(rehearsed, steps))
    if status:
        print_lines(run.status(steps))
        return
    launch = shlex.split(launcher)
    lacking = list(missing(settings, run.to_do(steps)))
    if dry_run or not lacking:  # what cannot be is refused
        planned = list(run.plan(settings, steps, launch))
    if dry_run:
        lines = [f"# missing: {line}" for line in lacking] or ["# Nothing is missing"]
        typer.echo("\n".join([*planned, *lines]))
    elif check or lacking:
        print_lines(lacking or ["Nothing is missing"])
    if dry_run or check or lacking:
        raise typer.Exit(bool(lacking))
    run.run_study(settings, steps, launch, rehearse=rehearse)
    table = Path(settings.step_folder("table"))
    text = write_result(table, study_result(settings), "result")
    print_lines([text, f"The page: {table / 'report.html'}"])


def table11(
    rows: Annotated[
        list[str],
        typer.Argument(help="Tables of answers, NAME=DIR; gains are over `base`."),
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
    gate: Annotated[
        bool,
        typer.Option("--gate", help="Fail where random or base miss the paper."),
    ] = False,
) -> None:
    """The paper's Table 11 of your tables of answers.

    The paper's rows stand below. A row named as in the paper (random, base, SFT, DPO 1, DPO 2, GRPO) has the paper's
    figures beside it in metrics.json.
    """
    from sozo.studies.study import beside_paper
    from sozo.studies.study.page import tables_result, write_result

    folders = {name or path: Path(path) for name, path in map(named, rows)}
    result = tables_result("Table 11", folders, paper_model)
    if gate:
        print_lines(beside_paper.gate(result.table.rows))
    print_lines(
        [write_result(output, result, "table11"), f"The page: {output / 'report.html'}"]
    )


def nouns(
    model: Annotated[
        str, typer.Option(help="A folder, a hub id or tiny: whose tokenizer.")
    ],
    output: Annotated[Path, typer.Option(help="Folder of nouns.txt, one a line.")],
    first: Annotated[int, typer.Option(help="How many nouns, at most.")] = 2500,
    language: Annotated[str, typer.Option(help="ja or en.")] = "ja",
) -> None:
    """The nouns that a model's tokenizer writes with the fewest tokens: for lists that it learns from."""
    from sozo.models.weights import load_tokenizer, pinned
    from sozo.studies.study.config import NOUNS_FILE
    from sozo.training.known_nouns import frequent_nouns

    settings = {"model": model, "language": language, "first": first}
    folder = RunFolder(output, settings)
    folder.start({}, {})
    listed = frequent_nouns(load_tokenizer(*pinned(model, None)), language, first)
    write_whole(output / NOUNS_FILE, ("\n".join(listed) + "\n").encode())
    folder.finish({"nouns": len(listed)})
    typer.echo(output / NOUNS_FILE)
