"""The commonest designs of a study with lists: groups, times, and groups by times."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.numbers import p_value
from sozo.scoring.statistics import compare_independent, compare_paired, holm
from sozo.scoring.statistics.comparison import effect_independent, effect_paired
from sozo.scoring.statistics.reliability import icc
from sozo.scoring.table import Cell, Content

if TYPE_CHECKING:
    import pandas as pd

_OF_SD = Measure("d", 2)
_AGREEMENT = Measure("agreement", 2)


def wide_scores(results: "pd.DataFrame", groups: "pd.Series") -> "pd.DataFrame":
    """A row for each participant as files have it: participant, group if there are any, and a score for each time."""
    table = _by_time(results)
    table.columns = [f"sozo_score_{time}".rstrip("_") for time in table]
    if groups.any():
        table.insert(0, "group", groups.groupby(results["participant"]).first())
    return table.reset_index()


def _by_time(results: "pd.DataFrame") -> "pd.DataFrame":
    """Scores with a row for each participant and a column for each time, in the order of the sheet."""
    table = results.pivot(index="participant", columns="trial", values="score")
    return table.loc[results["participant"].unique(), results["trial"].unique()]


def comparisons(
    results: "pd.DataFrame", groups: "pd.Series", measure: Measure
) -> list[Mapping[str, Content]]:
    """A row for each difference of means, with p-values corrected for their number (Holm); none without a design.

    Two groups or more are compared by their scores or, with several times, by each participant's change since the first
    (Welch's t). Without groups each time is compared with the first (Student's t of the changes), beside the retest
    correlation and ICC(2,1). Participants count who have the scores. d is in standard deviations of what is compared.
    """
    scores = _by_time(results)
    first, *later = scores.columns
    several = bool(later) and results["participant"].duplicated().any()
    changes = {f"{time} − {first}": [first, time] for time in later if several}
    of = dict(zip(results["participant"], groups, strict=True))
    pairs = list(combinations(filter(None, dict.fromkeys(of.values())), 2))
    found: list[tuple[Estimate, dict[str, Content]]] = []
    for what, times in (changes or {"": [first]}).items():
        both = scores[times] if changes else scores.mean(axis=1).to_frame()
        both = both.dropna()
        change = both.iloc[:, -1] - (both.iloc[:, 0] if changes else 0)
        sides = dict(iter(change.groupby(both.index.map(of))))
        for pair in pairs:
            a, b = (sides.get(name, change[:0]).to_numpy() for name in pair)
            cells: dict[str, Content] = {
                "Comparison": f"{what}: {pair[1]} − {pair[0]}".removeprefix(": "),
                "n": f"{len(b)}, {len(a)}",
                "d": Cell(effect_independent(a, b), _OF_SD, DIFFERENCE),
            }
            found.append((compare_independent(a, b), cells))
        if changes and not pairs:
            one, other = (both.iloc[:, k].to_dict() for k in (0, 1))
            d = Cell(effect_paired(one, other), _OF_SD, DIFFERENCE)
            cells = {"Comparison": what, "n": len(both), "d": d, **_retest(both)}
            found.append((compare_paired(one, other), cells))
    corrected = holm([estimate.p for estimate, _ in found])
    return [
        {
            "Comparison": cells.pop("Comparison"),
            "Difference": Cell(replace(estimate, n=0), measure, DIFFERENCE),
            "p": _p(estimate.p),
            "p (Holm)": _p(p),
            **cells,
        }
        for (estimate, cells), p in zip(found, corrected, strict=True)
    ]


def _p(p: float | None) -> str:
    return "" if p is None else p_value(p).removeprefix("p = ").removeprefix("p ")


def _retest(both: "pd.DataFrame") -> Mapping[str, Content]:
    from scipy.stats import pearsonr

    agreement = icc(both.to_numpy())
    cells = {"ICC(2,1)": Cell(agreement.reason or agreement, _AGREEMENT)}
    if len(both) < 4 or not both.std().all():
        return {"Retest r": Cell("fewer than 4 persons with both"), **cells}
    result = pearsonr(*both.to_numpy().T)
    low, high = result.confidence_interval()
    r = Estimate(float(result.statistic), float(low), float(high), len(both))
    return {"Retest r": Cell(r, _AGREEMENT), **cells}
