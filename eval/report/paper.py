"""The papers' figures for the report's tables, digit for digit (`data.published`).

A row of a study (`Evaluated.method`) of one of the paper's models has figures; others have none.
"""

from __future__ import annotations

from data.published import load_text
from eval.evaluated import Evaluated
from rewards.page_parts import Column


def paper_rows(table: str | None) -> tuple[tuple[str, ...], ...]:
    """Heading and rows of the papers' table of other models; nothing where there is none."""
    if table is None:
        return ()
    lines = load_text(table)
    return (tuple(name.replace("_", " ") for name in lines[0]), *(tuple(line.values()) for line in lines))


def paper_row(table: str | None, model: Evaluated) -> dict[str, str]:
    """The row of the papers' table of trained models that a study's row has its figures from."""
    if table is None or model.method is None or model.paper_model is None:
        return {}
    models = ("", model.paper_model) if model.method == "random" else (model.paper_model,)
    for row in load_text(table):
        if row["method"] == model.method and row["model"] in models:
            return dict(row)
    return {}


def figure(column: Column, row: dict[str, str]) -> str:
    """The paper's figure in a column; empty where there is none."""
    name = column.paper or ""
    if column.measure is not None and not name:
        name = column.measure.paper or column.measure.short.replace(" ", "_")
    text = row.get(name)
    return column.figure(text) if text else ""
