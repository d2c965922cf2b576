"""How a row of Table 11 looks to a reader: the same words and digits in the terminal and in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.dat import DatSummary

if TYPE_CHECKING:
    from rich.table import Table

    from eval.commands import DatRun
    from eval.correlate.run import CorrelateRun


def number(value: float | None, *, scale: float = 1.0) -> str:
    """Four decimals for DAT scores, two for Olson's (0 to 200), a dash for none."""
    return "–" if value is None else f"{value:.{4 if scale <= 2 else 2}f}"


def percent(part: int, whole: int) -> str:
    """`part` of `whole` in percent, a dash of nothing."""
    return f"{part / whole:.2%}" if whole else "–"


def summary_cells(summary: DatSummary) -> dict[str, str]:
    """The columns of a row by their headings.

    >>> summary_cells(DatSummary("random", 4, 3, 0.8, 0.1, (0.7, 0.9), 25, {}))["Valid"]
    '3 of 4 (75.00%)'
    """
    scale = summary.mean or 0.0
    ci = summary.ci95
    return {
        "Source": summary.source,
        "Valid": f"{summary.valid:,} of {summary.num_responses:,} ({percent(summary.valid, summary.num_responses)})",
        "Mean": number(summary.mean, scale=scale),
        "Std": number(summary.std, scale=scale),
        "95% CI of mean": "–" if ci is None else f"{number(ci[0], scale=scale)} – {number(ci[1], scale=scale)}",
        "Unique words": f"{summary.unique_words:,}",
    }


def summary_table(summary: DatSummary) -> Table:
    """The row and what is wrong with the invalid responses, for a terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title="DAT", title_justify="left", box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", overflow="fold")
    for heading, cell in summary_cells(summary).items():
        table.add_row(heading, Text(cell))
    words = 10 * summary.valid
    for heading, count in (("Proper nouns", summary.proper_noun_words), ("Wikipedia words", summary.wikipedia_words)):
        if count is not None:
            table.add_row(heading, f"{count:,} of {words:,} ({percent(count, words)})")
    for reason, count in summary.reasons.items():
        if count:
            table.add_row(f"Invalid: {reason}", f"{count:,} ({percent(count, summary.num_responses)})")
    return table


def print_run(run: DatRun) -> None:
    """The row of a finished run on standard output, and where its files are."""
    from rich.console import Console

    console = Console(soft_wrap=True)
    if run.finished_before:
        console.print(f"{run.folder}: finished before; nothing was computed again", markup=False, highlight=False)
    console.print(summary_table(run.summary))
    for name in ("config.json", "metrics.json", "responses"):
        console.print(str(run.folder / name), markup=False, highlight=False)


def print_page(run: CorrelateRun) -> None:
    """The page of a finished comparison on standard output, and where its files are."""
    from rich.console import Console

    console = Console(soft_wrap=True)
    if run.finished_before:
        console.print(f"{run.folder}: finished before; nothing was computed again", markup=False, highlight=False)
    console.print(run.page, markup=False, highlight=False)
    for name in ("config.json", "metrics.json", "correlate.json", "correlate.md"):
        console.print(str(run.folder / name), markup=False, highlight=False)
