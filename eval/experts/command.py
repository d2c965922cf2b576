"""`sozo experts`: from the command line to a run."""

from pathlib import Path
from typing import Annotated

import typer

from sozo.data.errors import UserError
from sozo.data.rubrics import FOR_IDEAS, load_rubric
from sozo.eval.experts.run import ExpertSettings
from sozo.eval.terminal import print_lines, print_page
from sozo.scoring.judges.protocol import JudgeSettings


def experts(
    judging: JudgeSettings,
    settings: ExpertSettings,
    output: Annotated[Path | None, typer.Option(help="Folder of this run; the same command continues it.")] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="CSV or JSONL of experts' ratings: item, criterion, rater, score.")
    ] = None,
    ideas: Annotated[Path | None, typer.Option(help="JSONL of the ideas that they rated.")] = None,
    patents: Annotated[Path | None, typer.Option(help="JSONL of the patents that these are from.")] = None,
    trial: Annotated[bool, typer.Option("--trial", help="sozo's own trial data; no person rated it.")] = False,
    rubric: Annotated[str, typer.Option(help="What was rated: a rubric's name or YAML file.")] = FOR_IDEAS,
    history: Annotated[list[str] | None, typer.Option(help="Of zero, diff and same (default: all).")] = None,
    shots: Annotated[list[int] | None, typer.Option(help="Examples for diff and same (default: 1 2 5 10).")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how much would be asked, and its price.")
    ] = False,
) -> None:
    """A judge for each expert, who has seen nothing, other experts' scores, or her own (PBIG-DATA, Figure 1)."""
    from sozo.eval.agreement.ratings import check_level
    from sozo.eval.experts.estimate import estimate
    from sozo.eval.experts.histories import HISTORIES, conditions_of, sample_ratings
    from sozo.eval.experts.run import judge_experts, seeded_judges
    from sozo.eval.experts.source import read_rated, trial_rated

    check_level(settings.level)
    scale, conditions = load_rubric(rubric), conditions_of(history or HISTORIES, shots or (1, 2, 5, 10))
    if trial:
        if ratings or ideas or patents:
            raise UserError("--trial has its own --ratings, --ideas and --patents; leave these out")
        rated = trial_rated(scale)
    elif ratings is None or ideas is None or patents is None:
        raise UserError("give --ratings, --ideas and --patents, or --trial")
    else:
        rated = read_rated(ratings, ideas, patents, scale)
    price, seeds = judging.price(), settings.judge_seeds
    if dry_run:
        of = rated if settings.max_ratings is None else sample_ratings(rated, settings.max_ratings)
        size = estimate(rated, of, conditions, scale.criteria, seeds, price, judging.judge_max_tokens)
        print_lines(size.lines(len(of), len(conditions), seeds))
        return
    if output is None:
        raise UserError("give an --output folder, or --dry-run")
    judges = seeded_judges(judging, seeds, settings.judge_temperature)
    run = judge_experts(rated, scale, conditions, judges, output, judging, settings)
    print_page(run)
    if run.stopped is not None:
        raise typer.Exit(3)
