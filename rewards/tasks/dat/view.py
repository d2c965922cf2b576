"""How DAT's results are shown: the row of Table 11, in the terminal, W&B and the model card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewards.measure import Measure
from rewards.tasks.dat.summary import DatSummary
from rewards.view import DASH, CardMetric, View, percent


class DatView(View):
    """A row of Table 11, and what is wrong with the invalid responses."""

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
        row = DatSummary.from_json(metrics)
        low, high = row.ci95 or (None, None)
        return {
            "mean": row.mean,
            "std": row.std,
            "ci95_low": low,
            "ci95_high": high,
            "valid": row.valid,
            "num_responses": row.num_responses,
            "valid_rate": row.valid_rate,
            "unique_words": row.unique_words,
        }

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
