"""What an evaluation found: the first screen, each task's tables and pictures, and answers to read."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.record import refuse_link, write_whole
from sozo.eval.evaluated import Evaluated
from sozo.eval.findings import findings, frame
from sozo.eval.report.answer import first_screen
from sozo.eval.report.contents import FIRST, OWN, folded, report_tables
from sozo.eval.report.exports import csv_of, write_tables
from sozo.eval.report.labels import task_title
from sozo.eval.report.pictures import pictures
from sozo.eval.report.reader import pack, reading_order, samples
from sozo.eval.report.render import render
from sozo.eval.report.svg import SERIES
from sozo.eval.report.tables import tasks_on_page
from sozo.scoring.second_encoder import SecondEncoder
from sozo.tasks import task_types

_GENERATOR = b'name="generator" content="sozo"'
MOST_BYTES = (
    6_500_000  # of answers: with tables and pictures a page has some 8 MB at most
)


def write_evaluation(
    path: Path,
    models: Sequence[Evaluated],
    *,
    base: str | None = None,
    title: str = "sozo",
    second_encoder: SecondEncoder | None = None,
    notes: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the page and, in a folder beside it, the numbers with all their digits: `findings.csv`, and each table.

    At most MOST_BYTES of answers are packed in it. `base` is the name of the model that the others are compared with
    (`compare_models`), `second_encoder` scores the answers too; `notes` stand on the first screen, in English and in
    Japanese.
    """
    refuse_foreign(path)
    tasks = reading_order(list(task_types().values()))
    found = findings(models, base, second_encoder)
    compared, made = found.compared, list(report_tables(found))
    packed = pack(compared.models, tasks, MOST_BYTES)
    writers = [model.name for model in compared.models if not model.reference]
    page = render(
        "evaluation.html",
        styles=("style.css", "evaluation.css"),
        scripts=("tables.js", "language.js", "reader.js"),
        bilingual=True,
        title=title,
        about=[f"{datetime.now(UTC):%Y-%m-%d}"],
        answer=first_screen(found),
        notes=notes,
        first_tables=[one.table for one in made if one.section == FIRST],
        folded=folded(made),
        by_task=[
            (
                task_title(page.task),
                [
                    one.table
                    for one in made
                    if (one.section, one.task) == (OWN, page.task.name)
                ],
                list(pictures(page)),
            )
            for page in tasks_on_page(found)
        ],
        packed=packed.text,
        sampled=samples(compared.models, tasks, packed),
        names=[
            (model.name, n % SERIES)
            for n, method in enumerate(compared.methods)
            for model in method.runs.values()
        ],
        ticked={base.first.name for base, _ in compared.pairs} | set(writers[-1:]),
        words=[word for task in tasks for word in task.view.words],
        # The page's script knows no task: the tabs of the reader are these, each with its scores' decimals.
        kinds=[task.name for task in tasks],
        digits=json.dumps({task.name: task.measures[0].digits for task in tasks}),
    )
    folder = path.with_name(f"{path.stem}-tables")
    write_tables(folder, [one.table for one in made])
    write_whole(folder / "findings.csv", csv_of(frame(found)))
    write_whole(path, page)  # last: when it is there, all is


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
