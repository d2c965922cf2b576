"""The paper's figures for the cells of the evaluation page, digit for digit (`data.published`).

A row of a study (`Evaluated.method`) of one of the paper's models has figures; others have none.
"""

from __future__ import annotations

from data.jcq import CRITERIA, TASKS
from data.published import load_text
from eval.finished import Evaluated

# Of each table of the page: the paper's table of other models (section 4).
_OTHERS = {
    "table11": "dat",
    "table12": "jcq_by_criterion",
    "table13": "jcq_by_task",
    "table5": "jcq_by_task_and_criterion",
    "table14": "sat",
}
_TRAINING = {"table12": "jcq_training_by_criterion", "table13": "jcq_training_by_task"}
_PAPER_RESPONSES = 131_072


def dat_figures(model: Evaluated) -> dict[str, str]:
    """Table 11: valid, mean, std, unique_words."""
    row = _row("dat_training", model)
    if row.get("valid"):
        row["valid"] = f"{int(row['valid']):,} ({int(row['valid']) / _PAPER_RESPONSES:.2%})"
        row["unique_words"] = f"{int(row['unique_words']):,}"
    return row


def jcq_figures(model: Evaluated, table: str) -> dict[str, str]:
    """Table 12 or 13, by the columns of `eval.compare`."""
    row = _row(_TRAINING[table], model)
    return {f"jcq/{name}": row[key] for name in (*CRITERIA, *TASKS, "mean") if (key := name.replace(" ", "_")) in row}


def sat_figure(model: Evaluated) -> str:
    """Table 14."""
    return _row("sat_training", model).get("score", "")


def paper_rows(table: str) -> tuple[tuple[str, ...], ...]:
    """Heading and rows of the paper's table of section 4."""
    lines = load_text(_OTHERS[table])
    return (tuple(name.replace("_", " ") for name in lines[0]), *(tuple(line.values()) for line in lines))


def _row(table: str, model: Evaluated) -> dict[str, str]:
    if model.method is None or model.paper_model is None:
        return {}
    wanted = ("", model.paper_model) if model.method == "random" else (model.paper_model,)
    for row in load_text(table):
        if row["method"] == model.method and row["model"] in wanted:
            return dict(row)
    return {}
