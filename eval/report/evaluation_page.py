"""What an evaluation found: tables beside the paper's, what changed, pictures, and every answer to read."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import refuse_link, write_json, write_whole
from sozo.eval.compare import Compared, compare_models
from sozo.eval.evaluated import Evaluated
from sozo.eval.guarded import Guarded, guard_gains
from sozo.eval.outcome import Outcome, outcomes, verdict
from sozo.eval.report.answer import answer, clause, few
from sozo.eval.report.exports import write_tables
from sozo.eval.report.facts import facts
from sozo.eval.report.guard import guard_tables
from sozo.eval.report.lead import lead
from sozo.eval.report.pictures import Figure, plane, ridge
from sozo.eval.report.published import published_outcomes, published_values
from sozo.eval.report.reader import chunks, reading_order
from sozo.eval.report.render import render
from sozo.eval.report.svg import SERIES
from sozo.eval.report.tables import between_tables, change_tables, on_one_scale, overview, section_tables, without_empty
from sozo.scoring.guard import Guard
from sozo.scoring.table import Table
from sozo.tasks import task_types
from sozo.tasks.task import Task
from sozo.tasks.view import Ridge

_GENERATOR = b'name="generator" content="sozo"'
MOST_BYTES = 6_500_000  # of the answers in one page: with tables and pictures it stays below 8 MB


def write_evaluation(
    path: Path,
    models: Sequence[Evaluated],
    *,
    base: str | None = None,
    title: str = "sozo",
    most_bytes: int = MOST_BYTES,
    guard: Guard | None = None,
    with_published: bool = False,
    columns: Sequence[str] = (),
) -> list[Path]:
    """Write the page and, beside it, `report.json`, the numbers with all their digits, and the tables (`write_tables`).

    Answers too many for one page go into `report-2.html` and so on, `most_bytes` of them packed in each. `base` is the
    name of the model that the others are compared with (`compare_models`), `guard` a second encoder that scores
    the answers too; `with_published` makes the paper's models rows of tables and pictures; `columns` are those of the
    tables in LaTeX. Returns the pages, `path` first.
    """
    refuse_foreign(path)
    tasks = list(task_types().values())
    compared = compare_models(models, base)
    methods, models = compared.methods, compared.models
    contestants = [method for method in methods if method.name in (compared.against or {method.name})]
    packed = chunks(models, tasks, most_bytes) or [""]
    pages = [path, *(path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, len(packed) + 1))]
    shared: dict[str, Any] = {
        "styles": ("style.css", "evaluation.css", "lead.css"),
        "scripts": ("tables.js", "reader.js"),
        "bilingual": True,
        "columns": columns,
        "title": title,
        "today": f"{datetime.now(UTC):%Y-%m-%d}",
        "names": [(model.name, n % SERIES) for n, method in enumerate(methods) for model in method.runs.values()],
        "ticked": {method.first.name for method in methods if method.name not in compared.against} | {models[-1].name},
        "question": "answer_question" if compared.trained else "answer_differ",
        "once": any(not method.several and method.first.trained for method in contestants),
        "seeded": [method.name for method in methods if method.several],
        "pages": [page.name for page in pages],
        "words": [word for task in tasks for word in task.view.words],
        # The page's script knows no task: the tabs of the reader are these, each with its scores' decimals.
        "kinds": [task.name for task in reading_order(tasks)],
        "digits": json.dumps({task.name: task.measures[0].digits for task in reading_order(tasks)}),
    }
    gains = guard_gains(compared, guard) if guard else []
    found = outcomes(compared, gains)
    first = _sections(compared, tasks, found, with_published)
    changed = [*change_tables(compared), *between_tables(compared)]
    changed = [*map(without_empty, changed), *guard_tables(gains, compared)]
    first |= {"changed": changed, "facts": facts(models, tasks)}
    write_tables(path.with_name(f"{path.stem}-tables"), [*first["tables"], *changed], columns)
    # The first page last: when it is there, all are.
    for number in reversed(range(len(pages))):
        values = first if number == 0 else dict.fromkeys(first, ())
        page = render("evaluation.html", **shared, **values, number=number + 1, packed=packed[number])
        write_whole(pages[number], page)
    write_json(path.with_suffix(".json"), _numbers(compared, tasks, gains, found))
    return pages


def refuse_foreign(page: Path) -> None:
    """UserError where a page, or what is written beside it, would take the place of what is none of ours."""
    refuse_link(page)
    if page.is_file() and _GENERATOR in page.read_bytes()[:1000]:
        return
    for path in (page, page.with_suffix(".json"), page.with_name(f"{page.stem}-tables")):
        if os.path.lexists(path):
            raise UserError(f"{path}: exists and is no page of sozo's; give another --output")


def _numbers(
    compared: Compared, tasks: Sequence[type[Task]], gains: Sequence[Guarded], found: Sequence[Outcome]
) -> dict[str, Any]:
    """The content of `report.json`: what came out of every run, what changed, and who is ahead; gains by a guard."""
    runs = []
    for model in compared.models:
        for run in (run for task in tasks for run in model.of_task(task.name)):
            runs.append({"model": model.name, "run": run.kind, "folder": str(run.folder), "metrics": run.metrics})
    over_seeds = [asdict(change) for change in compared.changes.values() if change.seeds]
    numbers: dict[str, Any] = {"runs": runs, "changes": list(map(asdict, compared.each.values()))}
    if over_seeds:
        numbers["over_seeds"] = over_seeds
    numbers["outcomes"] = [asdict(one) | {"kind": one.kind} for one in found]
    of_model = {one.model: [other for other in found if other.model == one.model] for one in found}
    numbers["verdicts"] = {model: verdict(own) for model, own in of_model.items()}
    if gains:
        numbers["gains"] = [asdict(gain) for gain in gains]
    return numbers


def _sections(
    compared: Compared, tasks: Sequence[type[Task]], found: Sequence[Outcome], with_published: bool
) -> dict[str, Any]:
    """The answer over all tasks; of each its sentence and pictures; what its view declares, after an overview."""
    leads, every_gain = [], dict[str, list[float]]()
    of_paper: list[Outcome] = []
    tables: list[Table] = []
    charts: list[Figure] = []
    means: dict[str, dict[str, float]] = {}  # of the paper's models
    for task in tasks:
        runs = [run for method in compared.methods for run in method.of_task(task.name)]
        if not runs:
            continue
        declared, pictures = task.view.section(task.measures, runs)
        theirs = published_values(declared, task.measures[0])
        trained = list(published_outcomes(task, theirs))
        gains = [d for one in trained if (d := one.change.difference or 0.0) > 0] if compared.trained else []
        every_gain[task.name] = gains
        if with_published:
            means[task.name] = {model.name: mean for model, mean in theirs}
            of_paper += trained
        shown = section_tables(task, compared, declared, with_published=with_published)
        tables += map(without_empty, on_one_scale(shown))
        planes: list[Figure] = []
        for picture in pictures:
            if isinstance(picture, Ridge):
                charts += filter(None, [ridge(picture, task, compared.methods)])
            else:
                planes += filter(None, [plane(picture, task, compared.methods)])
        leads.append((lead(task, compared, found, gains), planes))
    tables.insert(0, without_empty(overview(compared, tasks, means)))
    over_answers = [one.change.n for one in found if one.change.low is not None and not one.change.seeds]
    answers = {
        "answer": answer(found, every_gain),
        "few": few(over_answers),
        "papers": [(one.model, clause(one)) for one in of_paper],
    }
    return {**answers, "leads": leads, "tables": tables, "charts": charts}
