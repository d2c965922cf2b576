"""Every correlation in the papers whose two columns are printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from published_check.derived import Derived
from published_check.p_values import p_value
from published_check.rounding import Printed, pearson_range
from published_check.tables import ALL, MEAN, TASKS, cells, column, same_models
from sozo.studies.correlation import pearson
from sozo.tasks.jcq.questions import CRITERIA

# Label, table of correlations with JCQ, what the other column is called, its table.
WITH_JCQ = (
    ("ACL 9", "jcq_dat_correlation", "ACL 6 (DAT)", "dat"),
    ("ACL 10", "jcq_sat_correlation", "ACL 7 (SAT)", "sat"),
    ("NLP 2025 9", "nlp2025_jcq_dat_correlation", "NLP 2025 6 (DAT)", "nlp2025_dat"),
)


def correlations() -> Iterator[Derived]:
    """The row `All` and the column `mean` of the tables with JCQ; DAT with SAT; the columns of Table 23."""
    same_models(
        "jcq_by_criterion", "jcq_by_task", "dat", "sat", "nlp2025_dat", "nlp2025_sat"
    )
    for label, table, other, name in WITH_JCQ:
        printed, scores = cells(table, "pearson"), column(name, "score")
        for criterion in (*CRITERIA, MEAN):
            jcq = column("jcq_by_criterion", criterion)
            source = f"ACL 3 ({criterion}), {other}"
            yield correlation(
                label,
                f"{ALL}, {criterion}",
                source,
                printed[ALL, criterion],
                jcq,
                scores,
            )
        for task, key in TASKS.items():
            jcq = column("jcq_by_task", key)
            source = f"ACL 4 ({task}), {other}"
            yield correlation(
                label, f"{task}, {MEAN}", source, printed[task, MEAN], jcq, scores
            )
    yield from _dat_sat()
    yield from _eleven_models()


def correlation(
    table: str,
    cell: str,
    source: str,
    printed: Printed | None,
    x: Sequence[Printed],
    y: Sequence[Printed],
) -> Derived:
    """Pearson's r of two printed columns, beside the printed one.

    >>> exact = [[Printed(v, 0.0) for v in values] for values in ((1, 2, 3, 4, 5), (1, 3, 2, 5, 4))]
    >>> found = correlation("", "", "", Printed(0.8, 0.0), *exact)
    >>> round(found.recomputed, 6), round(found.low, 6), found.verdict.value
    (0.8, 0.8, 'agrees')
    """
    found = pearson(
        [cell.value for cell in x], [cell.value for cell in y], unit="models"
    )
    low, high = pearson_range(x, y)
    interval = (
        None if found.low is None or found.high is None else (found.low, found.high)
    )
    return Derived(
        table,
        cell,
        "correlation",
        source,
        printed,
        found.r,
        low,
        high,
        found.n,
        interval,
    )


def _dat_sat() -> Iterator[Derived]:
    dat, sat = column("dat", "score"), column("sat", "score")
    name, source = "DAT and SAT", "ACL 6, ACL 7"
    found = correlation(
        "ACL 4.3.4", name, source, column("dat_sat_correlation", "pearson")[0], dat, sat
    )
    yield found
    assert found.recomputed is not None
    assert found.low is not None
    assert found.high is not None
    p, *ends = (
        p_value(r, len(dat)) for r in (found.recomputed, found.high, found.low)
    )  # p falls as r rises from 0
    printed = column("dat_sat_correlation", "p")[0]
    yield replace(
        found,
        cell=f"{name}, p-value",
        kind="p",
        printed=printed,
        recomputed=p,
        low=ends[0],
        high=ends[1],
        ci95=None,
    )
    early = column("nlp2025_dat", "score"), column("nlp2025_sat", "score")
    yield correlation(
        "NLP 2025", name, "NLP 2025 6 (10 trials), NLP 2025 7", None, *early
    )


def _eleven_models() -> Iterator[Derived]:
    by = {
        name: column("sat_eleven_models", name)
        for name in ("simcse", "human", "gpt_4o")
    }
    encoders = [
        row.value for row in column("sat_embedding_human_correlation", "pearson")
    ]
    printed = column("sat_embedding_human_correlation", "pearson")[
        encoders.index(max(encoders))
    ]
    name = "pkshatech/simcse-ja-bert-base-clcmlp and people"
    yield correlation("ACL 24", name, "ACL 23", printed, by["simcse"], by["human"])
    yield correlation(
        "ACL 23", "GPT-4o and people", "ACL 23", None, by["gpt_4o"], by["human"]
    )
    yield correlation(
        "ACL 23",
        "simcse-ja-bert-base-clcmlp and GPT-4o",
        "ACL 23",
        None,
        by["simcse"],
        by["gpt_4o"],
    )
