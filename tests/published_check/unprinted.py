"""What the papers derived from numbers that they do not print, and what can still be said of it."""

from __future__ import annotations

from collections.abc import Iterator

from published_check.correlations import WITH_JCQ
from published_check.derived import Derived
from published_check.joint import least_explained
from published_check.rounding import Printed
from published_check.tables import TASKS, cells, column
from sozo.data.published import load_text
from sozo.tasks.jcq.questions import CRITERIA

_NO_CELLS = "JCQ scores by model, task and criterion are not printed, only their means over one of the three"
_NO_RATINGS = "neither the people's ratings nor GPT-4o's of the 105 answers are printed"
_NO_ENCODER = "the models' scores by this encoder are not printed"


def unprinted() -> Iterator[Derived]:
    """Table 8, the inner cells of the tables with JCQ, and the encoders of Table 24 without scores in Table 23."""
    for (task, criterion), printed in cells(
        "jcq_judge_human_correlation", "pearson"
    ).items():
        yield Derived(
            "ACL 8", f"{task}, {criterion}", "correlation", _NO_RATINGS, printed
        )
    inner = [(task, criterion) for task in TASKS for criterion in CRITERIA]
    fits = {cell: _fits(*cell) for cell in inner}
    for label, table, _, _ in WITH_JCQ:
        printed_cells = cells(table, "pearson")
        for cell in inner:
            yield Derived(
                label,
                ", ".join(cell),
                "correlation",
                _NO_CELLS,
                printed_cells[cell],
                why=fits[cell],
            )
    for row in load_text("sat_embedding_human_correlation"):
        if row["embedding_model"] != "pkshatech/simcse-ja-bert-base-clcmlp":
            name = f"{row['embedding_model']} and people"
            yield Derived(
                "ACL 24",
                name,
                "correlation",
                _NO_ENCODER,
                Printed.from_text(row["pearson"]),
            )


def _fits(task: str, criterion: str) -> str:
    """Whether the three tables' correlations of one unprinted column can hold together."""
    known = [column(name, "score") for _, _, _, name in WITH_JCQ]
    share = least_explained(
        [cells(table, "pearson")[task, criterion] for _, table, _, _ in WITH_JCQ], known
    )
    labels = ", ".join(label for label, _, _, _ in WITH_JCQ)
    said = (
        "some column of scores has"
        if share <= 1
        else "no column of scores was found that has"
    )
    return f"{said} the printed correlations of this cell in all of {labels}"
