"""The Story Alteration Task (paper, section 3.3): rewrite a story; the score is how far the rewrite is from it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from typing import Any

from sozo.data.prompts import fill, prompt
from sozo.scoring.measure import Measure
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.sat.compliance import check, kept_score
from sozo.tasks.sat.run_result import KEPT, SAT_V1, SatRunResult
from sozo.tasks.sat.score import SatScorer, SatSettings, what_counts
from sozo.tasks.sat.stories import Story, load_stories, stories_digest
from sozo.tasks.sat.view import SatView
from sozo.tasks.task import Answer, Item, Row, Task


class Sat(Task):
    """Rewrite each story for today; distance in meaning is creativity only while the prompt's conditions are kept.

    >>> len(Sat().items())
    113
    """

    name = "sat"
    title = "Story Alteration Task"
    Settings = SatSettings
    measures = (
        Measure("sat", scale=(0, 2)),
        Measure("sat/compliant", share=True, compared=False),
        KEPT,
        Measure("sat/compliant_mean", compared=False, scale=(0, 2)),
        *(
            Measure(f"sat/{name}", share=True, compared=False)
            for name in ("length_ok", "one_line", "only_story")
        ),
        Measure("sat/length", 0, unit="characters", better=0, compared=False),
        Measure("sat/copied", 3, scale=(0, 1), better=0, compared=False),
    )
    unusable_is_0 = (KEPT,)
    rubrics = (SAT_V1,)
    result_type = SatRunResult
    view = SatView()
    settings: SatSettings

    @classmethod
    def beside(cls) -> tuple[Measure, ...]:
        """Those of any task, and the share that keeps the prompt's conditions."""
        return *super().beside(), cls.measures[1]

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        """What is to be rewritten."""
        return self.settings.load_stories()

    @cached_property
    def scorer(self) -> SatScorer:
        """The encoder, loaded when first needed."""
        return self.settings.scorer()

    def items(self) -> Sequence[Item]:
        asks = prompt("sat")
        return [
            Item(s.id, fill(asks, story=s.text), {"story": s.text}, s.title, s.origin)
            for s in self.stories
        ]

    def deciding(self) -> dict[str, Any]:
        """The encoder, and what the stories say, whatever file they come from."""
        return {"stories_sha256": stories_digest(self.stories), **super().deciding()}

    def describe(self) -> dict[str, Any]:
        return self.scorer.describe()

    def facts(self) -> dict[str, Any]:
        return (
            {"encoder_servers": servers}
            if (servers := self.scorer.vectors.servers)
            else {}
        )

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        # In training they are none of the benchmark's
        stories = [item.columns["story"] for item in items]
        compared = self.scorer.compare(stories, [answer.text for answer in answers])
        rows = []
        for story, answer, (score, reason) in zip(
            stories, answers, compared, strict=True
        ):
            found = check(story, what_counts(answer.text)[0])
            values = found.values
            if score is not None:
                values |= {"sat": score} | (
                    {"sat/compliant_mean": score} if values["sat/compliant"] else {}
                )
            kept = kept_score(values)
            values |= {} if kept is None else {KEPT.name: kept}
            rows.append(Row(values, reason, asdict(found)))
        return rows

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The 113 stories of the benchmark, in whatever prompt or column."""
        head = prompt("sat").partition("{story}")[0]
        refuse(
            items,
            _held_out(),
            "stories of the SAT benchmark",
            lambda text: [text.removeprefix(head)],
        )


@cache
def _held_out() -> frozenset[str]:
    return frozenset(fingerprint(story.text) for story in load_stories())
