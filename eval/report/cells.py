"""One place of a table: the number, what it rests on, the paper's figure, the difference from the base."""

from collections import Counter
from dataclasses import replace

from sozo.eval.compare import Change
from sozo.eval.summary import estimate_of
from sozo.scoring.measure import DASH, Cell, Estimate, Measure, known, mean_cell, n_of, number
from sozo.tasks.finished import Finished

_EFFECT = Measure("effect", 2)
_POINTS = " pp"
_NEGLIGIBLE, _LARGE = 0.2, 0.8  # below and from on, in Cohen's d


def estimate_cell(run: Finished, measure: Measure, *, heat: bool = False) -> Cell:
    """A measure's mean, its interval, n of N; in a heat map the interval is for whoever points at the cell."""
    e, shown = estimate_of(run, measure), run.shown(measure)
    if e.mean is None:
        return Cell(DASH, (n_of(e.n, e.of),), why=_why_none(run, e), exact=known(n=e.n, of=e.of))
    cell = mean_cell(e.mean, shown, (e.low, e.high), (e.n, e.of))
    if heat:
        *interval, counts = cell.small
        return replace(cell, small=(counts,), heat=e.mean, hover="".join(f"95%: {ends}" for ends in interval))
    return cell


def _why_none(run: Finished, estimate: Estimate) -> str:
    """How many have a value, and what became of the others."""
    reasons = Counter(answer.reason for answer in run.answers() if answer.reason)
    listed = ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common(3))
    return n_of(estimate.n, estimate.of) + (listed and f": {listed}")


def with_change(cell: Cell, change: Change | None, measure: Measure) -> Cell:
    """The cell with its difference from the base, in a heat map without its interval."""
    if change is None or change.difference is None:
        return cell
    text, interval = _signed(change.difference, measure), _interval(change, measure)
    if cell.heat is None:
        text += interval and f" {interval}"
    elif interval:
        cell = replace(cell, hover=f"{cell.hover}; {text} {interval}".removeprefix("; "))
    exact = known(change=change.difference, change_low=change.low, change_high=change.high, change_p_holm=change.p_holm)
    return replace(cell, change=text, mark=_mark(change, measure), exact={**cell.exact, **exact})


def change_cell(change: Change | None, measure: Measure) -> Cell:
    """A difference with interval, effect size, corrected p-value and n; where there is none, why."""
    if change is None:
        return Cell(DASH, why="no_run")
    small = []
    if interval := _interval(change, measure):
        small.append(interval)
    if change.effect is not None:
        small.append(f"d = {_signed(change.effect, _EFFECT)}")
    if change.p_holm is not None:
        small.append(p_text(change.p_holm, change.p_at_most))
    if change.reason is not None:
        small.append(change.reason)
    if change.difference is None:
        return Cell(DASH, tuple(small), why=change.reason or "", exact=known(reason=change.reason))
    exact = known(value=change.difference, low=change.low, high=change.high, effect=change.effect)
    exact |= known(p=change.p, p_holm=change.p_holm, n=change.n, of=change.of, reason=change.reason)
    exact |= {"p_at_most": 1} if change.p_at_most else {}  # both are bounds
    if change.seeds:
        small.append(f"{change.n} seeds, {change.seeds}")
    else:
        small.append(f"n = {change.n:,}" if change.n == change.of else f"n = {n_of(change.n, change.of)}")
    return Cell(_signed(change.difference, measure), tuple(small), mark=_mark(change, measure), exact=exact)


def p_text(p: float, at_most: bool = False) -> str:
    """A p-value, or a bound of one.

    >>> p_text(0.0004), p_text(0.0314), p_text(0.0314, at_most=True)
    ('p < 0.001', 'p = 0.031', 'p ≤ 0.031')
    """
    return "p < 0.001" if p < 0.001 else f"p {'≤' if at_most else '='} {p:.3f}"


def _interval(change: Change, measure: Measure) -> str:
    """The ends, of which only the last names the unit."""
    if change.low is None or change.high is None:
        return ""
    return f"[{_signed(change.low, measure).removesuffix(_POINTS)}, {_signed(change.high, measure)}]"


def _signed(value: float, measure: Measure) -> str:
    """A difference; of shares it is in percentage points."""
    size = f"{100 * abs(value):.2f}{_POINTS}" if measure.share else number(abs(value), measure)
    return f"{'−' if value < 0 else '+'}{size}"


def _mark(change: Change, measure: Measure) -> str:
    """An arrow for what is significant; a colour if the effect is not negligible (Cohen, 1988), deep if it is large."""
    if not change.significant or not change.difference:
        return ""
    size = abs(change.effect or 0.0)
    marks = ["up" if change.difference > 0 else "down"]
    if size >= _NEGLIGIBLE and measure.better:
        marks.append("good" if change.difference * measure.better > 0 else "bad")
        marks += ["deep"] * (size >= _LARGE)
    return " ".join(marks)
