"""What an evaluation found: tables beside the paper's, what changed, pictures, and every answer to read."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.data.record import write_json, write_whole
from sozo.eval.compare import Compared, compare_models
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.exports import write_tables
from sozo.eval.report.facts import facts
from sozo.eval.report.guard import Guarded, guard_gains, guard_tables
from sozo.eval.report.lead import lead
from sozo.eval.report.pictures import Figure, plane, radars, ridge
from sozo.eval.report.published import published_values
from sozo.eval.report.reader import chunks, reading_order
from sozo.eval.report.render import render
from sozo.eval.report.svg import SERIES
from sozo.eval.report.tables import change_tables, on_one_scale, overview, section_tables, without_empty
from sozo.scoring.guard import Guard
from sozo.scoring.table import Table
from sozo.tasks import task_types
from sozo.tasks.task import Task
from sozo.tasks.view import Radar, Ridge

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
) -> list[Path]:
    """Write the page and, beside it, `report.json`, the numbers with all their digits, and the tables (`write_tables`).

    Answers too many for one page go into `report-2.html` and so on, `most_bytes` of them packed in each. `base` is the
    name of the model that the others are compared with (`compare_models`), `guard` a second encoder that scores
    the answers too; `with_published` makes the paper's models rows of tables and pictures. Returns the pages, `path`
    first.
    """
    tasks = list(task_types().values())
    compared = compare_models(models, base)
    methods, models, trained = compared.methods, compared.models, compared.against or compared.methods
    packed = chunks(models, tasks, most_bytes) or [""]
    pages = [path, *(path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, len(packed) + 1))]
    shared: dict[str, Any] = {
        "styles": ("style.css", "evaluation.css", "lead.css"),
        "scripts": ("tables.js", "reader.js"),
        "bilingual": True,
        "title": title,
        "names": [(model.name, n % SERIES) for n, method in enumerate(methods) for model in method.runs.values()],
        "ticked": {method.first.name for method in methods if method.name not in compared.against} | {models[-1].name},
        "once": any(not method.several for method in methods if method.name in trained),
        "seeded": [method.name for method in methods if method.several],
        "pages": [page.name for page in pages],
        "words": [word for task in tasks for word in task.view.words],
        # The page's script knows no task: the tabs of the reader are these, each with its scores' decimals.
        "kinds": [task.name for task in reading_order(tasks)],
        "digits": json.dumps({task.name: task.measures[0].digits for task in reading_order(tasks)}),
    }
    first = _sections(compared, tasks, with_published)
    gains = guard_gains(tasks, compared, guard) if guard else None
    changed = [*map(without_empty, change_tables(compared)), *guard_tables(gains or [], compared)]
    first |= {"changed": changed, "facts": facts(models, tasks)}
    write_tables(path.with_name(f"{path.stem}-tables"), [*first["tables"], *changed])
    # The first page last: when it is there, all are.
    for number in reversed(range(len(pages))):
        values = first if number == 0 else dict.fromkeys(first, ())
        page = render("evaluation.html", **shared, **values, number=number + 1, packed=packed[number])
        write_whole(pages[number], page)
    write_json(path.with_suffix(".json"), _numbers(compared, tasks, gains))
    return pages


def _numbers(compared: Compared, tasks: Sequence[type[Task]], gains: Sequence[Guarded] | None) -> dict[str, Any]:
    """The content of `report.json`: what came out of every run, and what changed; gains where there is a guard."""
    runs = []
    for model in compared.models:
        for run in (run for task in tasks for run in model.of_task(task.name)):
            runs.append({"model": model.name, "run": run.kind, "folder": str(run.folder), "metrics": run.metrics})
    over_seeds = [asdict(change) for change in compared.changes.values() if change.seeds]
    numbers = {"runs": runs, "changes": list(map(asdict, compared.each.values()))}
    if over_seeds:
        numbers["over_seeds"] = over_seeds
    if gains is not None:
        numbers["gains"] = [asdict(gain) for gain in gains]
    return numbers


def _sections(compared: Compared, tasks: Sequence[type[Task]], with_published: bool) -> dict[str, Sequence[Any]]:
    """Of each task its answer in a sentence and pictures; then what its view declares, tables after an overview."""
    leads, every_radar = [], []
    tables: list[Table] = []
    charts: list[Figure] = []
    means: dict[str, dict[str, float]] = {}  # of the paper's models
    for task in tasks:
        runs = [run for method in compared.methods for run in method.of_task(task.name)]
        if not runs:
            continue
        declared, pictures = task.view.section(task.measures, runs)
        theirs = published_values(declared, task.measures[:1]) if with_published else []
        means[task.name] = {model.name: values[0] for model, values in theirs}
        shown = section_tables(task, compared, declared, with_published=with_published)
        tables += map(without_empty, on_one_scale(shown))
        planes: list[Figure] = []
        for picture in pictures:
            if isinstance(picture, Radar):
                papers = published_values(declared, picture.measures, training=False) if with_published else []
                if group := radars(picture, task, compared, papers):
                    every_radar.append((picture.name, group))
            elif isinstance(picture, Ridge):
                charts += filter(None, [ridge(picture, task, compared.methods)])
            else:
                planes += filter(None, [plane(picture, task, compared.methods)])
        leads.append((lead(task, compared, theirs), planes))
    tables.insert(0, without_empty(overview(compared, tasks, means)))
    return {"leads": leads, "tables": tables, "charts": charts, "radars": every_radar}
