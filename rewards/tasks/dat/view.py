"""How DAT's results are shown: the row of Table 11, in the terminal, W&B, the model card and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rewards.measure import Measure
from rewards.page_parts import (
    DASH,
    Cell,
    Column,
    Entry,
    ModelTable,
    Point,
    ReaderItem,
    Ridge,
    Scatter,
    Section,
    mean_cell,
    number,
    percent,
)
from rewards.tasks.dat.finished import FinishedDat
from rewards.tasks.dat.summary import DatSummary
from rewards.tasks.dat.table11 import Table11Row, table11
from rewards.view import CardMetric, View, stored_numbers

_PAPER_RESPONSES = 131_072


class DatView(View[FinishedDat]):
    """A row of Table 11, and what is wrong with the invalid responses."""

    sample = 20

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        """The row, the share of odd nouns, and the reasons."""
        summary = DatSummary.from_json(metrics)
        cells, words = summary_cells(summary), 10 * summary.valid
        for heading, count in (
            ("Proper nouns", summary.proper_noun_words),
            ("Wikipedia words", summary.wikipedia_words),
        ):
            if count is not None:
                cells[heading] = f"{count:,} of {words:,} ({percent(count, words)})"
        for reason, count in summary.reasons.items():
            if count:
                cells[f"Invalid: {reason}"] = f"{count:,} ({percent(count, summary.num_responses)})"
        return cells

    def values(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, float | None]:
        """The numbers of the row."""
        names = ("mean", "std", "ci95", "valid", "num_responses", "valid_rate", "unique_words")
        return stored_numbers(metrics, *names)

    def card(
        self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> tuple[dict[str, str], list[CardMetric]]:
        """Score, valid rate and unique words."""
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

    def section(self, measures: Sequence[Measure], runs: Sequence[FinishedDat]) -> Section:
        """Table 11, the benchmark's trials (Table 6), and the unique words that a score was bought with."""
        score, valid = measures
        counted = {str(run.folder): run.settings["trials"] for run in runs if run.settings.get("trials")}
        table = table11({str(run.folder): run.folder for run in runs}, trials=counted)
        words = {row.summary.source: row.equal_size_words for row in table.rows}

        def equal_words(run: FinishedDat) -> Cell:
            expected = words[str(run.folder)]
            return Cell(DASH if expected is None else f"{expected:,.0f}", (f"n = {table.equal_size:,}",))

        columns = (
            Column("trials", cell=lambda run: Cell(f"{run.summary.num_responses:,}")),
            Column("valid", cell=_valid, change=valid, paper="valid", figure=_paper_valid),
            Column("mean", cell=_mean, change=score, paper="mean"),
            Column("std", cell=_std, paper="std"),
            Column("unique_words", cell=_unique_words, paper="unique_words", figure=lambda words: f"{int(words):,}"),
            Column("equal_words", cell=equal_words),
        )
        tables = (
            ModelTable("table11", columns, ("dat_note", "scale_note"), paper="dat", training="dat_training"),
            ModelTable("table6", _TRIALS, kind="trials"),
        )
        charts = (
            Ridge("dat_chart", "ridges", "score_axis", score),
            Scatter("words_chart", "words", "words_axis", "score_axis", [_point(row) for row in table.rows]),
        )
        return Section(tables, charts)

    def settings_shown(self, run: FinishedDat) -> list[tuple[str, Any]]:
        """Encoder and noun checker."""
        return [("dat_encoder", run.scale.get("embedding_model")), ("dat_checker", run.scale.get("noun_checker"))]

    def scale_text(self, run: FinishedDat) -> str:
        """Encoder and noun checker."""
        return f"encoder {run.scale.get('embedding_model')}, nouns by {run.scale.get('noun_checker')}"

    def reader(self, run: FinishedDat) -> Iterator[ReaderItem]:
        """The first responses."""
        answers = islice(run.answers(), self.sample)
        entries = [Entry(answer.text, answer.values.get(run.main.name), answer.reason) for answer in answers]
        yield ReaderItem(("", ""), "", "DAT", "", entries)


def _valid(run: FinishedDat) -> Cell:
    row = run.summary
    return Cell(f"{row.valid:,}", (percent(row.valid, row.num_responses),))


def _attempts(run: FinishedDat) -> Cell:
    row = run.summary
    return Cell(f"{row.num_responses:,}", (percent(row.valid, row.num_responses),))


def _mean(run: FinishedDat) -> Cell:
    return mean_cell(run.summary.mean, run.shown(run.main), run.summary.ci95)


def _std(run: FinishedDat) -> Cell:
    return Cell(number(run.summary.std, run.shown(run.main)))


def _unique_words(run: FinishedDat) -> Cell:
    return Cell(f"{run.summary.unique_words:,}")


def _paper_valid(valid: str) -> str:
    return f"{int(valid):,} ({int(valid) / _PAPER_RESPONSES:.2%})"


# The benchmark of a fixed number of valid responses.
_TRIALS = (
    Column("valid_trials", cell=lambda run: Cell(f"{run.summary.valid:,}")),
    Column("attempts", cell=_attempts),
    Column("mean", cell=_mean),
    Column("std", cell=_std),
)


def _point(row: Table11Row) -> Point | None:
    mean, words = row.summary.mean, row.equal_size_words
    low, high = row.summary.ci95 or (None, None)
    return None if mean is None or words is None else Point(words, mean, low, high)


def dat_number(value: float | None, *, scale: float = 1.0) -> str:
    """Four decimals for DAT scores, two for Olson's (0 to 200), a dash for none."""
    return DASH if value is None else f"{value:.{4 if scale <= 2 else 2}f}"


def summary_cells(summary: DatSummary) -> dict[str, str]:
    """The columns of a row by their headings.

    >>> summary_cells(DatSummary("random", 4, 3, 0.8, 0.1, (0.7, 0.9), 25, {}))["Valid"]
    '3 of 4 (75.00%)'
    """
    scale, ci = summary.mean or 0.0, summary.ci95
    low, high = (dat_number(end, scale=scale) for end in ci or (None, None))
    return {
        "Source": summary.source,
        "Valid": f"{summary.valid:,} of {summary.num_responses:,} ({percent(summary.valid, summary.num_responses)})",
        "Mean": dat_number(summary.mean, scale=scale),
        "Std": dat_number(summary.std, scale=scale),
        "95% CI of mean": DASH if ci is None else f"{low} – {high}",
        "Unique words": f"{summary.unique_words:,}",
    }
