"""The commonest designs of a study with lists: groups, times, groups by times, and what scores go with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sozo.data.errors import UserError
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import P_VALUE
from sozo.scoring.statistics import holm, mean_interval
from sozo.scoring.statistics.reliability import icc
from sozo.scoring.table import Cell

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]  # of a table: what stands under each heading
Design = Mapping[str, Sequence[Row]]  # kind of table -> its rows, none of some
_TWO = Measure("t", 2)
_FEWEST = 3  # persons of a t test; of a correlation one more, whose interval has the error 1 / sqrt(n - 3)
_TAIL = 0.05  # of an F test's interval, which leaves out 0 where p < 0.05
_SOURCES = {
    "interaction": "interaction of group and time",
    "group": "main effect of group",
    "time": "main effect of time",
}
_EQUAL = "all values are equal"


@dataclass(frozen=True, slots=True)
class Sample:
    """Who is analysed: participants with a score at every time and, where groups are compared, a group."""

    scores: "pd.DataFrame"  # a row for each, a column for each time
    groups: "pd.Series"  # of each; empty without groups
    names: Sequence[str]  # of the groups
    left_out: "pd.Series"  # of every other participant the reason

    @property
    def parts(self) -> "dict[str, pd.DataFrame]":
        """The scores of each group; of one alone, which is not compared, it is called nothing."""
        if len(self.names) < 2:
            return {"": self.scores}
        return {name: self.scores[self.groups == name] for name in self.names}


def by_time(results: "pd.DataFrame", order: Sequence[str] = ()) -> "pd.DataFrame":
    """Scores with a row for each participant and a column for each time, in the order of the sheet but for `order`."""
    who = results["participant"]
    if not who.duplicated().any():  # lists that nobody wrote two of are no times
        return results.set_index("participant")[["score"]].set_axis([""], axis=1)
    table = results.pivot(index="participant", columns="trial", values="score")
    return table.loc[who.unique(), _ordered(results["trial"], order)]


def analysed(
    results: "pd.DataFrame",
    groups: "pd.Series",
    silent: Sequence[str] = (),
    order: Sequence[str] = (),
) -> Sample:
    """Who of those who wrote lists is analysed, with groups and times as `order` says; `silent` wrote none.

    `results` and `groups` are row by row. UserError for a name in `order` that is neither a group's nor a time's.
    """
    import pandas as pd

    scores = by_time(results, order)
    of = groups.groupby(results["participant"]).first().reindex(scores.index)
    names = _ordered(of[of != ""], order)
    there = [name for name in (*names, *scores) if name]
    if unknown := [name for name in order if name not in there]:
        raise UserError(
            f"order: {unknown[0]} is no group and no time; there are: {', '.join(there)}"
        )
    lists = results["participant"].value_counts().reindex(scores.index)
    why = pd.Series("", scores.index)
    why[scores.isna().any(axis=1)] = "few"
    why[lists < scores.shape[1]] = "some"
    if names:
        why[of == ""] = "no_group"
    kept = why == ""
    left_out = pd.concat([why[~kept], pd.Series("none", [*silent], dtype=str)])
    return Sample(scores[kept], of[kept], names, left_out)


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    places = {name: place for place, name in enumerate(order)}
    found = dict.fromkeys(names)
    return sorted(found, key=lambda name: places.get(name, len(places)))


def wide_scores(
    results: "pd.DataFrame",
    lists: "pd.DataFrame",
    cells: "pd.DataFrame",
    values: "pd.DataFrame",
    order: Sequence[str] = (),
) -> "pd.DataFrame":
    """A row for each participant: a score for each time, the group, the numbers of `values`, and what is one's own.

    These are the columns of `cells`, a sheet's, that hold one value of each participant.
    """
    import pandas as pd

    table = by_time(results, order)
    table.columns = [f"sozo_score_{time}".rstrip("_") for time in table]
    parts = [table, values.convert_dtypes()]
    if lists["group"].any():
        parts.append(lists.groupby("participant")["group"].first())
    filled = cells.where(cells != "")
    for k in range(cells.shape[1]):
        own = filled.iloc[:, k].groupby(lists.attrs["who"])
        if cells.columns[k] not in values and (own.nunique() < 2).all():
            parts.append(own.first())
    whole = pd.concat([part.reindex(table.index) for part in parts], axis=1)
    whole.insert(0, "participant", whole.index, allow_duplicates=True)
    return whole


def compared(sample: Sample, measure: Measure, values: "pd.DataFrame") -> Design:
    """What lists of groups and times say; `values` has a row for each participant and a column for each correlate.

    F tests where groups are compared over times, or more than two of either are compared; t tests of each pair of
    groups (Welch's), of the first scores and of the changes since, and of each group's changes (Student's). The
    difference is of the later time or group less the earlier one, in their order.
    """
    scores, parts = sample.scores, sample.parts
    first, *later = scores
    members = {name: own.index for name, own in parts.items()}
    pairs = [*combinations(parts, 2)] if len(parts) > 1 else []

    def between(own: "pd.Series", **about: str) -> list[Row]:
        sides = {name: own[who].to_numpy() for name, who in members.items()}
        return [
            _t_test({**about, "Comparison": f"{b} − {a}"}, measure, sides[a], sides[b])
            for a, b in pairs
        ]

    changes = {f"{time} − {first}": scores[time] - scores[first] for time in later}
    over = {
        "all participants" if pairs else "": scores.index,
        **(members if pairs else {}),
    }
    whole = scores.mean(axis=1)
    return {
        "means": [
            _mean(_about(Group=name, Time=time), own[time].to_numpy(), measure)
            for name, own in parts.items()
            for time in own
        ],
        "anova": _f_tests(sample),
        "baseline": _corrected(between(scores[first], Time=first)) if later else [],
        "groups": [] if later else _corrected(between(scores[first])),
        "times": _corrected(
            _t_test(
                _about(Group=name) | {"Comparison": change},
                measure,
                gained[who].to_numpy(),
            )
            for name, who in members.items()
            for change, gained in changes.items()
        ),
        "changes": _corrected(
            row
            for change, gained in changes.items()
            for row in between(gained, Change=change)
        ),
        "retests": [
            {
                **_pair(own[[first, time]], _about(Group=name, Time=time)),
                "ICC(2,1)": _coefficient(icc(own[[first, time]].to_numpy())),
            }
            for name, own in parts.items()
            for time in later
        ],
        "correlations": _corrected(
            _pair(
                whole[who].to_frame().join(values[column]).dropna(),
                {"Correlation with": column, **_about(Group=name)},
            )
            for column in values
            for name, who in over.items()
        ),
    }


def assumptions(sample: Sample) -> dict[str, Any]:
    """What F and t tests assume, of changes since the first time, or of scores, less their group's mean.

    `normal` is Shapiro and Wilk's W with p of each change, `equal` Levene's F with p between groups; `outliers` are
    the participants more than 1.5 interquartile ranges beyond the quartiles of any change.
    """
    from scipy.stats import levene, shapiro

    values = sample.scores
    if values.shape[1] > 1:
        values = values.iloc[:, 1:].sub(values.iloc[:, 0], axis=0)
    parts = [values.loc[own.index] for own in sample.parts.values()]
    rest = values.sub(values.mean())
    if len(parts) > 1:
        rest = values - values.groupby(sample.groups).transform("mean")
    low, high = rest.quantile(0.25), rest.quantile(0.75)
    far = (rest < low - 1.5 * (high - low)) | (rest > high + 1.5 * (high - low))
    varied = [time for time in rest if len(rest) >= _FEWEST and np.ptp(rest[time])]
    several = len(parts) > 1 and min(map(len, parts)) >= _FEWEST
    return {
        "normal": [shapiro(rest[time]) for time in varied],
        "equal": [levene(*(own[time] for own in parts)) for time in varied if several],
        "outliers": rest.index[far.any(axis=1)].tolist(),
    }


def _about(**names: str) -> dict[str, str]:
    """What a row is about: what it is not about has no column."""
    return {heading: name for heading, name in names.items() if name}


def _mean(about: Row, values: np.ndarray, measure: Measure) -> Row:
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    mean = mean_interval(values)
    shown = mean.reason if mean.value is None else replace(mean, n=0)
    return {
        **about,
        "n": len(values),
        "Mean": Cell(shown, measure),
        "Sd": Cell(spread, measure),
    }


def _f_tests(sample: Sample) -> list[Row]:
    from scipy.special import fdtr, ncfdtrinc

    times, groups = sample.scores.shape[1], len(sample.parts)
    if max(times, groups) < 3 and min(times, groups) < 2:
        return []
    rows = []
    member = sample.groups.to_numpy() if groups > 1 else np.zeros(len(sample.scores))
    for source, (f, df, error) in anova(sample.scores.to_numpy(), member).items():
        below = float(fdtr(df, error, f))
        # The noncentralities by which so large an F is in either tail.
        low, high = (
            float(ncfdtrinc(df, error, share, f)) if below > share else 0.0
            for share in (1 - _TAIL, _TAIL)
        )
        low, high = (end / (end + df + error + 1) for end in (low, high))
        rows.append(
            {
                "Source": _SOURCES[source],
                "F": Cell(f, _TWO),
                "df": f"{round(df, 2):g}, {round(error, 2):g}",
                "p": Cell(1 - below, P_VALUE),
                "ηp²": _coefficient(Estimate(f * df / (f * df + error), low, high)),
            }
        )
    return rows


def anova(
    scores: np.ndarray, groups: np.ndarray
) -> dict[str, tuple[float, float, float]]:
    """Effect -> F and its two degrees of freedom, of scores of shape (persons, times) by group, shape (persons,).

    Sums of squares are of type III, degrees of freedom of times Greenhouse and Geisser's. What has no error, or no
    persons for it, has no test.

    >>> scores, groups = np.array([[1, 2], [2, 4], [1, 1], [3, 2.0]]), np.array(list("aabb"))
    >>> {effect: (round(f, 4), df, error) for effect, (f, df, error) in anova(scores, groups).items()}
    {'interaction': (8.0, 1.0, 2.0), 'group': (0.2222, 1, 2), 'time': (2.0, 1.0, 2.0)}
    """
    from scipy.linalg import helmert

    n, k = scores.shape
    names, member = np.unique(groups, return_inverse=True)
    free = n - len(names)
    if free < 1:
        return {}
    # Of each person the mean and contrasts of times, orthonormal: an effect is one of groups in them, or of their mean.
    contrasts = scores @ helmert(k, full=True).T
    counts = np.bincount(member)
    means = np.array([contrasts[member == j].mean(axis=0) for j in range(len(names))])
    rest = contrasts - means[member]
    error = (rest**2).sum(axis=0)
    within = rest[:, 1:].T @ rest[:, 1:]
    spread = (k - 1) * (within**2).sum()
    times = (k - 1) * (float(within.trace() ** 2 / spread) if spread else 1.0)
    apart = counts @ (means - contrasts.mean(axis=0)) ** 2
    off_zero = means.sum(axis=0) ** 2 / (1 / counts).sum()
    group = len(names) - 1
    found = {
        "interaction": (apart[1:].sum(), error[1:].sum(), group * times, free * times),
        "group": (apart[0], error[0], group, free),
        "time": (off_zero[1:].sum(), error[1:].sum(), times, free * times),
    }
    noise = 1e-12 * float((scores**2).sum())
    return {
        effect: (float(squares / df / (left / df_left)), df, df_left)
        for effect, (squares, left, df, df_left) in found.items()
        if df and left > noise
    }


def _t_test(about: Row, measure: Measure, *sides: np.ndarray) -> Row:
    """A row of the mean of changes, or of the second side less the first, with Welch's t.

    d is in their standard deviation, of two sides pooled, with the interval of the noncentral t of as many persons.
    """
    from scipy.special import nctdtrinc
    from scipy.stats import ttest_1samp, ttest_ind

    sizes = [len(side) for side in sides]
    *base, own = sides
    free, why = sum(sizes) - len(sizes), ""
    t, df, p, found, effect = None, "", None, Estimate(), Estimate()
    if min(sizes) < _FEWEST:
        why = f"fewer than {_FEWEST} persons"
    elif all(np.ptp(side) <= 1e-12 * np.abs(side).max() for side in sides):
        why = _EQUAL
    else:
        test = ttest_ind(own, *base, equal_var=False) if base else ttest_1samp(own, 0)
        t, df, p = float(test.statistic), f"{round(float(test.df), 2):g}", test.pvalue
        value = float(own.mean() - sum(side.mean() for side in base))
        low, high = map(float, test.confidence_interval())
        found = Estimate(value, low, high)
        squares = sum(float(((side - side.mean()) ** 2).sum()) for side in sides)
        d, root = value / (squares / free) ** 0.5, sum(1 / n for n in sizes) ** -0.5
        low, high = (
            float(nctdtrinc(free, share, d * root)) for share in (0.975, 0.025)
        )
        effect = Estimate(d, low / root, high / root)
    return {
        **about,
        "Difference": Cell(found, measure, below=(why,) * bool(why)),
        "t": Cell(t, _TWO),
        "df": df,
        "p": Cell(p, P_VALUE),
        "d": Cell(effect, _TWO),
        "n": ", ".join(map(str, sizes[::-1])),
    }


def _corrected(rows: Iterable[Row]) -> list[Row]:
    """The same with Holm's p-values."""
    rows = list(rows)
    values = holm([row["p"].estimate.value for row in rows])
    return [{**row, "p": Cell(p, P_VALUE)} for row, p in zip(rows, values, strict=True)]


def _pair(both: "pd.DataFrame", about: Row) -> Row:
    r, p = pearson(*both.to_numpy().T)
    return {
        **about,
        "r": _coefficient(r),
        "df": max(len(both) - 2, 0),
        "p": Cell(p, P_VALUE),
    }


def _coefficient(estimate: Estimate) -> Cell:
    """A coefficient, or why there is none."""
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

    if len(a) <= _FEWEST:
        return Estimate(reason=f"fewer than {_FEWEST + 1} persons with both"), None
    if not (np.ptp(a) and np.ptp(b)):
        return Estimate(reason=_EQUAL), None
    result = pearsonr(a, b)
    low, high = map(float, result.confidence_interval())
    return Estimate(float(result.statistic), low, high), float(result.pvalue)
