"""`sozo experts`: from the command line to a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sozo.data.errors import UserError
from sozo.eval.terminal import print_lines, print_run
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.studies.experts.settings import ExpertSettings
from sozo.studies.pages import print_page
from sozo.studies.rubric import load_rubric

if TYPE_CHECKING:
    from sozo.studies.experts.histories import Expert

SHOTS = (1, 2, 5, 10)


def experts(
    judging: JudgeSettings,
    settings: ExpertSettings,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of this run; the same command continues it."),
    ] = None,
    ratings: Annotated[
        Path | None,
        typer.Option(
            help="CSV or JSONL of experts' ratings: item, criterion, rater, score."
        ),
    ] = None,
    ideas: Annotated[
        Path | None, typer.Option(help="JSONL of the ideas that they rated.")
    ] = None,
    patents: Annotated[
        Path | None, typer.Option(help="JSONL of the patents that these are from.")
    ] = None,
    trial: Annotated[
        bool, typer.Option("--trial", help="sozo's own trial data; no person rated it.")
    ] = False,
    rubric: Annotated[
        str, typer.Option(help="What was rated: a rubric's name or YAML file.")
    ] = "pbig",
    history: Annotated[
        list[str] | None, typer.Option(help="Of zero, diff and same (default: all).")
    ] = None,
    shots: Annotated[
        list[int] | None,
        typer.Option(
            help="Examples at most (default: 1 2 5 10; of --as-experts the largest)."
        ),
    ] = None,
    as_experts: Annotated[
        str | None,
        typer.Option(
            help="Names of raters, with commas: a judge for each rates the ideas of --answers."
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="With --as-experts: a finished run of pbig."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only say how much would be asked, and its price."
        ),
    ] = False,
) -> None:
    """A judge for each expert (PBIG-DATA, Figure 1).

    It has seen nothing, other experts' scores, or the expert's own.
    """
    from sozo.studies.agreement.ratings import check_level
    from sozo.studies.experts.asks import asking_size
    from sozo.studies.experts.histories import (
        HISTORIES,
        Plan,
        conditions_of,
        load_experts,
    )
    from sozo.studies.experts.rated import read_rated
    from sozo.studies.experts.run import judge_experts, seeded_judges

    check_level(settings.level)
    scale, conditions = (
        load_rubric(rubric),
        conditions_of(history or HISTORIES, shots or SHOTS),
    )
    if trial and (ratings or ideas or patents):
        raise UserError(
            "--trial has its own --ratings, --ideas and --patents; leave these out"
        )
    if not (trial or (ratings and ideas and patents)):
        raise UserError("give --ratings, --ideas and --patents, or --trial")
    if as_experts is not None:
        files = {"ratings": ratings, "ideas": ideas, "patents": patents}
        experts_of = load_experts(
            [name.strip() for name in as_experts.split(",")],
            scale,
            max(shots or SHOTS),
            **files,
        )
        _judge_ideas(answers, experts_of, output, judging)
        return
    rated = read_rated(ratings, ideas, patents, scale)
    plan = Plan(rated, scale, conditions, settings.max_ratings)
    price, seeds = judging.price(), settings.judge_seeds
    if dry_run:
        print_lines(asking_size(plan, seeds, price, judging.judge_max_tokens).lines())
        return
    if output is None:
        raise UserError("give an --output folder, or --dry-run")
    judges = seeded_judges(judging, seeds, settings.judge_temperature)
    run = judge_experts(plan, judges, output, judging, settings)
    print_page(run)
    if run.stopped is not None:
        raise typer.Exit(3)


def _judge_ideas(
    answers: Path | None,
    imitated: Sequence["Expert"],
    output: Path | None,
    judging: JudgeSettings,
) -> None:
    """Have the ideas of a finished run judged as experts, and show the row."""
    from sozo.studies.experts.run import judge_as_experts

    if output is None or answers is None:
        raise UserError(
            "--as-experts needs --answers, a finished run of pbig, and an --output folder"
        )
    run = judge_as_experts(answers, imitated, output, judging)
    print_run(run)
    if run.stopped is not None:
        raise typer.Exit(3)
