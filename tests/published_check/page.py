"""The page `docs/published-check.md`: `PYTHONPATH=tests python -m published_check.page` writes it again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from published_check import pbig, sipen
from published_check.derived import (
    DETERMINED_WIDTH,
    TOLERANCE,
    Derived,
    Significance,
    Verdict,
)
from published_check.published import Published, derive_published
from sozo.data.markdown import table

PAGE = Path(__file__).parents[2] / "docs" / "published-check.md"
_HEADINGS = (
    "Table",
    "Cell",
    "Printed",
    "Recomputed",
    "Difference",
    "Rounding allows",
    "Verdict",
)
_KINDS = {
    "mean": "Means",
    "correlation": "Correlations",
    "p": "P-value of DAT and SAT",
    "significance": "Marks of p < 0.05",
}
_ABOUT = f"""\
This page is for whoever quotes the papers' numbers. It recomputes what the papers derived from their own tables, from
the printed digits, and says what does not come out.

ACL is *Building Japanese Creativity
Benchmarks and Applying them to Enhance LLM Creativity*; NLP 2025 is its earlier form, whose tables 3, 4, 5, 8 and 10
hold the same numbers as ACL tables 4, 3, 5, 8 and 10 and are not counted twice.

Every printed number may be off by half a unit of its last digit. *Rounding allows* is what the recomputed value can be
when each input moves within that by itself: exact for means; for correlations all corners are tried and the best are
improved by L-BFGS-B, so every value in the range was attained. A correlation is *determined* if its range is narrower
than {DETERMINED_WIDTH:g}. Verdicts: *agrees*, within {TOLERANCE:g} of the printed value; *within rounding*, further
off, but some inputs that print the same give it; *differs*, none do; *not printed*, the papers give no such value.
"""


def to_markdown(published: Published) -> str:
    """The page: counts, correlations, means, marks of significance, and what cannot be recomputed and why."""
    correlations = [
        row
        for row in published.derived
        if row.kind != "mean" and row.recomputed is not None
    ]
    means = [row for row in published.derived if row.kind == "mean"]
    parts = [
        "# The papers' derived numbers, recomputed\n",
        _ABOUT,
        _summary(published),
        "## Correlations\n",
        "Over 5 models, but for those of ACL 23 and 24 (11): the 95% intervals are wide.\n",
        table(
            [*_HEADINGS, "95% interval"],
            [[*_cells(row), _interval(row)] for row in correlations],
        ),
        "## Means\n",
        table(_HEADINGS, [_cells(row) for row in means]),
        "## Marks of significance\n",
        *_marks(published.significances),
        "## What cannot be recomputed\n",
        *_missing(published.derived),
        sipen.to_markdown(),
        pbig.to_markdown(),
    ]
    return "\n".join(parts)


def _summary(published: Published) -> str:
    """How many numbers came to each verdict, and the targets: a few lines."""
    lines = []
    for kind, counts in published.counts().items():
        said = ", ".join(
            f"{verdict} {count}" for verdict, count in counts.items() if count
        )
        lines.append(f"- {_KINDS[kind]}: {said}.")
    compared = [
        row
        for row in published.derived
        if row.kind == "correlation" and row.difference is not None
    ]
    determined = [row for row in compared if row.determined]
    close = sum(row.verdict is Verdict.AGREES for row in determined)
    furthest = max(compared, key=lambda row: abs(row.difference or 0.0))
    attainable = [
        row.attainable for row in published.derived if row.attainable is not None
    ]
    determines = f"- Rounding determines {len(determined)} of {len(compared)} compared correlations"
    lines += [
        f"{determines}; {close} of these are within {TOLERANCE:g} of the printed value.",
        f"- Furthest from the printed value: {furthest.difference:+.4f} ({furthest.table}: {furthest.cell}).",
        f"- Rounding alone can explain {sum(attainable)} of {len(attainable)} differences.",
    ]
    return "\n".join(lines) + "\n"


def _cells(row: Derived) -> list[str]:
    return [
        row.table,
        f"{row.cell} (from {row.source})",
        "–" if row.printed is None else _figure(row.printed.value),
        f"{row.recomputed:.4f}",
        "–"
        if row.difference is None
        else f"{round(row.difference, 4) + 0.0:+.4f}",  # adding 0.0 makes -0.0 a 0.0
        "–"
        if row.low is None or row.high is None
        else f"{row.low:.4f} to {row.high:.4f}",
        str(row.verdict),
    ]


def _figure(value: float) -> str:
    """As printed: two decimals for JCQ's scores, three for the rest."""
    return (
        f"{value:.2f}"
        if math.isclose(value, round(value, 2)) and value > 1
        else f"{value:.3f}"
    )


def _interval(row: Derived) -> str:
    return "–" if row.ci95 is None else f"{row.ci95[0]:.2f} to {row.ci95[1]:.2f}"


def _marks(significances: Sequence[Significance]) -> Iterable[str]:
    tables = dict.fromkeys(row.table for row in significances)
    yield f"Marked or not with p < 0.05 in {', '.join(tables)}; p here is of the printed correlation.\n"
    odd = [row for row in significances if row.verdict is not Verdict.AGREES]
    yield f"{len(significances) - len(odd)} of {len(significances)} marks agree with it.\n"
    if odd:
        headings = ("Table", "Cell", "Pearson", "n", "p", "Marked", "Verdict")
        yield table(headings, [_mark(row) for row in odd])


def _mark(row: Significance) -> list[str]:
    marked = "p < 0.05" if row.marked else "no"
    return [
        row.table,
        row.cell,
        f"{row.printed.value:.3f}",
        str(row.n),
        f"{row.p:.4f}",
        marked,
        str(row.verdict),
    ]


def _missing(derived: Sequence[Derived]) -> Iterable[str]:
    groups: dict[tuple[str, str], list[Derived]] = {}
    for row in derived:
        if row.verdict is Verdict.CANNOT:
            groups.setdefault((row.table, row.source), []).append(row)
    for (name, source), rows in groups.items():
        yield f"- {name}, {len(rows)} values: {source}."
        said = Counter(row.why for row in rows if row.why)
        yield from (f"  {count} of them: {why}." for why, count in said.items())
    yield ""


if __name__ == "__main__":
    PAGE.write_text(to_markdown(derive_published()), "utf-8")
