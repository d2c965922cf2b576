"""How SAT's results are shown: the distance, and how far the prompt's conditions were kept."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sozo.scoring.measure import DASH, Cell, Measure, ends_text, mean_cell, number, percent, share_cell
from sozo.tasks.page_parts import Column, Entry, ModelTable, Point, ReaderItem, Scatter, Section
from sozo.tasks.sat.finished import ROWS, STORIES, FinishedSat, stories_digest
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.sat.summary import SatSummary
from sozo.tasks.view import Card, CardMetric, View

_SCORE, _LENGTH, _COPIED = Measure("sat"), Measure("sat/length", 0), Measure("sat/copied", share=True)


class SatView(View[FinishedSat]):
    """The row of Table 7: a distance alone would reward leaving the topic."""

    files = ("config.json", "metrics.json", ROWS)
    artifacts = (ROWS, STORIES)
    row = ("scored_stories", "num_stories", "compliant", "num_rewrites", "mean_length", "mean_copied")

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        row = SatSummary.from_json(metrics)
        rewrites, stories = row.num_rewrites, f"of {row.num_stories:,} stories"
        cells = {
            "Source": row.source,
            "Mean": f"{number(row.mean, _SCORE)}, {row.scored_stories:,} {stories}",
            "Std": number(row.std, _SCORE),
            "95% CI of mean": ends_text(row.ci95, _SCORE) or DASH,
            "Keep every condition": f"{row.compliant:,} of {rewrites:,} ({percent(row.compliant, rewrites)})",
            "Mean of these": f"{number(row.compliant_mean, _SCORE)}, {row.compliant_stories:,} {stories}",
            "  about 400 characters": f"{row.length_ok:,} of {rewrites:,}",
            "  one line": f"{row.one_line:,} of {rewrites:,}",
            "  nothing but the story": f"{row.only_story:,} of {rewrites:,}",
            "  cut off": f"{row.truncated:,} of {rewrites:,}",
            "Mean length": DASH if row.mean_length is None else f"{number(row.mean_length, _LENGTH)} characters",
            "Copied from the story": DASH if row.mean_copied is None else f"{row.mean_copied:.1%} of its 8-grams",
        }
        return cells | {f"No score: {r}": f"{count:,} of {rewrites:,}" for r, count in row.reasons.items() if count}

    def card(self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]) -> Card:
        row = SatSummary.from_json(metrics)
        args = {"embedding_model": settings["sat_embedding_model"], "scored_stories": row.scored_stories}
        args |= {"stories": row.num_stories, "std": row.std, "ci95": row.ci95}
        rate = row.compliant / row.num_rewrites if row.num_rewrites else None
        counts = {"compliant": row.compliant, "rewrites": row.num_rewrites}
        of = f"{row.scored_stories} of {row.num_stories} stories"
        kept = f"{row.compliant} of {row.num_rewrites} rewrites"
        where = {"dataset_name": f"{row.num_stories} stories of one's own", "dataset_type": "other-stories"}
        if settings["stories_sha256"] == stories_digest(load_stories()):
            where = {"dataset_name": "113 tales retold for sozo", "dataset_type": "sozo-stories"}
        return {"task_name": "Story Alteration Task", **where}, [
            CardMetric("sat_distance", f"SAT mean distance (0 to 2; {of})", row.mean, args),
            CardMetric("sat_compliance", f"SAT rewrites that keep every condition ({kept})", rate, counts),
        ]

    def section(self, measures: Sequence[Measure], runs: Mapping[Path | None, Sequence[FinishedSat]]) -> Section:
        points = {run.folder: point for own in runs.values() for run in own if (point := _point(run))}
        columns = (
            Column("mean", measures[0]),
            Column("compliant", cell=_compliant),
            Column("compliant_mean", cell=_mean_of_compliant),
            Column("length", cell=lambda run: mean_cell(run.summary.mean_length, _LENGTH)),
            Column("copied", cell=lambda run: mean_cell(run.summary.mean_copied, _COPIED)),
        )
        table = ModelTable("table14", columns, ("sat_note", "scale_note"), paper="sat", training="sat_training")
        chart = Scatter("sat_chart", "sat", "compliance_axis", "distance_axis", points)
        return (table,), (chart,)

    def settings_shown(self, run: FinishedSat) -> list[tuple[str, Any]]:
        return [("sat_encoder", run.scale.get("embedding_model")), ("sat_stories", f"{run.summary.num_stories:,}")]

    def scale_text(self, run: FinishedSat) -> str:
        return f"encoder {run.scale.get('embedding_model')}"

    def entries(self, run: FinishedSat) -> Iterator[tuple[str, Entry]]:
        for row in run.rewrites:
            facts = {"length": row.length, "one_line": row.one_line, "extras": row.extras}
            states = [*(["truncated"] if row.finish_reason == "length" else []), *(row.extras or ())]
            yield row.story_id, Entry(row.text, row.score, row.reason, {"facts": facts, "states": states})

    def reader_item(self, run: FinishedSat, item: str, entries: Sequence[Entry]) -> ReaderItem:
        story = run.stories[item]
        return ReaderItem((item, story.text), story.origin, story.title or item, story.text, entries)


def _compliant(run: FinishedSat) -> Cell:
    row = run.summary
    return share_cell(row.compliant, row.num_rewrites)


def _mean_of_compliant(run: FinishedSat) -> Cell:
    row = run.summary
    return mean_cell(row.compliant_mean, _SCORE, None, (row.compliant_stories, row.num_stories))


def _point(run: FinishedSat) -> Point | None:
    """The share of compliant rewrites in percent, and the score."""
    row = run.summary
    if row.mean is None or not row.num_rewrites:
        return None
    return Point(100 * row.compliant / row.num_rewrites, row.mean, *(row.ci95 or (None, None)))
