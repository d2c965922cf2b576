"""`sozo correlate`."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from sozo.data.errors import UserError
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.studies.pages import print_page


def correlate(
    output: Annotated[Path, typer.Option(help="Folder of this comparison.")],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR",
            help="Folders of finished runs, however deep: DIR, or NAME=DIR.",
        ),
    ],
    judging: JudgeSettings,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            help="People's scores or rankings of the answers (JSONL, CSV, Excel): adds Table 8, or 23 and 24."
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="What the blind answers of sozo rate are."),
    ] = None,
    families: Annotated[
        Path | None,
        typer.Option(
            help="A table (model, family): models of one family are not drawn one by one."
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Whose answers were rated (default: the judged one)."),
    ] = None,
    embedding_models: Annotated[
        list[str] | None,
        typer.Option(help="Encoders to score its answers with (default: the runs')."),
    ] = None,
    embedding_cache: Annotated[
        Path | None, typer.Option(help="Folder of a disk cache of their vectors.")
    ] = None,
    judge: Annotated[
        bool,
        typer.Option("--judge", help="Have a judge grade its answers too (Table 22)."),
    ] = False,
) -> None:
    """Correlate tasks over models, and people, judges and encoders over answers.

    As the paper does in Tables 9 and 10, in Table 8, and in appendix C.
    """
    from sozo.studies.correlate.run import correlate_runs

    for field in fields(judging):
        if not judge and getattr(judging, field.name) != field.default:
            raise UserError(f"--{field.name.replace('_', '-')} goes with --judge")
    run = correlate_runs(
        runs,
        output,
        ratings=ratings or (),
        key=key,
        families=families,
        task=task,
        embedding_models=embedding_models or (),
        embedding_cache=embedding_cache,
        judging=judging if judge else None,
    )
    print_page(run)
    if run.stopped is not None:
        raise typer.Exit(3)
