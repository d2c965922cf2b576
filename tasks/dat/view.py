"""How DAT's results are shown: the row of Table 11, in the terminal, W&B, the model card and the report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from sozo.data.schema import iter_tables
from sozo.scoring.final_text import answer_state
from sozo.scoring.measure import DASH, Cell, Measure, count_cell, ends_text, mean_cell, number, percent
from sozo.tasks.dat.instrument_cells import cell, instrument_text, measured
from sozo.tasks.dat.summary import DatSummary, FinishedDat
from sozo.tasks.dat.table11 import table11
from sozo.tasks.page_parts import Column, Entry, ModelTable, Point, ReaderItem, Ridge, Scatter, Section
from sozo.tasks.view import Card, CardMetric, Values, View


class DatView(View[FinishedDat]):
    """A row of Table 11, and what is wrong with the invalid responses."""

    sample = 20
    row = ("valid", "num_responses", "valid_rate", "unique_words")

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        row = DatSummary.from_json(metrics)
        cells, labels, of = summary_cells(row), self.labels(), row.num_responses
        for name in measured([row]):
            cells[labels[name][0]] = instrument_text(row.instruments, name)
        return cells | {f"Invalid: {name}": f"{n:,} ({percent(n, of)})" for name, n in row.reasons.items() if n}

    def notes(self, metrics: Mapping[str, Any]) -> list[str]:
        labels = self.labels()
        return [labels[f"{name}_says"][0] for name in measured([DatSummary.from_json(metrics)])]

    def values(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> Values:
        return super().values(measures, metrics) | DatSummary.from_json(metrics).instruments

    def card(self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]) -> Card:
        row = DatSummary.from_json(metrics)
        of = f"{row.valid} of {row.num_responses} responses valid"
        args = {"valid": row.valid, "responses": row.num_responses}
        args |= {name: settings[name] for name in ("embedding_model", "noun_checker")}
        top = "0 to 200, Olson's protocol" if settings["olson"] else "0 to 2"
        where = {"task_name": "Divergent Association Task", "dataset_name": "DAT (Japanese)", "dataset_type": "dat-ja"}
        return where, [
            CardMetric("dat_score", f"DAT score ({top}; {of})", row.mean, {**args, "std": row.std, "ci95": row.ci95}),
            CardMetric("dat_valid_rate", f"Valid responses ({of})", row.valid_rate, args),
            CardMetric("dat_unique_words", f"Unique words in valid responses ({of})", row.unique_words, args),
        ]

    def section(self, measures: Sequence[Measure], runs: Mapping[Path | None, Sequence[FinishedDat]]) -> Section:
        # Unique words are compared within a study only: a small one must not take the words of another's rows.
        words, sizes, planes = dict[Path, float | None](), dict[Path, int](), list[Scatter]()
        for study, own in runs.items():
            counted = {str(run.folder): run.settings["trials"] for run in own if run.settings.get("trials")}
            table = table11({str(run.folder): run.folder for run in own}, trials=counted)
            words |= {run.folder: row.equal_size_words for run, row in zip(own, table.rows, strict=True)}
            sizes |= {run.folder: table.equal_size for run in own}
            planes.append(_plane(study, own, words, table.equal_size, len(planes)))
        every = [run for own in runs.values() for run in own]
        score, valid = measures

        def mean(run: FinishedDat) -> Cell:
            return mean_cell(run.summary.mean, run.shown(score), run.summary.ci95)

        def std(run: FinishedDat) -> Cell:
            return mean_cell(run.summary.std, run.shown(score))

        def equal_words(run: FinishedDat) -> Cell:
            return count_cell(words[run.folder], f"n = {sizes[run.folder]:,}")

        responses = (
            Column("trials", cell=lambda run: count_cell(run.summary.num_responses)),
            Column("valid", cell=_valid, change=valid, paper="valid", figure=_figure),
            Column("mean", cell=mean, change=score, paper="mean"),
            Column("std", cell=std, paper="std"),
            Column("unique_words", cell=_unique_words, paper="unique_words", figure=lambda n: f"{int(n):,}"),
            Column("equal_words", cell=equal_words),
        )
        trials = (
            Column("valid_trials", cell=lambda run: count_cell(run.summary.valid)),
            Column("attempts", cell=lambda run: count_cell(run.summary.num_responses, _rate(run.summary))),
            Column("mean", cell=mean),
            Column("std", cell=std),
        )
        names = measured([run.summary for run in every])
        instruments = tuple(Column(name, cell=_instrument(name)) for name in names)
        says = tuple(f"{name}_says" for name in names)
        tables = (
            ModelTable("table11", responses, ("dat_note", "scale_note"), paper="dat", training="dat_training"),
            *((ModelTable("instruments", instruments, says),) if instruments else ()),
            ModelTable("table6", trials, kind="trials"),
        )
        ridges = Ridge("dat_chart", "ridges", "score_axis", score)
        return tables, (ridges, *planes)

    def settings_shown(self, run: FinishedDat) -> list[tuple[str, Any]]:
        return [("dat_encoder", run.scale.get("embedding_model")), ("dat_checker", run.scale.get("noun_checker"))]

    def scale_text(self, run: FinishedDat) -> str:
        return f"encoder {run.scale.get('embedding_model')}, nouns by {run.scale.get('noun_checker')}"

    def entries(self, run: FinishedDat) -> Iterator[tuple[str, Entry]]:
        for table in iter_tables(run.folder, ("text", "score", "reason", "finish_reason")):
            for row in table.to_pylist():
                state = answer_state(row["text"], row["finish_reason"])
                states = {"states": [] if state == "whole" else [state]}
                yield "", Entry(row["text"], row["score"], row["reason"], states)

    def reader(self, run: FinishedDat) -> Iterator[ReaderItem]:
        yield ReaderItem(("", ""), "", "DAT", "", [entry for _, entry in islice(self.entries(run), self.sample)])


def _plane(
    study: Path | None, runs: Sequence[FinishedDat], words: Mapping[Path, float | None], size: int, number: int
) -> Scatter:
    """Mean against unique words in as many valid responses as the study's smallest row has."""
    points = {}
    for run in runs:
        row, count = run.summary, words[run.folder]
        if row.mean is not None and count is not None:
            points[run.folder] = Point(count, row.mean, *(row.ci95 or (None, None)))
    about = f"{study.name}, n = {size:,}" if study else f"n = {size:,}"
    encoder = runs[0].scale.get("embedding_model")
    return Scatter("words_chart", f"words{number}", "words_axis", "score_axis", points, about, size, encoder)


