"""How PBIG's results are shown: gates first, then what an idea is worth, by criterion, and how alike ideas are."""

from collections.abc import Iterator, Sequence

from sozo.scoring.final_text import judged_part
from sozo.scoring.measure import Measure
from sozo.suite.pbig.ideas import LIMITS, parse_idea
from sozo.suite.pbig.rows import (
    BY_CRITERION,
    DISTANCE,
    GATES,
    SAME_TITLE,
    SERVED,
    WORTH,
)
from sozo.suite.pbig.run_result import PbigRunResult
from sozo.tasks.judged import LEDGER
from sozo.tasks.view import (
    NUMBERS,
    ModelTable,
    ReaderAnswer,
    RunColumn,
    Scatter,
    View,
    counted,
    measured,
    stored,
)


class PbigView(View[PbigRunResult]):
    """Means with n of N: a criterion behind a gate is asked of those ideas only that passed it."""

    files = ("config.json", LEDGER, "answers")
    asked = "question"
    words = (*BY_CRITERION, *LIMITS)
    pictures = (Scatter("pbig_chart", "distance", "score", "pbig/distance", WORTH),)

    def columns(
        self, measures: Sequence[Measure], runs: Sequence[PbigRunResult]
    ) -> list[RunColumn]:
        known = {measure.name: measure for measure in measures}
        # The gates first: what stands behind them rests on them.
        first = (*GATES.values(), WORTH, DISTANCE, SAME_TITLE)
        return [
            stored("judge", "pbig_judge", NUMBERS),
            stored("prompt", "pbig_prompt", NUMBERS),
            stored("num_items", "pbig_patents"),
            measured(
                Measure("pbig/scored", share=True), "pbig_usable", NUMBERS, key="usable"
            ),
            *(
                measured(
                    known[name],
                    name,
                    key="score" if name == WORTH else known[name].short,
                )
                for name in first
            ),
            *(
                measured(known[name], key)
                for key, name in (BY_CRITERION | SERVED).items()
            ),
            stored("num_answers"),
            *counted(runs, "cut", "Cut"),
            *counted(runs, "reasons", "Unusable"),
            *counted(runs, "statuses", "Judgements"),
        ]

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        gates = ("usable", "specific", "feasible", "score", "distance", "same_title")
        return (
            ModelTable("pbig_gates", gates, ("pbig_note", "scale_note")),
            ModelTable("pbig_axes", (*BY_CRITERION, *SERVED), ("pbig_axes_note",)),
        )

    def reader_answers(self, run: PbigRunResult) -> Iterator[tuple[str, ReaderAnswer]]:
        for row in run.answers():
            idea, values = parse_idea(row.text), row.values
            text = (
                "\n".join(f"{name}: {text}" for name, text in idea.fields.items())
                if idea.fields
                else row.text
            )
            marks = {
                name: round(values[key], 2)
                for name, key in BY_CRITERION.items()
                if key in values
            }
            notes = [
                f"{criterion}: {row.facts['scores'][criterion]}. {note['reason']} ({note['confidence']}%)"
                for criterion, note in row.facts.get("notes", {}).items()
            ]
            facts = {"length": len(judged_part(row.text)), "extras": list(idea.cut)}
            more = {
                "marks": marks or None,
                "note": "\n".join(notes) or None,
                "facts": facts,
                "states": list(idea.cut),
            }
            yield row.item, ReaderAnswer(text, values.get(WORTH), row.reason, more)
