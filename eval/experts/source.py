"""The ratings that are to be predicted, with the text of what was rated."""

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.ratings import read_any_ratings
from sozo.data.rubrics import RatingRubric
from sozo.eval.experts.histories import Rated
from sozo.tasks.pbig.ideas import Idea, Patent, rated_text, read_ideas, read_patents, trial_ideas, trial_patents


def read_rated(ratings: Path, ideas: Path, patents: Path, rubric: RatingRubric) -> list[Rated]:
    """The ratings of a file, of ideas and patents in theirs, in order."""
    from_patents = read_patents(patents)
    return rated(ratings, read_ideas(ideas, {patent.id for patent in from_patents}), from_patents, rubric)


def trial_rated(rubric: RatingRubric) -> list[Rated]:
    """The trial's, of nine invented experts; no person rated anything."""
    with as_file(files("sozo.data").joinpath("pbig_trial", "ratings.csv")) as path:
        return rated(path, trial_ideas(), trial_patents(), rubric)


def rated(path: Path, ideas: Sequence[Idea], patents: Sequence[Patent], rubric: RatingRubric) -> list[Rated]:
    """The ratings of a file with what was rated; a domain that the file does not say is the patent's."""
    by_id: Mapping[str, Idea] = {idea.id: idea for idea in ideas}
    patent_of = {patent.id: patent for patent in patents}
    result: dict[str, Rated] = {}
    for rating in read_any_ratings(path, rubric):
        if (idea := by_id.get(rating.item)) is None:
            raise UserError(f"{path}: rates the item {rating.item!r}, which is not among the ideas; give its line")
        patent = patent_of[idea.patent]
        if rating.patent not in ("", patent.id):
            said = f"is of the patent {rating.patent!r}, and of {patent.id!r} among the ideas"
            raise UserError(f"{path}: the item {rating.item!r} {said}; correct one of them")

        domain = rating.domain or patent.domain
        one = Rated(
            rating.rater, rating.item, patent.id, domain, rating.criterion, int(rating.score), rated_text(patent, idea)
        )
        if one.id in result:
            raise UserError(f"{path}: {one.rater!r} rates {one.criterion} of {one.item!r} twice; keep one")
        result[one.id] = one
    return list(result.values())
