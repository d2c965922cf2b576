"""How SAT's results are shown: the distance, and how far the prompt's conditions were kept."""

from collections.abc import Iterator, Sequence

from sozo.scoring.measure import Measure
from sozo.tasks.sat.run_result import SatRunResult
from sozo.tasks.view import (
    NUMBERS,
    TERMINAL,
    ModelTable,
    ReaderAnswer,
    RunColumn,
    Scatter,
    View,
    counted,
    measured,
    setting_of,
    stored,
)


class SatView(View[SatRunResult]):
    """The row of Table 7: a distance alone would reward leaving the topic."""

    asked = "story"
    pictures = (
        Scatter("sat_chart", "compliant", "score", "compliance_axis", "distance_axis"),
    )

    def columns(
        self, measures: Sequence[Measure], runs: Sequence[SatRunResult]
    ) -> list[RunColumn]:
        score, compliant, kept, of_compliant, *conditions, length, copied = measures
        return [
            measured(kept),
            measured(score, "score"),
            measured(compliant),
            measured(of_compliant, shown=NUMBERS),
            *(measured(condition, shown=TERMINAL) for condition in conditions),
            measured(length, shown=NUMBERS, key="mean_length"),
            measured(copied, shown=NUMBERS, key="mean_copied"),
            stored("num_items", "sat_stories"),
            stored("num_answers", "sat_rewrites"),
            setting_of("embedding_model", "sat_encoder"),
            *counted(runs, "reasons", "Unusable"),
        ]

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        names = ("score", "compliant", "compliant_mean", "mean_length", "mean_copied")
        return (
            ModelTable(
                "table14",
                names,
                ("sat_note", "scale_note"),
                training="sat_training",
            ),
        )

    def reader_answers(self, run: SatRunResult) -> Iterator[tuple[str, ReaderAnswer]]:
        for row in run.answers():
            own = [] if row.complete else [row.state]
            states = dict.fromkeys([*own, *row.facts.get("extras", ())])
            more = {"facts": row.facts, "states": [*states]}
            yield (
                row.item,
                ReaderAnswer(row.text, row.values.get(run.main.name), row.reason, more),
            )
