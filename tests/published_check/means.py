"""Every mean in the papers that is a mean of other printed numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from published_check.derived import Derived
from published_check.rounding import Printed, mean_of
from published_check.tables import MEAN, TASKS, column, rows
from sozo.tasks.jcq.questions import CRITERIA


def means() -> Iterator[Derived]:
    """Rows and columns of tables 3, 4, 5, 12 and 13, and what the places of Table 23's people must come to."""
    by_task = list(TASKS.values())
    for label, table, keys in (
        ("ACL 3", "jcq_by_criterion", ("model",)),
        ("ACL 5", "jcq_by_task_and_criterion", ("task",)),
        ("ACL 12", "jcq_training_by_criterion", ("model", "method")),
    ):
        yield from _rows(
            label,
            table,
            keys,
            f"the four criteria of {label}",
            _across(table, CRITERIA),
        )
    for label, table, keys, source, other in (
        ("ACL 3", "jcq_by_criterion", ("model",), "ACL 4", "jcq_by_task"),
        (
            "ACL 12",
            "jcq_training_by_criterion",
            ("model", "method"),
            "ACL 13",
            "jcq_training_by_task",
        ),
    ):
        yield from _rows(
            label, table, keys, f"the seven tasks of {source}", _across(other, by_task)
        )
    yield from _rows(
        "ACL 5",
        "jcq_by_task_and_criterion",
        ("task",),
        "the five models of ACL 4",
        [mean_of(column("jcq_by_task", task)) for task in by_task],
    )
    for criterion in (*CRITERIA, MEAN):
        # The mean of a criterion over everything is not printed: both sides are means of printed numbers.
        yield _derived(
            "ACL 3",
            f"mean of the column {criterion}",
            "the seven tasks of ACL 5",
            mean_of(column("jcq_by_criterion", criterion)),
            mean_of(column("jcq_by_task_and_criterion", criterion)),
        )
    yield _derived(
        "ACL C",
        "people's score, mean over 11 places (1, 0.9, ..., 0)",
        "the eleven models of ACL 23",
        Printed(0.5, 0.0),
        mean_of(column("sat_eleven_models", "human")),
    )


def _across(table: str, names: Sequence[str]) -> list[Printed]:
    return [
        mean_of(row)
        for row in zip(*(column(table, name) for name in names), strict=True)
    ]


def _rows(
    label: str, table: str, keys: Sequence[str], source: str, found: Sequence[Printed]
) -> Iterator[Derived]:
    for name, printed, mean in zip(
        rows(table, *keys), column(table, MEAN), found, strict=True
    ):
        yield _derived(label, f"{name}, mean", source, printed, mean)


def _derived(
    label: str, cell: str, source: str, printed: Printed, found: Printed
) -> Derived:
    return Derived(
        label, cell, "mean", source, printed, found.value, found.low, found.high
    )
