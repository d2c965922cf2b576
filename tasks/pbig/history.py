"""Experts from the files of what they rated: ratings, ideas and patents, or those of the trial."""

from collections.abc import Sequence
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.ratings import read_any_ratings
from sozo.data.rubrics import Criterion, load_rubric
from sozo.data.settings import hint
from sozo.tasks.pbig.experts import Expert, Rated
from sozo.tasks.pbig.ideas import rated_text, read_ideas, read_patents


def load_experts(
    names: Sequence[str],
    criteria: Sequence[Criterion],
    shots: int,
    *,
    ratings: str | None = None,
    ideas: str | None = None,
    patents: str | None = None,
) -> tuple[Expert, ...]:
    """The experts of these names, each with those of `criteria` that she rated and with all that she gave.

    Without any file, they are the trial's, who are a rule.

    >>> (expert,) = load_experts(["B1"], load_rubric("pbig").criteria, 3)
    >>> [criterion.name for criterion in expert.criteria][:2], len(expert.history)
    (['specificity', 'need_validity_b2b'], 36)
    """
    if not names or len(set(names)) < len(names) or not all(names):
        raise UserError(f"experts must be names of raters, each once, not {', '.join(names)!r}")
    if shots < 1:
        raise UserError(f"shots must be at least 1, not {shots}")
    given = (ratings, ideas, patents)
    if any(given) and not all(given):
        raise UserError("the files of ratings, of the ideas and of their patents go together; give all three")
    with ExitStack() as stack:
        folder = files("sozo.data").joinpath("pbig_trial")
        packaged = ("ratings.csv", "ideas.jsonl", "technologies.jsonl")
        paths = [Path(path) for path in given if path] or [
            stack.enter_context(as_file(folder.joinpath(name))) for name in packaged
        ]
        by_patent = {patent.id: patent for patent in read_patents(paths[2])}
        by_idea = {idea.id: idea for idea in read_ideas(paths[1], by_patent)}
        lines = read_any_ratings(paths[0], load_rubric("pbig"))
    gave: dict[str, dict[str, dict[str, int]]] = {}  # rater -> idea -> criterion -> score
    for line in lines:
        if line.item not in by_idea:
            raise UserError(f"{paths[0]}: rates the item {line.item!r}, which is not among the ideas; give its line")
        gave.setdefault(line.rater, {}).setdefault(line.item, {})[line.criterion] = int(line.score)
    experts = []
    for name in names:
        if name not in gave:
            near = hint(name, gave, f"; {', '.join(sorted(gave))} rated")
            raise UserError(f"{paths[0]}: holds no rating by {name}{near}")
        history = tuple(
            Rated(by_idea[item].patent, rated_text(by_patent[by_idea[item].patent], by_idea[item]), scores)
            for item, scores in gave[name].items()
        )
        rated = {criterion for one in history for criterion in one.scores}
        experts.append(Expert(name, tuple(c for c in criteria if c.name in rated), history, shots))
    return tuple(experts)
