"""The commonest designs of a study with lists: groups, times, groups by times, and what scores go with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.numbers import P_VALUE
from sozo.scoring.statistics import (
    compare_independent,
    compare_paired,
    holm,
    mean_interval,
)
from sozo.scoring.statistics.comparison import effect_independent, effect_paired
from sozo.scoring.statistics.reliability import icc
from sozo.scoring.table import Cell, Content

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Content]  # of a table
_TWO = Measure("t", 2)
_FEWEST = 4  # persons: Fisher's interval of a correlation has the error 1 / sqrt(n - 3)


@dataclass(frozen=True, slots=True)
class Design:
    """Tables of what was compared, as rows; where there is nothing to compare they are empty."""

    means: Sequence[Row]  # of each group at each time
    differences: Sequence[Row]  # with p-values corrected for their number (Holm)
    retests: Sequence[Row]  # of each time with the first
    correlations: Sequence[Row]  # with p-values corrected for their number (Holm)
    test: str  # `times`, `groups` or `changes`: what was compared by which test


def wide_scores(
    results: "pd.DataFrame", groups: "pd.Series", values: "pd.DataFrame"
) -> "pd.DataFrame":
    """A row for each participant as files have it: participant, group if there are any, a score for each time, correlates."""
    table = by_time(results)
    table.columns = [f"sozo_score_{time}".rstrip("_") for time in table]
    if groups.any():
        table.insert(0, "group", groups.groupby(results["participant"]).first())
    taken = {*table, "participant"}
    for name in values:
        column = values[name].reindex(table.index)
        # Without gaps whole numbers are written as such.
        column = column.astype(int) if (column % 1 == 0).all() else column
        table[f"{name} (correlate)" if name in taken else name] = column
    return table.reset_index()


def by_time(results: "pd.DataFrame") -> "pd.DataFrame":
    """Scores with a row for each participant and a column for each time, in the order of the sheet."""
    table = results.pivot(index="participant", columns="trial", values="score")
    return table.loc[results["participant"].unique(), results["trial"].unique()]


def mean_scores(results: "pd.DataFrame") -> "pd.Series":
    """Each participant's mean over all times, NaN of who lacks a score at one; where nobody wrote two lists, the score."""
    several = results["participant"].duplicated().any()
    return by_time(results).mean(axis=1, skipna=not several)


def compared(
    results: "pd.DataFrame",
    groups: "pd.Series",
    measure: Measure,
    values: "pd.DataFrame",
) -> Design:
    """What lists of groups and times say; `values` has a row for each participant and a column for each correlate.

    Groups are compared by their scores or, with several times, by each participant's change since the first
    (Welch's t). Without groups each time is compared with the first (Student's t of the changes). Participants count
    who have the scores. d is in standard deviations of what is compared.
    """
    scores = by_time(results)
    # Lists that nobody wrote two of are no times.
    times = list(scores.columns) if results["participant"].duplicated().any() else []
    group_of = dict(zip(results["participant"], groups, strict=True))
    names = list(filter(None, dict.fromkeys(group_of.values())))
    groups = scores.index.map(group_of)
    first, *later = times or [""]
    whole = mean_scores(results)
    changes = {f"{time} − {first}": scores[[first, time]].dropna() for time in later}
    gains = {name: both.iloc[:, 1] - both.iloc[:, 0] for name, both in changes.items()}
    differences: list[Row] = []
    for change, both in changes.items():
        if len(names) > 1:
            what = f"{change}: "
            differences += _between(gains[change], group_of, names, measure, what)
        else:
            differences.append(_change(both, change, measure))
    if not times and len(names) > 1:
        differences += _between(whole.dropna(), group_of, names, measure, "")
    cells = {
        (name, time): scores[time] if times else whole
        for name in (names if len(names) > 1 else [""])
        for time in times or [""]
    }
    means = [
        _mean(own[groups == name] if name else own, name, time, measure)
        for (name, time), own in cells.items()
    ]
    means += [
        _mean(gained[gained.index.map(group_of) == name], name, change, measure)
        for change, gained in gains.items()
        for name in (names if len(names) > 1 else [])
    ]
    correlations = [_correlated(whole, values[name], name) for name in values]
    kinds = {(True, True): "changes", (True, False): "times"}
    return Design(
        means if len(means) > 1 else [],
        _corrected(differences),
        [_retest(both) for both in changes.values()],
        _corrected(correlations),
        kinds.get((bool(times), len(names) > 1), "groups"),
    )


