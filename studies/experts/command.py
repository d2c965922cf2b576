"""`sozo experts`: from the command line to a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sozo.data.errors import UserError
from sozo.data.rubrics import FOR_IDEAS, load_rubric
from sozo.data.settings import Checked, setting
from sozo.eval.terminal import print_explained, print_lines, print_page, print_run
from sozo.scoring.judges.protocol import JudgeSettings

if TYPE_CHECKING:
    from sozo.tasks.pbig.experts import Expert

SHOTS = (1, 2, 5, 10)


@dataclass(frozen=True)
class ExpertSettings(Checked):
    """How often a judge is asked, of which ratings, and how the votes are counted."""

    judge_seeds: int = setting(3, "Votes of the judge on every rating, each with a seed of its own.", least=1)
    judge_temperature: float = setting(0.7, "Of the judge; it is asked with top_p 0.8 too.", least=0)
    min_confidence: int = setting(80, "Votes below this do not count; another value asks nobody again.", decides=False)
    max_ratings: int | None = setting(None, "Predict so many ratings only, alike of each expert and criterion.")
    level: str = setting("ordinal", "Of measurement: nominal, ordinal, interval or ratio.", decides=False)
    least: int = setting(10, "Predictions of an expert that her alpha needs.", decides=False)
    reasons_embedding_model: str | None = setting(
        None, "Encoder of the judge's reasons, such as ja-ginza: are they alike where experts agree?", decides=False
    )


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
    shots: Annotated[
        list[int] | None, typer.Option(help="Examples at most (default: 1 2 5 10; of --as-experts the largest).")
    ] = None,
    as_experts: Annotated[
        str | None, typer.Option(help="Names of raters, with commas: a judge for each rates the ideas of --answers.")
    ] = None,
    answers: Annotated[Path | None, typer.Option(help="With --as-experts: a finished run of sozo pbig.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how much would be asked, and its price.")
    ] = False,
) -> None:
    """A judge for each expert, who has seen nothing, other experts' scores, or her own (PBIG-DATA, Figure 1)."""
    from sozo.studies.agreement.ratings import check_level
    from sozo.studies.experts.asks import asking_size
    from sozo.studies.experts.histories import HISTORIES, Plan, conditions_of, load_experts
    from sozo.studies.experts.run import judge_experts, seeded_judges
    from sozo.tasks.pbig.experts import read_rated

    check_level(settings.level)
    scale, conditions = load_rubric(rubric), conditions_of(history or HISTORIES, shots or SHOTS)
    if trial and (ratings or ideas or patents):
        raise UserError("--trial has its own --ratings, --ideas and --patents; leave these out")
    if not (trial or (ratings and ideas and patents)):
        raise UserError("give --ratings, --ideas and --patents, or --trial")
    if as_experts is not None:
        files = {"ratings": ratings, "ideas": ideas, "patents": patents}
        experts_of = load_experts([name.strip() for name in as_experts.split(",")], scale, max(shots or SHOTS), **files)
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
    answers: Path | None, imitated: Sequence["Expert"], output: Path | None, judging: JudgeSettings
) -> None:
    """Have the ideas of a finished run judged as experts, and show the row."""
    from sozo.studies.experts.run import judge_as_experts

    if output is None or answers is None:
        raise UserError("--as-experts needs --answers, a finished run of sozo pbig, and an --output folder")
    run = judge_as_experts(answers, imitated, output, judging)
    print_run(run)
    print_explained([run])
    if run.stopped is not None:
        raise typer.Exit(3)
