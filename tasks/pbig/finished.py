"""Finished PBIG runs: ideas with what their judges said."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property

from sozo.data.prompts import fill, prompt
from sozo.scoring.measure import Measure
from sozo.scoring.said import said
from sozo.tasks.finished import Finished, ScoredAnswer
from sozo.tasks.pbig.ideas import Patent, patent_text, read_patents, trial_patents
from sozo.tasks.pbig.rows import JudgedIdea, read_rows
from sozo.tasks.pbig.settings import LANGUAGES, digest

ROWS, PATENTS = "ideas.jsonl", "patents.jsonl"


class FinishedPbig(Finished):
    """Ideas with their scores."""

    files = (PATENTS, ROWS)
    same = ("patents_sha256", "language", "experts", "embedding_model", "embedding_revision")

    @property
    def trial(self) -> bool:
        """Whether the patents are sozo's invented technologies."""
        return bool(self.settings["patents_sha256"] == digest(map(asdict, trial_patents())))

    def other_items(self) -> tuple[str, ...]:
        return (said("{n} trial technologies", n=self.metrics["num_items"]),) if self.trial else ()

    @cached_property
    def patents(self) -> dict[str, Patent]:
        """What ideas were asked from, by id."""
        return {patent.id: patent for patent in read_patents(self.folder / PATENTS)}

    @cached_property
    def prompts(self) -> dict[str, str]:
        asks = prompt(LANGUAGES[self.settings.get("language", "ja")])
        return {patent.id: fill(asks, patent=patent_text(patent)) for patent in self.patents.values()}

    @cached_property
    def rows(self) -> list[JudgedIdea]:
        """Every answer, in order."""
        return read_rows(self.folder / ROWS)

    @cached_property
    def scored(self) -> list[ScoredAnswer]:
        """Every answer with its values."""
        return [ScoredAnswer(row.id, row.item, row.text, row.values(), row.status) for row in self.rows]

    def answers(self) -> Iterator[ScoredAnswer]:
        return iter(self.scored)

    def counts(self, measure: Measure) -> tuple[int, int]:
        """n of N ideas; of what takes several ideas, n of N patents."""
        if measure.together:
            return super().counts(measure)
        return len(self.by_answer(measure)), len(self.rows)
