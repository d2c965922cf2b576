"""The papers' tables as CSV, digit for digit, to show results beside them. `README.md` here says what is what."""

import csv
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

# Of the tables of trained models, in the papers' order; `random` belongs to no model.
METHODS = ("random", "base", "SFT", "DPO 1", "DPO 2", "GRPO")
# Two tasks, or a task's judge and people, whose correlation the paper gives -> its table; empty for its text.
CORRELATIONS = {
    ("jcq", "people"): "Table 8",
    ("jcq", "dat"): "Table 9",
    ("jcq", "sat"): "Table 10",
    ("dat", "sat"): "",
}

# Cells that cannot be believed as they are printed: README.md here, doubts.
_DOUBTFUL = {
    (
        "dat_training",
        "llm-jp-3-7.2b",
        "GRPO",
        "usable",
    ): "doubtful, perhaps 114,668: data/published/README.md"
}


def doubt(name: str, row: Mapping[str, str], column: str) -> str:
    """What is to be said where a cell of a table is shown; empty of nearly all.

    >>> doubt("dat_training", load_text("dat_training")[15], "usable")
    'doubtful, perhaps 114,668: data/published/README.md'
    """
    return _DOUBTFUL.get((name, row["model"], row.get("method", ""), column), "")


def correlations(first: str, second: str) -> list[dict[str, str]]:
    """The rows of the paper's correlations of two tasks, digit for digit; none where it has none.

    >>> correlations("dat", "sat")
    [{'pearson': '0.933', 'p': '0.021'}]
    """
    pair = "jcq_judge_human" if second == "people" else f"{first}_{second}"
    return load_text(f"{pair}_correlation") if (first, second) in CORRELATIONS else []


def load(name: str) -> list[dict[str, Any]]:
    """The rows of one table by their columns: whole numbers as int, others as float, an empty cell as None, else text.

    >>> load("dat_training")[1]
    {'model': 'Swallow-8B', 'method': 'base', 'usable': 105401, 'score': 0.524, 'std': 0.018, 'all_different_words': 8026}
    """
    return [{key: _value(cell) for key, cell in row.items()} for row in load_text(name)]


def load_text(name: str) -> list[dict[str, str]]:
    """The same rows, digit for digit: what a number's rounding leaves open depends on its trailing zeros.

    >>> load_text("dat")[1]
    {'model': 'Claude 3.5 Sonnet', 'score': '0.530', 'std': '0.018'}
    """
    return list(
        csv.DictReader(
            files(__name__).joinpath(f"{name}.csv").read_text("utf-8").splitlines()
        )
    )


def _value(cell: str) -> Any:
    for number in (int, float):
        try:
            return number(cell)
        except ValueError:
            continue
    return cell or None
