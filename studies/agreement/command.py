"""`sozo agreement`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sozo.studies.pages import print_page


def agreement(
    output: Annotated[Path, typer.Option(help="Folder of this comparison.")],
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE",
            help="Files of ratings (JSONL, CSV, Excel), folders of finished runs (DIR, NAME=DIR), or both.",
        ),
    ],
    task: Annotated[
        str | None, typer.Option(help="Whose answers (default: the judged one).")
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(help="By which people rated: pbig, jcq, or a YAML file's path."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            help="Key file of blind answers (sozo rate, sozo answers --for-raters)."
        ),
    ] = None,
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"],
        typer.Option(help="Of measurement."),
    ] = "ordinal",
    least: Annotated[
        int,
        typer.Option(
            min=1, help="Answers that alpha of people needs, or of an expert."
        ),
    ] = 10,
    experts: Annotated[
        bool,
        typer.Option(
            "--experts", help="How well a judge predicts each (PBIG-DATA, Figure 1)."
        ),
    ] = False,
) -> None:
    """How far raters agree: people, judges, or both.

    Of files of ratings their raters, of runs the judges of the same answers. With --experts the files are a judge's
    predictions of experts' scores, who has seen nothing, other experts' scores, or the expert's own.
    """
    from sozo.studies.agreement.run import agree_raters
    from sozo.studies.experts.run import judge_experts

    if experts:
        print_page(judge_experts([*map(Path, places)], output, level, least))
    else:
        print_page(agree_raters(places, output, task, rubric, key, level, least))
