"""The Story Alteration Task (paper, section 3.3): rewrite a story; the score is how far the rewrite is from it."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sozo.data.jsonl import first_object, write_records
from sozo.data.prompts import fill, prompt
from sozo.data.settings import deciding
from sozo.scoring.measure import Measure
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.sat.finished import ROWS, SAT_V1, STORIES, FinishedSat, rewrite_values, stories_digest
from sozo.tasks.sat.score import SatScorer, SatSettings
from sozo.tasks.sat.stories import Rewrite, Story, load_stories, read_rewrites, write_rewrites
from sozo.tasks.sat.view import SatView
from sozo.tasks.task import Answer, Bound, Complete, Item, Outcome, Row, Task


class Sat(Task):
    """Rewrite each story for today; distance in meaning is creativity only while the prompt's conditions are kept.

    >>> len(Sat().items())
    113
    """

    name = "sat"
    title = "Story Alteration Task"
    Settings = SatSettings
    measures = (Measure("sat", paper="score", scale=(0, 2)), Measure("sat/compliant", share=True, compared=False))
    scores_parts = False
    rubrics = (SAT_V1,)
    Finished = FinishedSat
    view = SatView()
    settings: SatSettings

    @classmethod
    def bounds(cls) -> tuple[Bound, ...]:
        return (*super().bounds(), Bound(measure=cls.measures[1], margin=0.05, least=30))

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        """What is to be rewritten."""
        return self.settings.load_stories()

    @cached_property
    def scorer(self) -> SatScorer:
        """The encoder, loaded when first needed."""
        return self.settings.scorer()

    def items(self) -> Sequence[Item]:
        return [Item(s.id, fill(prompt("sat"), story=s.text), {"story": s.text}) for s in self.stories]

    def deciding(self) -> dict[str, Any]:
        """The encoder, and what the stories say, whatever file they come from."""
        stories = {"stories_sha256": stories_digest(self.stories), "num_stories": len(self.stories)}
        return stories | deciding(self.settings)

    def describe(self) -> dict[str, Any]:
        return self.scorer.describe()

    def facts(self) -> dict[str, Any]:
        return {"encoder_servers": servers} if (servers := self.scorer.vectors.servers) else {}

    def read_answers(self, path: Path, source: str | None) -> list[Answer]:
        """Rewrites: columns story_id and text (see `tasks.sat.stories`), or another tool's; scores are made anew."""
        if "story_id" not in first_object(path):
            return list(super().read_answers(path, source))
        rows = read_rewrites(path, {story.id for story in self.stories}, source)
        return [Answer(*astuple(row)[: len(fields(Answer))]) for row in rows]  # the columns before the score's

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        stories = [item.columns["story"] for item in items]  # in training they are none of the benchmark's
        rows = self.scorer.score([_rewrite(answer) for answer in answers], stories)
        facts = ("length", "one_line", "extras")
        return [Row(rewrite_values(row), row.reason, {name: getattr(row, name) for name in facts}) for row in rows]

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The 113 stories of the benchmark, in whatever prompt or column."""
        head = prompt("sat").partition("{story}")[0]
        texts = [t for item in items for t in (item.prompt, item.prompt.removeprefix(head), *item.columns.values())]
        refuse((text for text in texts if isinstance(text, str)), _held_out(), "stories of the SAT benchmark")

    def finish(self, run: Complete) -> Outcome:
        """Score the rewrites; the row of Table 7."""
        stories = {story.id: story.text for story in self.stories}
        rewrites = [_rewrite(answer) for answer in run.answers]
        write_records(run.folder / STORIES, self.stories)
        write_rewrites(run.folder / ROWS, self.scorer.score(rewrites, [stories[row.story_id] for row in rewrites]))
        return Outcome(self.written(run.folder).summary(run.source))


@cache
def _held_out() -> frozenset[str]:
    return frozenset(fingerprint(story.text) for story in load_stories())


def _rewrite(answer: Answer) -> Rewrite:
    """The row of an answer, whose columns are a rewrite's first; the files' ids have no `#`."""
    row_id, *known = astuple(answer)
    return Rewrite(row_id.replace("#", "-"), *known)
