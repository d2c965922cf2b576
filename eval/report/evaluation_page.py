"""What an evaluation found: tables beside the paper's, what changed, pictures, and every answer to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data.jcq import CRITERIA, TASKS
from data.record import write_json, write_whole
from eval.compare import MAIN_COLUMNS, TASK_COLUMNS, Change, bases, changes
from eval.finished import Evaluated
from eval.report.charts import SERIES, Point, radar_points, ridge_chart, scatter_chart
from eval.report.labels import both, labels, translate_chart
from eval.report.reader import Chunk, chunks
from eval.report.tables import (
    PageTable,
    change_table,
    dat_table,
    jcq_table,
    overview,
    sat_table,
    task_by_criterion,
    trials_table,
)
from eval.report.templates import render, script_hash, source
from rewards.tasks.dat.table11 import Table11, table11

# Of the answers in one page: with tables and pictures a page stays below 8 MB.
MOST_BYTES = 6_500_000


@dataclass(frozen=True, slots=True)
class Radar:
    """A model's four criteria beside those of its base, which has a name and points of its own."""

    name: str
    number: int
    points: str
    base: tuple[str, str] | None
    values: tuple[tuple[str, float], ...]


def write_evaluation(
    path: Path,
    models: Sequence[Evaluated],
    *,
    base: str | None = None,
    title: str = "sozo",
    most_bytes: int = MOST_BYTES,
) -> list[Path]:
    """Write the page; where the answers are too many for one, `report-2.html` and so on hold the rest of them.

    Args:
        path: The page.
        models: From `eval.finished.find_evaluated`.
        base: Name of the model that the others are compared with; see `eval.compare.bases`.
        title: The page's heading.
        most_bytes: Of the packed answers in one page.

    Returns:
        The pages written, `path` first. Beside it, `report.json` holds the numbers.

    Raises:
        ValueError: There is no model `base`, or a run cannot be read.
        OSError: A file cannot be read or written.
    """
    against = bases(models, base)
    packed = chunks(models, most_bytes) or [Chunk("", 0)]
    pages = [path, *(path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, len(packed) + 1))]
    script = source("reader.js")
    shared: dict[str, Any] = {
        "title": title,
        "both": both,
        "labels": labels(),
        "script": script,
        "script_hash": script_hash(script),
        "names": [(model.name, number % SERIES) for number, model in enumerate(models)],
        "ticked": {model.name for model in models if model.name not in against} | {models[-1].name},
        "pages": [page.name for page in pages],
        "tasks": TASKS,
        "criteria": CRITERIA,
    }
    summary = _summary(models, against)
    # The first page last: when it is there, all are.
    for number in reversed(range(len(pages))):
        empty = {name: () if isinstance(value, list) else "" for name, value in summary.items()}
        values = summary if number == 0 else empty
        page = render("evaluation.html", **shared, **values, number=number + 1, packed=packed[number].packed)
        write_whole(pages[number], page)
    write_json(path.with_suffix(".json"), _numbers(models, summary["changed_cells"]))
    return pages


def _summary(models: Sequence[Evaluated], against: Mapping[str, Evaluated]) -> dict[str, Any]:
    """All of the page but the reader."""
    main, by_task = changes(models, against, MAIN_COLUMNS), changes(models, against, TASK_COLUMNS)
    found = main | by_task
    tables: list[PageTable] = [overview(models)]
    pictures: dict[str, str] = {"dat_chart": "", "words_chart": "", "sat_chart": ""}
    if responses := {model.name: model.dat.folder for model in models if model.dat}:
        counted = {m.name: m.dat.settings["trials"] for m in models if m.dat and m.dat.settings.get("trials")}
        table = table11(responses, trials=counted)
        tables.append(dat_table(models, table, found))
        if any(model.trials and model.responses for model in models):
            tables.append(trials_table(models))
        pictures |= _dat_charts(models, table)
    if any(model.jcq for model in models):
        tables += [jcq_table("table12", models, CRITERIA, found), jcq_table("table13", models, TASKS, found)]
        tables.append(task_by_criterion(models))
    if any(model.sat for model in models):
        tables.append(sat_table(models, found))
        pictures["sat_chart"] = _sat_chart(models)
    changed = [
        change_table("changes", models, MAIN_COLUMNS, main),
        change_table("task_changes", models, TASK_COLUMNS, by_task),
    ]
    return {
        "tables": tables,
        "changed_cells": list(found.values()),
        "changed": [table for table in changed if table.rows],
        **pictures,
        "radars": _radars(models, against),
        "facts": _facts(models),
    }


