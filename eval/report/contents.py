"""The tables of a report: page, files and terminal are loops over one list of section and maker."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sozo.eval.findings import Findings
from sozo.eval.report.answer import overview
from sozo.eval.report.tables import TaskOnPage, tasks_on_page
from sozo.scoring.table import Table

# Where a table stands on the page: on the first screen, in the section of its task, or below a label, folded.
FIRST, OWN = "first", "own"
READER = "reader"  # the folded section that has answers, and no tables
DIFFERENCES = "all_differences"  # what `sozo compare` prints below the first screen
Make = Callable[[TaskOnPage], Iterable[Table]]
# Behind the first screen, in the order of the page: what makes tables of a task that has runs, and where they stand.
REPORT: tuple[tuple[str, Make], ...] = (
    ("all_columns", TaskOnPage.every_column),
    (DIFFERENCES, TaskOnPage.differences),
    (DIFFERENCES, TaskOnPage.between),
    (READER, lambda _: ()),
    (OWN, TaskOnPage.own_tables),
)


@dataclass(frozen=True, slots=True)
class Made:
    """A table, where it stands, and its task; that of all tasks has none."""

    section: str
    task: str
    table: Table


def report_tables(found: Findings) -> Iterator[Made]:
    """All tables of a report, in their order."""
    yield Made(FIRST, "", overview(found))
    for section, make in REPORT:
        for page in tasks_on_page(found):
            for table in make(page):
                yield Made(section, page.task.name, table)


def printed_tables(found: Findings, *, first: bool) -> list[Table]:
    """Those that the terminal has: of the first screen, or below it."""
    section = FIRST if first else DIFFERENCES
    return [one.table for one in report_tables(found) if one.section == section]


def folded(made: Iterable[Made]) -> dict[str, list[Table]]:
    """Label -> tables, of all folded sections of the page, the reader among them."""
    sections: dict[str, list[Table]] = {name: [] for name, _ in REPORT if name != OWN}
    for one in made:
        if one.section in sections:
            sections[one.section].append(one.table)
    return sections
