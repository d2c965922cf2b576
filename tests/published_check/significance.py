"""The papers' marks of significance (p < 0.05, in bold) against the p-values of their own correlations."""

from __future__ import annotations

from collections.abc import Iterator

from published_check.derived import Significance
from published_check.p_values import p_value
from published_check.rounding import Printed
from published_check.tables import ALL
from sozo.data.published import load_text


def significances() -> Iterator[Significance]:
    """Tables 8 (15 answers to a task, 105 in all), 9 and 10 (5 models) and 24 (11 models, all below 0.05)."""
    for label, table, n, n_all in (
        ("ACL 8", "jcq_judge_human_correlation", 15, 105),
        ("ACL 9", "jcq_dat_correlation", 5, 5),
        ("ACL 10", "jcq_sat_correlation", 5, 5),
    ):
        for row in load_text(table):
            name, pairs = (
                f"{row['task']}, {row['criterion']}",
                n_all if row["task"] == ALL else n,
            )
            yield significance(
                label, name, row["pearson"], pairs, row["p_below_0.05"] == "yes"
            )
    for row in load_text("sat_embedding_human_correlation"):
        yield significance("ACL 24", row["embedding_model"], row["pearson"], 11, True)


def significance(
    table: str, cell: str, printed: str, n: int, marked: bool
) -> Significance:
    """One mark. p falls as |r| rises, so the ends of r's rounding are those of p's.

    With five models r must pass 0.8783:

    >>> found = significance("", "", "0.878", 5, False)
    >>> round(found.p, 4), found.verdict.value
    (0.0502, 'within rounding')
    """
    r = Printed.from_text(printed)
    size = abs(r.value)
    low, high = p_value(min(1.0, size + r.half), n), p_value(max(0.0, size - r.half), n)
    return Significance(table, cell, r, n, marked, p_value(size, n), low, high)
