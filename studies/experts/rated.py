"""Ratings of ideas by experts, with what they rated."""

from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import UserError
from sozo.studies.ratings import read_any_ratings
from sozo.studies.rubric import RatingRubric
from sozo.suite.pbig.ideas import (
    idea_text,
    patent_text,
    read_ideas,
    read_patents,
    trial_file,
)


@dataclass(frozen=True, slots=True)
class Rated:
    """One score that an expert gave."""

    rater: str
    item: str
    patent: str
    domain: str
    criterion: str
    score: int
    text: str  # what was rated, as a prompt shows it

    @property
    def id(self) -> str:
        """Unique among the ratings."""
        return f"{self.item} {self.criterion} {self.rater}"


def read_rated(
    ratings: str | Path | None,
    ideas: str | Path | None,
    patents: str | Path | None,
    rubric: RatingRubric,
) -> list[Rated]:
    """The ratings of a file, in order, with the ideas that were rated and their patents; a domain may be the patent's.

    Without any of the files they are the trial's, whose experts are a rule.
    """
    files = {
        "ratings.csv": ratings,
        "ideas.jsonl": ideas,
        "technologies.jsonl": patents,
    }
    if any(files.values()) and not all(files.values()):
        raise UserError(
            "the files of ratings, of the ideas and of their patents go together; give all three"
        )
    path, ideas, patents = (
        Path(file or trial_file(name)) for name, file in files.items()
    )
    patent_of = {patent.id: patent for patent in read_patents(patents)}
    by_id = {idea.id: idea for idea in read_ideas(ideas, patent_of)}
    result: dict[str, Rated] = {}
    for rating in read_any_ratings(path, rubric):
        if (idea := by_id.get(rating.item)) is None:
            raise UserError(
                f"{path}: rates the item {rating.item!r}, which is not among the ideas; give its line"
            )
        patent = patent_of[idea.patent]
        if rating.patent not in ("", patent.id):
            two = f"is of the patent {rating.patent!r}, and of {patent.id!r} among the ideas"
            raise UserError(
                f"{path}: the item {rating.item!r} {two}; correct one of them"
            )
        domain, text = (
            rating.domain or patent.domain,
            f"{patent_text(patent)}\n{idea_text(idea)}",
        )
        rated = Rated(
            rating.rater,
            rating.item,
            patent.id,
            domain,
            rating.criterion,
            int(rating.score),
            text,
        )
        if rated.id in result:
            raise UserError(
                f"{path}: {rated.rater!r} rates {rated.criterion} of {rated.item!r} twice; keep one"
            )
        result[rated.id] = rated
    return list(result.values())
