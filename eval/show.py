"""How a row of Table 11 looks to a reader: the same words and digits in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewards.tasks.dat.summary import DatSummary

if TYPE_CHECKING:
    from rewards.tasks.jcq.run import JcqRun
    from rewards.tasks.sat.run import SatRun
    from rich.table import Table

    from eval.commands import DatRun
    from eval.page import PageRun


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


def print_finished(run: DatRun | JcqRun | SatRun) -> None:
    """The row of a finished run of any kind."""
    show: dict[str, Callable[[Any], None]] = {"DatRun": print_run, "JcqRun": print_jcq, "SatRun": print_sat}
    show[type(run).__name__](run)


def print_lines(lines: Iterable[str]) -> None:
    """Lines for people, as they are."""
    from rich.console import Console

    for line in lines:
        Console(soft_wrap=True).print(line, markup=False, highlight=False)


def print_run(run: DatRun) -> None:
    """The row of a finished run on standard output, and where its files are."""
    from rich.console import Console

    console = Console(soft_wrap=True)
    if run.finished_before:
        console.print(f"{run.folder}: finished before; nothing was computed again", markup=False, highlight=False)
    console.print(summary_table(run.summary))
    for name in ("config.json", "metrics.json", "responses"):
        console.print(str(run.folder / name), markup=False, highlight=False)


def print_jcq(run: JcqRun) -> None:
    """The row of a JCQ run, every mean with its interval and its n of N, and what is not scored."""
    row = run.metrics
    asked = sum(row["statuses"].values())
    cells = {
        "Source": row["source"],
        "Judge": f"{row['judge']}, {row['prompt']}",
        "Questions": f"{row['num_questions']:,}",
    }
    cells |= {f"Answers: {status}": f"{count:,} of {asked:,}" for status, count in row["statuses"].items() if count}
    for name, mean in row["means"].items():
        interval = "" if mean["low"] is None else f" ({mean['low']:.2f} – {mean['high']:.2f})"
        value = "–" if mean["mean"] is None else f"{mean['mean']:.2f}{interval}"
        cells[name.capitalize()] = f"{value}, {mean['n']:,} of {row['num_questions']:,} questions"
    for task, cell in zip(row["by_task"]["columns"][:-1], row["by_task"]["cells"][0], strict=False):
        if cell["asked"]:
            mean = "–" if cell["mean"] is None else f"{cell['mean']:.2f}"
            cells[f"  {task}"] = f"{mean}, {cell['scored']:,} of {cell['asked']:,}"
    counted = row["prompt_tokens"] or row["completion_tokens"]
    tokens = f"{row['prompt_tokens']:,} in, {row['completion_tokens']:,} out" if counted else "not counted"
    unknown = (
        f", cost of {row['unknown_cost']:,} replies unknown" if row["unknown_cost"] else f", cost {row['cost']:.4f}"
    )
    cells["Judge's tokens"] = tokens + unknown
    _print_cells("JCQ", cells, run.folder, ("config.json", "judgements.jsonl", "responses"), run.finished_before)
    if run.stopped:
        from rich.console import Console

        Console(soft_wrap=True).print(f"not finished: {run.stopped}", markup=False, highlight=False)


def print_sat(run: SatRun) -> None:
    """The row of a SAT run, and how far the prompt's conditions were kept."""
    row = run.summary
    rewrites = row.num_rewrites
    cells = {
        "Source": row.source,
        "Mean": f"{number(row.mean)}, {row.scored_stories:,} of {row.num_stories:,} stories",
        "Std": number(row.std),
        "95% CI of mean": "–" if row.ci95 is None else f"{number(row.ci95[0])} – {number(row.ci95[1])}",
        "Keep every condition": f"{row.compliant:,} of {rewrites:,} ({percent(row.compliant, rewrites)})",
        "Mean of these": f"{number(row.compliant_mean)}, {row.compliant_stories:,} of {row.num_stories:,} stories",
        "  about 400 characters": f"{row.length_ok:,} of {rewrites:,}",
        "  one line": f"{row.one_line:,} of {rewrites:,}",
        "  nothing but the story": f"{row.only_story:,} of {rewrites:,}",
        "  cut off": f"{row.truncated:,} of {rewrites:,}",
        "Mean length": "–" if row.mean_length is None else f"{row.mean_length:.0f} characters",
        "Copied from the story": "–" if row.mean_copied is None else f"{row.mean_copied:.1%} of its 8-grams",
    }
    cells |= {f"No score: {reason}": f"{count:,} of {rewrites:,}" for reason, count in row.reasons.items() if count}
    _print_cells("SAT", cells, run.folder, ("config.json", "metrics.json", "rewrites.jsonl"), run.finished_before)


def _print_cells(title: str, cells: dict[str, str], folder: Path, files: Sequence[str], finished_before: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(soft_wrap=True)
    if finished_before:
        console.print(f"{folder}: finished before; nothing was computed again", markup=False, highlight=False)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", overflow="fold")
    for heading, cell in cells.items():
        table.add_row(heading, Text(cell))
    console.print(table)
    for name in files:
        console.print(str(folder / name), markup=False, highlight=False)


def print_pages(pages: Sequence[Path]) -> None:
    """Where a report's pages are."""
    from rich.console import Console

    console = Console(soft_wrap=True)
    for page in pages:
        console.print(f"{page} ({page.stat().st_size / 1e6:.1f} MB)", markup=False, highlight=False)


def print_page(run: PageRun) -> None:
    """The page of a finished comparison on standard output, and where its files are."""
    from rich.console import Console

    console = Console(soft_wrap=True)
    if run.finished_before:
        console.print(f"{run.folder}: finished before; nothing was computed again", markup=False, highlight=False)
    console.print(run.page, markup=False, highlight=False, emoji=False)
    for name in run.files:
        console.print(str(run.folder / name), markup=False, highlight=False)
    if run.stopped:
        console.print(f"not finished: {run.stopped}", markup=False, highlight=False)
