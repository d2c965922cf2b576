"""`sozo agreement`: which of its three questions is asked shows in what it is given."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from sozo.data.errors import UserError
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.studies.pages import PageRun, print_page

_LEAST, _LEVEL = 10, "ordinal"


def agreement(
    output: Annotated[Path, typer.Option(help="Folder of this comparison.")],
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE",
            help="Folders of finished runs (DIR, NAME=DIR), or a ratings file.",
        ),
    ],
    judging: JudgeSettings,
    task: Annotated[
        str | None,
        typer.Option(help="The task (default: the one that a judge grades too)."),
    ] = None,
    embedding_models: Annotated[
        list[str] | None,
        typer.Option(
            help="Encoders to score with (default: the scores that the runs hold)."
        ),
    ] = None,
    embedding_cache: Annotated[
        Path | None, typer.Option(help="Folder of a disk cache of their vectors.")
    ] = None,
    rankings: Annotated[
        Path | None,
        typer.Option(
            help='JSONL of people\'s rankings: {"story_id": ..., "ranking": [best, ...]}.'
        ),
    ] = None,
    judge: Annotated[
        bool,
        typer.Option("--judge", help="Have a judge grade the answers too (Table 22)."),
    ] = False,
    rubric: Annotated[
        str | None,
        typer.Option(help="Of a ratings file: pbig, jcq, or a YAML file's path."),
    ] = None,
    level: Annotated[
        str, typer.Option(help="Of measurement: nominal, ordinal, interval or ratio.")
    ] = _LEVEL,
    least: Annotated[
        int, typer.Option(min=2, help="Items of several raters that alpha needs.")
    ] = _LEAST,
) -> None:
    """How far raters agree: people, judges, encoders.

    Of a file of ratings its raters, of runs the judges of the same answers; or appendix C: encoders, people and a
    judge.
    """
    for field in fields(judging):
        if not judge and getattr(judging, field.name) != field.default:
            raise UserError(f"--{field.name.replace('_', '-')} goes with --judge")
    grading = {
        "--embedding-models": embedding_models,
        "--rankings": rankings,
        "--judge": judge,
    }
    grading |= {"--embedding-cache": embedding_cache}
    of_ratings = {"--rubric": rubric, "--least": None if least == _LEAST else least}
    of_level = {"--level": None if level == _LEVEL else level}
    if any(
        Path(place).is_file() or place.lower().endswith((".csv", ".jsonl"))
        for place in places
    ):
        from sozo.studies.agreement.ratings import agree_ratings

        if len(places) > 1:
            raise UserError(
                f"{len(places)} places, and one is a file of ratings; give that file alone"
            )
        _without({**grading, "--task": task}, "runs, not with a file of ratings")
        print_page(
            agree_ratings(
                Path(places[0]), output, rubric=rubric, level=level, least=least
            )
        )
        return
    from sozo.studies.agreement.judges import agree_judges, find_judged

    _without(of_ratings, "a file of ratings, not with runs")
    if not any(grading.values()) and (judged := find_judged(places, task)):
        print_page(agree_judges(judged, output, level=level))
        return
    from sozo.studies.agreement.run import agree

    _without(of_level, "a file of ratings or with judges of the same answers")
    ranked: PageRun = agree(
        places,
        output,
        wanted=task,
        encoders=embedding_models or (),
        cache=embedding_cache,
        rankings=rankings,
        judging=judging if judge else None,
    )
    print_page(ranked)
    if ranked.stopped is not None:
        raise typer.Exit(3)


def _without(options: dict[str, Any], with_what: str) -> None:
    for name, value in options.items():
        if value:
            raise UserError(f"{name} goes with {with_what}; leave it out")
