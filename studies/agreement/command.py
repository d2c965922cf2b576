"""`sozo agreement`."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from sozo.data.errors import UserError
from sozo.eval.terminal import print_lines
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.studies.experts.settings import ExpertSettings
from sozo.studies.pages import print_page


def agreement(
    output: Annotated[Path, typer.Option(help="Folder of this comparison.")],
    judging: JudgeSettings,
    settings: ExpertSettings,
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PLACE",
            help="Files of ratings (JSONL, CSV, Excel), folders of finished runs (DIR, NAME=DIR), or both.",
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Whose answers (default: the judged one).")
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(help="By which people rated: pbig, jcq, or a YAML file's path."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="What the blind answers of sozo rate are."),
    ] = None,
    experts: Annotated[
        bool,
        typer.Option(
            "--experts", help="A judge for each rater of ideas (PBIG-DATA, Figure 1)."
        ),
    ] = False,
    ideas: Annotated[
        Path | None, typer.Option(help="With --experts: JSONL of the rated ideas.")
    ] = None,
    patents: Annotated[
        Path | None, typer.Option(help="With --experts: JSONL of their patents.")
    ] = None,
    trial: Annotated[
        bool,
        typer.Option(
            "--trial", help="With --experts: sozo's data; no person rated it."
        ),
    ] = False,
    history: Annotated[
        list[str] | None, typer.Option(help="Of zero, diff and same (default: all).")
    ] = None,
    shots: Annotated[
        list[int] | None,
        typer.Option(help="Examples at most (default: 1 2 5 10)."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="With --experts: only say what would be asked."),
    ] = False,
) -> None:
    """How far raters agree: people, judges, or both.

    Of files of ratings their raters, of runs the judges of the same answers. With --experts a judge predicts each
    rating; it has seen nothing, other experts' scores, or the expert's own.
    """
    given: dict[str, Any] = {"ideas": ideas, "patents": patents, "trial": trial}
    given |= {"history": history, "shots": shots, "dry_run": dry_run}
    for one in (judging, settings):
        for field in fields(one):
            if field.name not in ("level", "least"):
                given[field.name] = getattr(one, field.name) != field.default
    if not experts:
        from sozo.studies.agreement.run import agree_raters

        if wrong := [name for name, value in given.items() if value]:
            raise UserError(f"--{wrong[0].replace('_', '-')} goes with --experts")
        if not places:
            raise UserError("give files of ratings, or folders of finished runs")
        how: dict[str, Any] = {"level": settings.level, "least": settings.least}
        how |= {"task": task, "rubric": rubric, "key": key}
        print_page(agree_raters(places, output, **how))
        return
    from sozo.studies.experts.asks import asking_size
    from sozo.studies.experts.run import judge_experts, plan_of, seeded_judges

    files = [Path(place) for place in places or ()], ideas, patents
    plan = plan_of(files, trial, rubric, history, shots, settings)
    seeds, most = settings.judge_seeds, judging.judge_max_tokens
    if dry_run:
        print_lines(asking_size(plan, seeds, judging.price(), most))
        return
    judges = seeded_judges(judging, seeds, settings.judge_temperature)
    run = judge_experts(plan, judges, output, judging, settings)
    print_page(run)
    if run.stopped is not None:
        raise typer.Exit(3)
