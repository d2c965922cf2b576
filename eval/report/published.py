"""The paper's figures on the page: beside the rows of a study of its models, below tables, or as rows of these."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sozo.data.published import load_text
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.page_table import PageTable
from sozo.scoring.measure import DASH, Cell, Measure
from sozo.tasks.page_parts import Column, ModelTable, RowTable


@dataclass(frozen=True, slots=True)
class Published:
    """A model of the paper, with its own encoder, judge and stories."""

    name: str
    base: str | None  # the name of the model that it was trained from
    figures: Mapping[str, str]  # by the paper's columns, digit for digit


def published(table: ModelTable, *, training: bool = True) -> list[Published]:
    """The paper's models that a table has figures of: of its benchmark, then of its training."""
    names = (table.paper, table.training if training else None)
    models = []
    for row in (row for name in names if name for row in load_text(name)):
        model, method = row["model"], row.get("method")
        base = f"{model}, base (paper)" if model and method not in (None, "base") else None
        # One table calls the mean a score.
        figures = {"mean": row.get("score", ""), **row}
        models.append(Published(f"{', '.join(filter(None, (model, method)))} (paper)", base, figures))
    return models


def published_rows(table: ModelTable) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Rows of a table; without those of which it has no column."""
    for model in published(table):
        cells = tuple(_cell(figure(column, model.figures), table.heat) for column in table.columns)
        if any(cell.value != DASH for cell in cells):
            yield model.name, cells


def published_values(
    declared: Sequence[ModelTable | RowTable], measures: Sequence[Measure], *, training: bool = True
) -> list[tuple[Published, tuple[float, ...]]]:
    """What the first table with columns of these measures has of the paper's models: of those that have all values."""
    for table in (table for table in declared if isinstance(table, ModelTable)):
        of_measure = {column.measure or column.change: column for column in table.columns}
        if set(measures) <= of_measure.keys() and (table.paper or table.training):
            rows = [
                (m, [figure(of_measure[k], m.figures) for k in measures]) for m in published(table, training=training)
            ]
            return [(model, tuple(map(float, texts))) for model, texts in rows if all(texts)]
    return []


def _cell(text: str, heat: bool) -> Cell:
    cell = printed(text or DASH)
    return replace(cell, heat=float(text)) if heat and text else cell


def papers(table: str | None) -> PageTable | None:
    """The papers' table of other models; None where there is none."""
    if table is None:
        return None
    lines, rows = load_text(table), []
    for line in lines:
        name, *values = line.values()
        rows.append((name, tuple(printed(value) for value in values)))
    return PageTable("papers_models", tuple(name.replace("_", " ") for name in lines[0]), tuple(rows))


def printed(text: str) -> Cell:
    """What a paper prints, digit for digit."""
    try:
        return Cell(text, exact={"value": float(text)})
    except ValueError:
        return Cell(text)


def paper_row(table: str | None, model: Evaluated) -> dict[str, str]:
    """The row of the papers' table of trained models that a row of a study of the paper's model has figures from."""
    if table is None or model.method is None or model.paper_model is None:
        return {}
    models = ("", model.paper_model) if model.method == "random" else (model.paper_model,)
    return next((row for row in load_text(table) if row["method"] == model.method and row["model"] in models), {})


def figure(column: Column, row: Mapping[str, str]) -> str:
    """The paper's figure in a column; empty where there is none."""
    measure = column.measure
    name = column.paper or (measure and (measure.paper or measure.short.replace(" ", "_"))) or ""
    return column.figure(text) if (text := row.get(name)) else ""
