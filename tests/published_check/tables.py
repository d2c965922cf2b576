"""The papers' tables as columns of printed numbers, with the names under which they are told."""

from __future__ import annotations

from published_check.rounding import Printed
from sozo.data.published import load_text
from sozo.tasks.jcq import questions as jcq

ALL, MEAN = "All", "mean"
# Name in the tables of correlations -> column of the tables of scores: "Unusual Uses" -> "unusual_uses".
TASKS = {task.title(): task.replace(" ", "_") for task in jcq.TASKS}


def column(table: str, name: str) -> list[Printed]:
    """One column, in the order of the rows.

    >>> column("sat", "score")[0]
    Printed(value=0.526, half=0.0005)
    """
    return [Printed.from_text(row[name]) for row in load_text(table)]


def cells(table: str, value: str) -> dict[tuple[str, str], Printed]:
    """A table of tasks by criteria.

    >>> cells("jcq_dat_correlation", "pearson")["All", "fluency"].value
    0.916
    """
    return {
        (row["task"], row["criterion"]): Printed.from_text(row[value])
        for row in load_text(table)
    }


def rows(table: str, *keys: str) -> list[str]:
    """The names of the rows.

    >>> rows("jcq_training_by_task", "model", "method")[1]
    'Swallow-8B SFT'
    """
    return [" ".join(row[key] for key in keys) for row in load_text(table)]


def same_models(*tables: str) -> None:
    """Columns are paired row by row: every table must list the same models in the same order.

    Raises:
        ValueError: One does not.
    """
    first = rows(tables[0], "model")
    for table in tables[1:]:
        if rows(table, "model") != first:
            raise ValueError(
                f"the published tables {tables[0]} and {table} list other models, or in another order"
            )
