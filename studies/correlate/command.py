"""`sozo correlate`."""

from pathlib import Path
from typing import Annotated

import typer

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
    ratings: Annotated[
        Path | None,
        typer.Option(
            help="JSONL or CSV of people's ratings (model, item, criterion, rater, score): adds Table 8."
        ),
    ] = None,
    families: Annotated[
        Path | None,
        typer.Option(
            help="JSONL or CSV (model, family): models of one family are not drawn one by one."
        ),
    ] = None,
) -> None:
    """Correlate tasks over models, and a judge with people.

    As the paper does in Tables 9 and 10, and in Table 8.
    """
    from sozo.studies.correlate.run import correlate_runs

    print_page(correlate_runs(runs, output, ratings=ratings, families=families))
