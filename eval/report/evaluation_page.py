"""What an evaluation found: the first screen, each task's tables and pictures, and answers to read."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import refuse_link, write_whole
from sozo.eval.compare import Compared
from sozo.eval.evaluated import Evaluated
from sozo.eval.findings import findings, frame
from sozo.eval.report.answer import first_screen
from sozo.eval.report.contents import FIRST, OWN, folded, report_tables
from sozo.eval.report.exports import csv_of, write_tables
from sozo.eval.report.labels import task_title
from sozo.eval.report.pictures import pictures, training_curves
from sozo.eval.report.reader import chunks, reading_order, samples, span
from sozo.eval.report.render import render
from sozo.eval.report.svg import SERIES
from sozo.eval.report.tables import TaskOnPage, tasks_on_page
from sozo.scoring.second_encoder import SecondEncoder
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types
from sozo.tasks.task import Task

_GENERATOR = b'name="generator" content="sozo"'
MOST_BYTES = 6_500_000  # of the answers in one page: with tables and pictures it is some 8 MB at most


def write_evaluation(
    path: Path,
    models: Sequence[Evaluated],
    *,
    base: str | None = None,
    title: str = "sozo",
    most_bytes: int = MOST_BYTES,
    second_encoder: SecondEncoder | None = None,
    notes: Sequence[tuple[str, str]] = (),
    another_seed: str = "",
) -> list[Path]:
    """Write the page and, in a folder beside it, the numbers with all their digits: `findings.csv`, and each table.

    Answers too many for one page go into `report-2.html` and so on, `most_bytes` of them packed in each. `base` is the
    name of the model that the others are compared with (`compare_models`), `second_encoder` scores the answers too;
    `notes` stand on the first screen, in English and in Japanese; for
    `another_seed` see `first_screen`. Returns the pages, `path` first.
    """
    refuse_foreign(path)
    tasks, found = (
        list(task_types().values()),
        findings(models, base, second_encoder),
    )
    compared, shown, answer = (
        found.compared,
        tasks_on_page(found),
        first_screen(found, another_seed),
    )
    packed = chunks(compared.models, tasks, most_bytes) or [""]
    pages = [
        path,
        *(
            path.with_name(f"{path.stem}-{n}{path.suffix}")
            for n in range(2, len(packed) + 1)
        ),
    ]
    shared = _shared(compared, tasks) | {
        "title": title,
        "pages": [page.name for page in pages],
    }
    made = report_tables(found)
    sections = [
        (
            task_title(page.task),
            [
                one.table
                for one in made
                if (one.listed.section, one.task) == (OWN, page.task.name)
            ],
            list(pictures(page)),
        )
        for page in shown
    ]
    if learned := list(training_curves(compared.models)):
        sections.append((translatable("curves"), [], learned))
    # The first task's picture of scores against different words stands on the first screen.
    own = sections[0][2] if sections else []
    first_figures = [
        own.pop(k) for k in [k for k, figure in enumerate(own) if figure.spots][:1]
    ]
    first: dict[str, Any] = {
        "notes": notes,
        "answer": answer,
        "first_figures": first_figures,
        "about": _about(shown),
        "first_tables": [one.table for one in made if one.listed.section == FIRST],
        "by_task": sections,
    }
    folder = path.with_name(f"{path.stem}-tables")
    write_tables(folder, [one.table for one in made])
    write_whole(folder / "findings.csv", csv_of(frame(found)))
    # The first page last: when it is there, all are.
    for number in reversed(range(len(pages))):
        values = first if number == 0 else dict.fromkeys(first, ())
        page = render(
            "evaluation.html",
            **shared,
            **values,
            folded=folded(made if number == 0 else ()),
            number=number + 1,
            packed=packed[number],
        )
        write_whole(pages[number], page)
    return pages


def _shared(compared: Compared, tasks: Sequence[type[Task]]) -> dict[str, Any]:
    """What every page of a report needs."""
    writers = [model.name for model in compared.models if not model.reference]
    return {
        "styles": ("style.css", "evaluation.css"),
        "scripts": ("tables.js", "language.js", "reader.js"),
        "bilingual": True,
        "names": [
            (model.name, n % SERIES)
            for n, method in enumerate(compared.methods)
            for model in method.runs.values()
        ],
        "ticked": {base.first.name for base, _ in compared.pairs} | set(writers[-1:]),
        "sampled": samples(compared.models, tasks),
        "words": [word for task in tasks for word in task.view.words],
        # The page's script knows no task: the tabs of the reader are these, each with its scores' decimals.
        "kinds": [task.name for task in reading_order(tasks)],
        "digits": json.dumps(
            {task.name: task.measures[0].digits for task in reading_order(tasks)}
        ),
    }


def _about(pages: Sequence[TaskOnPage]) -> list[str]:
    """The date, and how many answers a run has: of a task with as many in each, one number."""
    said_of = [f"{datetime.now(UTC):%Y-%m-%d}"]
    for page in pages:
        n = span(run.metrics["num_answers"] for run in page.runs)
        said_of.append(
            translatable("{task}: {n} answers each", task=task_title(page.task), n=n)
        )
    return said_of


def refuse_foreign(page: Path) -> None:
    """UserError where a page, or what is written beside it, would take the place of what is none of ours."""
    refuse_link(page)
    if page.is_file() and _GENERATOR in page.read_bytes()[:1000]:
        return
    for path in (
        page,
        page.with_name(f"{page.stem}-tables"),
    ):
        if os.path.lexists(path):
            raise UserError(
                f"{path}: exists and is no page of sozo's; give another --output"
            )
