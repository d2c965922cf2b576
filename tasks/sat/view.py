"""How SAT's results are shown: the distance, and how far the prompt's conditions were kept."""

from collections.abc import Iterator, Sequence

from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.table import Cell
from sozo.tasks.sat.finished import ROWS, STORIES, FinishedSat, stories_digest
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.view import (
    CARD,
    FACTS,
    NUMBERS,
    RESULT,
    SCALE,
    ModelTable,
    ReaderAnswer,
    ReaderItem,
    RunColumn,
    Scatter,
    View,
    counted,
    measured,
    part_of,
    setting_of,
    stored,
)


class SatView(View[FinishedSat]):
    """The row of Table 7: a distance alone would reward leaving the topic."""

    files = ("config.json", "metrics.json", ROWS)
    artifacts = (ROWS, STORIES)
    pictures = (Scatter("sat_chart", "compliant", "mean", "compliance_axis", "distance_axis"),)

    def columns(self, measures: Sequence[Measure], runs: Sequence[FinishedSat]) -> list[RunColumn]:
        score = measures[0]

        def mean_of_compliant(run: FinishedSat) -> Cell:
            stored_mean = run.metrics["compliant_mean"]
            return Cell(stored_mean["mean"], score, n=stored_mean["n"], of=stored_mean["of"])

        return [
            measured(score, "mean"),
            stored("std", measure=score),
            part_of("compliant", shown=RESULT),
            RunColumn("compliant_mean", mean_of_compliant),
            part_of("length_ok"),
            part_of("one_line"),
            part_of("only_story"),
            part_of("truncated", "sat_truncated"),
            stored("mean_length", "length", measure=Measure("length", 0)),
            stored("mean_copied", "copied", measure=SHARE),
            stored("num_items", "sat_stories", NUMBERS | FACTS),
            stored("num_answers", "sat_rewrites"),
            setting_of("embedding_model", "sat_encoder", FACTS | SCALE),
            RunColumn("range", lambda run: "0 to 2", shown=CARD),
            *counted(runs, "reasons", "No score"),
        ]

    def dataset(self, run: FinishedSat) -> dict[str, str]:
        names = {"dataset_name": f"{run.metrics['num_items']} stories of one's own", "dataset_type": "other-stories"}
        if run.settings["stories_sha256"] == stories_digest(load_stories()):
            names = {"dataset_name": "113 tales retold for sozo", "dataset_type": "sozo-stories"}
        return {"task_name": "Story Alteration Task", **names}

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        names = ("mean", "compliant", "compliant_mean", "mean_length", "mean_copied")
        return (ModelTable("table14", names, ("sat_note", "scale_note"), paper="sat", training="sat_training"),)

    def reader_answers(self, run: FinishedSat) -> Iterator[tuple[str, ReaderAnswer]]:
        for row in run.rewrites:
            facts = {"length": row.length, "one_line": row.one_line, "extras": row.extras}
            states = [*(["truncated"] if row.finish_reason == "length" else []), *(row.extras or ())]
            more = {"facts": facts, "states": states}
            yield row.story_id, ReaderAnswer(row.text, row.score, row.reason, more)

    def reader_item(self, run: FinishedSat, item: str) -> ReaderItem:
        story = run.stories[item]
        return ReaderItem(item, story.text, story.title or item, story.origin)
