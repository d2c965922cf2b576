"""The tables of a report, each declared once: page, files and terminal are loops over `REPORT`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sozo.eval.findings import Findings
from sozo.eval.report.answer import overview
from sozo.eval.report.differences import difference_tables, gain_tables
from sozo.eval.report.tables import TaskOnPage, tasks_on_page
from sozo.scoring.table import Table

# Where a table stands on the page: on the first screen, in the section of its task, or below a label, folded.
FIRST, OWN = "first", "own"
READER = "reader"  # the folded section that has answers, and no tables
Make = Callable[[Findings], Iterable[tuple[str, Table]]]


@dataclass(frozen=True, slots=True)
class Listed:
    """A kind of table: what makes it, and where it is shown beside its CSV file."""

    make: Make  # the tables, each behind the name of its task, which is empty for one of all tasks
    section: str  # of the page
    terminal: bool = False  # whether `sozo compare` prints it


@dataclass(frozen=True, slots=True)
class Made:
    """A table, what it is listed as, and its task."""

    listed: Listed
    task: str
    table: Table


def of_all(make: Callable[[Findings], Table]) -> Make:
    """One table of the whole report."""
    return lambda found: [("", make(found))]


def by_task(make: Callable[[TaskOnPage], Iterable[Table]]) -> Make:
    """Tables of each task that has runs."""

    def tables(found: Findings) -> Iterator[tuple[str, Table]]:
        for page in tasks_on_page(found):
            for table in make(page):
                yield page.task.name, table

    return tables


# In the order of the page.
REPORT = (
    Listed(of_all(overview), FIRST, terminal=True),
    Listed(by_task(lambda page: [page.every_column()]), "all_columns"),
    Listed(by_task(difference_tables), "all_differences", terminal=True),
    Listed(by_task(gain_tables), "all_differences", terminal=True),
    Listed(by_task(TaskOnPage.between), "all_differences", terminal=True),
    Listed(by_task(TaskOnPage.failures), "failures"),
    Listed(lambda _: (), READER),
    Listed(by_task(TaskOnPage.own_tables), OWN),
)


def report_tables(found: Findings) -> list[Made]:
    """All tables of a report, in their order."""
    return _made(found, REPORT)


def printed_tables(found: Findings, *, first: bool) -> list[Table]:
    """Those that the terminal has: of the first screen, or below it."""
    kinds = [kind for kind in REPORT if kind.terminal]
    kinds = [kind for kind in kinds if (kind.section == FIRST) == first]
    return [one.table for one in _made(found, kinds)]


def folded(made: Iterable[Made]) -> dict[str, list[Table]]:
    """Label -> tables, of all folded sections of the page, the reader among them."""
    names = dict.fromkeys(kind.section for kind in REPORT)
    sections: dict[str, list[Table]] = {
        name: [] for name in names if name not in (FIRST, OWN)
    }
    for one in made:
        if one.listed.section in sections:
            sections[one.listed.section].append(one.table)
    return sections


def _made(found: Findings, kinds: Iterable[Listed]) -> list[Made]:
    made = []
    for kind in kinds:
        for task, table in kind.make(found):
            made.append(Made(kind, task, table))
    return made
