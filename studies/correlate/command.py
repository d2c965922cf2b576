"""`sozo correlate`."""

from pathlib import Path
from typing import Annotated

import typer

from sozo.studies.pages import print_page


def correlate(
    output: Annotated[Path, typer.Option(help="Folder of this comparison.")],
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE",
            help="Folders of finished runs (DIR, NAME=DIR), files of ratings (JSONL, CSV, Excel), or both.",
        ),
    ],
    key: Annotated[
        Path | None,
        typer.Option(
            help="Key file of blind answers (sozo rate, sozo answers --for-raters)."
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Whose raters are compared (default: the judged one)."),
    ] = None,
) -> None:
    """Correlate tasks over models or, with ratings or --task, the raters of the same answers.

    As the paper does in Tables 9 and 10, in Table 8, and in appendix C.
    """
    from sozo.studies.correlate.run import correlate_models, correlate_raters
    from sozo.studies.ratings import is_file

    if task is None and not any(map(is_file, places)):
        print_page(correlate_models(places, output))
    else:
        print_page(correlate_raters(places, output, task, key))