def _instrument(name: str) -> Callable[[FinishedDat], Cell]:
    return lambda run: cell(run.summary.instruments, name)


def _valid(run: FinishedDat) -> Cell:
    return count_cell(run.summary.valid, _rate(run.summary))


def _unique_words(run: FinishedDat) -> Cell:
    return count_cell(run.summary.unique_words)


def _figure(valid: str) -> str:
    """The paper's count of valid responses among its 131,072, as `valid` is shown."""
    return f"{int(valid):,} ({int(valid) / 131_072:.2%})"


def _rate(summary: DatSummary) -> str:
    return percent(summary.valid, summary.num_responses)


def summary_cells(summary: DatSummary) -> dict[str, str]:
    """The columns of a row by their headings.

    >>> summary_cells(DatSummary("random", 4, 3, 0.8, 0.1, (0.7, 0.9), 25, {}))["Valid"]
    '3 of 4 (75.00%)'
    """
    score = Measure("dat", summary.digits)
    return {
        "Source": summary.source,
        "Valid": f"{summary.valid:,} of {summary.num_responses:,} ({_rate(summary)})",
        "Mean": number(summary.mean, score),
        "Std": number(summary.std, score),
        "95% CI of mean": ends_text(summary.ci95, score) or DASH,
        "Unique words": f"{summary.unique_words:,}",
    }