def _mean(scores: "pd.Series", group: str, time: str, measure: Measure) -> Row:
    values = scores.dropna().to_numpy()
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    mean = mean_interval(values)
    return {
        **({"Group": group} if group else {}),
        **({"Time": time} if time else {}),
        "Mean": Cell(
            mean.reason if mean.value is None else replace(mean, n=0), measure
        ),
        "Sd": Cell(spread, measure),
        "n": len(values),
    }


def _change(both: "pd.DataFrame", name: str, measure: Measure) -> Row:
    from scipy.stats import ttest_rel

    first, later = (both.iloc[:, k] for k in (0, 1))
    sides = first.to_dict(), later.to_dict()
    estimate = compare_paired(*sides)
    test = None if estimate.p is None else ttest_rel(later, first)
    return _row(name, estimate, measure, test, effect_paired(*sides), len(both))


def _between(
    scores: "pd.Series",
    group_of: Mapping[str, str],
    names: Sequence[str],
    measure: Measure,
    what: str,
) -> list[Row]:
    from scipy.stats import ttest_ind

    sides = dict(iter(scores.groupby(scores.index.map(group_of))))
    rows = []
    for pair in combinations(names, 2):
        a, b = (sides.get(name, scores[:0]).to_numpy() for name in pair)
        estimate = compare_independent(a, b)
        test = None if estimate.p is None else ttest_ind(b, a, equal_var=False)
        name, d = f"{what}{pair[1]} − {pair[0]}", effect_independent(a, b)
        rows.append(_row(name, estimate, measure, test, d, f"{len(b)}, {len(a)}"))
    return rows


def _row(
    name: str,
    estimate: Estimate,
    measure: Measure,
    test: Any,
    d: float | None,
    n: int | str,
) -> Row:
    why = (estimate.reason,) if estimate.reason else ()
    bare = replace(estimate, n=0, base_n=None)
    return {
        "Comparison": name,
        "Difference": Cell(bare, measure, DIFFERENCE, below=why),
        "t": Cell(None if test is None else float(test.statistic), _TWO),
        "df": Cell(None if test is None else float(test.df), Measure("df", 1)),
        "p": Cell(estimate.p, P_VALUE),
        "d": Cell(d, _TWO, DIFFERENCE),
        "n": n,
    }


def _corrected(rows: Sequence[Row]) -> list[Row]:
    """The same with a column of Holm's p-values behind the column p, where there are several."""
    if len(rows) < 2:
        return list(rows)
    known = [row["p"].estimate.value for row in rows if isinstance(row["p"], Cell)]
    more = [{"p (Holm)": Cell(p, P_VALUE)} for p in holm(known)]
    found: list[Row] = []
    for row, own in zip(rows, more, strict=True):
        at = 1 + list(row).index("p")
        parts = list(row.items())
        found.append(dict([*parts[:at], *own.items(), *parts[at:]]))
    return found


def _retest(both: "pd.DataFrame") -> Row:
    r, _ = pearson(*both.to_numpy().T)
    agreement = icc(both.to_numpy())
    return {
        "Retest": ", ".join(both),
        "r": _coefficient(r),
        "ICC(2,1)": _coefficient(agreement),
        "n": len(both),
    }


def _correlated(scores: "pd.Series", values: "pd.Series", name: str) -> Row:
    both = scores.to_frame("score").join(values.rename("value")).dropna()
    r, p = pearson(both["score"].to_numpy(), both["value"].to_numpy())
    return {
        "Correlation with": name,
        "r": _coefficient(r),
        "p": Cell(p, P_VALUE),
        "n": len(both),
    }


def _coefficient(estimate: Estimate) -> Cell:
    """A coefficient, or why there is none; how many persons it is of stands in a column of its own."""
    if estimate.value is None:
        return Cell(estimate.reason)
    return Cell(replace(estimate, n=0), Measure("coefficient", 2))


def pearson(a: np.ndarray, b: np.ndarray) -> tuple[Estimate, float | None]:
    """Pearson's r of values of shape (n,), with Fisher's interval, and its p-value.

    >>> r, p = pearson(np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5]))
    >>> round(r.value, 6), round(r.low, 6), round(r.high, 6), round(p, 6)
    (0.8, -0.27964, 0.986196, 0.104088)
    """
    from scipy.stats import pearsonr

    n = len(a)
    if n < _FEWEST:
        return Estimate(n=n, reason=f"fewer than {_FEWEST} persons with both"), None
    if not (np.ptp(a) and np.ptp(b)):
        return Estimate(n=n, reason="all values are equal"), None
    result = pearsonr(a, b)
    low, high = map(float, result.confidence_interval())
    return Estimate(float(result.statistic), low, high, n), float(result.pvalue)
