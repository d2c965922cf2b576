"""Ratings of ideas by experts, with what they rated."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import UserError
from sozo.studies.ratings import read_ratings
from sozo.studies.rubric import RatingRubric
from sozo.suite.pbig.ideas import (
    idea_text,
    patent_text,
    read_ideas,
    read_patents,
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
    ratings: Sequence[Path], ideas: Path, patents: Path, rubric: RatingRubric
) -> list[Rated]:
    """The ratings of files, in order, with the ideas that were rated and their patents; a domain may be the patent's."""
    patent_of = {patent.id: patent for patent in read_patents(patents)}
    by_id = {idea.id: idea for idea in read_ideas(ideas, patent_of)}
    result = []
    for row in read_ratings(ratings, rubric).itertuples():
        if (idea := by_id.get(row.item)) is None:
            raise UserError(
                f"{row.where}: rates the item {row.item!r}, which is not among the ideas; give its line"
            )
        patent = patent_of[idea.patent]
        if row.patent not in ("", patent.id):
            two = (
                f"is of the patent {row.patent!r}, and of {patent.id!r} among the ideas"
            )
            raise UserError(
                f"{row.where}: the item {row.item!r} {two}; correct one of them"
            )
        facts = row.rater, row.item, patent.id, row.domain or patent.domain
        text = f"{patent_text(patent)}\n{idea_text(idea)}"
        result.append(Rated(*facts, row.criterion, int(row.score), text))
    return result