def _numbers(models: Sequence[Evaluated], cells: Sequence[Change]) -> dict[str, Any]:
    """The page's numbers with all their digits: what each run came to, and every difference."""
    runs = [
        {"model": model.name, "run": kind, "folder": str(run.folder), "metrics": run.metrics}
        for model in models
        for kind in ("trials", "responses", "jcq", "sat")
        if (run := getattr(model, kind)) is not None
    ]
    return {"runs": runs, "changes": [asdict(cell) for cell in cells]}


def _dat_charts(models: Sequence[Evaluated], table: Table11) -> dict[str, str]:
    scores = {model.name: model.dat.scores if model.dat else () for model in models}
    if not any(len(values) for values in scores.values()):
        return {}
    rows = {row.summary.source: row for row in table.rows}
    points: dict[str, Point | None] = {}
    for model in models:
        row = rows.get(model.name)
        if row is None or row.summary.mean is None or row.equal_size_words is None:
            points[model.name] = None
        else:
            points[model.name] = Point(row.equal_size_words, row.summary.mean, *(row.summary.ci95 or (None, None)))
    english = {key: text for key, (text, _) in labels().items()}
    return {
        "dat_chart": translate_chart(ridge_chart(scores)),
        "words_chart": translate_chart(scatter_chart(points, "words", english["words_axis"], english["score_axis"])),
    }


def _sat_chart(models: Sequence[Evaluated]) -> str:
    points: dict[str, Point | None] = {}
    for model in models:
        row = model.sat.summary if model.sat else None
        if row is None or row.mean is None or not row.num_rewrites:
            points[model.name] = None
        else:
            points[model.name] = Point(100 * row.compliant / row.num_rewrites, row.mean, *(row.ci95 or (None, None)))
    if not any(points.values()):
        return ""
    english = {key: text for key, (text, _) in labels().items()}
    return translate_chart(scatter_chart(points, "sat", english["compliance_axis"], english["distance_axis"]))


def _radars(models: Sequence[Evaluated], against: Mapping[str, Evaluated]) -> list[Radar]:
    def means(model: Evaluated) -> tuple[float, ...]:
        found = model.jcq.metrics["means"] if model.jcq else {}
        values = [found[name]["mean"] for name in CRITERIA if name in found]
        return () if None in values or not values else tuple(values)

    radars = []
    for number, model in enumerate(models):
        if values := means(model):
            base = against.get(model.name)
            beside = means(base) if base else ()
            radars.append(
                Radar(
                    model.name,
                    number % SERIES,
                    radar_points(values),
                    (base.name, radar_points(beside)) if base and beside else None,
                    tuple(zip(CRITERIA, values, strict=True)),
                )
            )
    return radars


def _facts(models: Sequence[Evaluated]) -> list[tuple[str, list[str]]]:
    """What the numbers rest on, by label; a value that all models share is said once."""
    found: dict[str, dict[str, list[str]]] = {}
    for model in models:
        for name, value in _model_facts(model):
            found.setdefault(name, {}).setdefault(value, []).append(model.name)
    return [
        (name, [value if len(values) == 1 else f"{value} ({', '.join(names)})" for value, names in values.items()])
        for name, values in found.items()
    ]


def _model_facts(model: Evaluated) -> list[tuple[str, str]]:
    facts = []
    if model.dat:
        scorer = model.dat.loaded.get("scorer", {})
        facts += [("dat_encoder", scorer.get("embedding_model")), ("dat_checker", scorer.get("noun_checker"))]
    if model.jcq:
        judge = model.jcq.settings["judge"]
        facts += [("jcq_judge", judge["model"]), ("jcq_prompt", judge["prompt"])]
        facts.append(("jcq_questions", f"{len(model.jcq.questions):,}"))
        failed = {k: n for k, n in model.jcq.metrics["statuses"].items() if k != "ok" and n}
        facts.append(("jcq_failed", ", ".join(f"{n:,} {k}" for k, n in failed.items()) or "0"))
    if model.sat:
        facts.append(("sat_encoder", model.sat.loaded.get("scorer", {}).get("embedding_model")))
        facts.append(("sat_stories", f"{model.sat.summary.num_stories:,}"))
    return [(name, str(value)) for name, value in facts if value is not None]
