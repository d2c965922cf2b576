"""Rows of what the papers derived: `PYTHONPATH=tests python -m published_check.recomputed` writes recomputed.csv again."""

from __future__ import annotations

import csv
from pathlib import Path

from published_check.published import Published, derive_published

FILE = Path(__file__).with_suffix(".csv")
HEADINGS = (
    *("table", "cell", "source", "printed", "recomputed", "low", "high"),
    *("ci95_low", "ci95_high", "note", "verdict"),
)


def rows(published: Published) -> list[list[str]]:
    """The number as printed, from the digits, and the range that the rounding of the inputs allows; empty where there is none."""
    return [
        [
            *(row.table, row.cell, row.source),
            "" if row.printed is None else f"{row.printed.value:g}",
            *map(
                _figure,
                (row.recomputed, row.low, row.high, *(row.ci95 or (None, None))),
            ),
            row.why or "",
            str(row.verdict),
        ]
        for row in published.derived
    ]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{round(value, 4) + 0.0:.4f}"


if __name__ == "__main__":
    with FILE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [HEADINGS, *rows(derive_published())]
        )
