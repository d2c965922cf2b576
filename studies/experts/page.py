"""A judge for each expert, for readers: tables in Markdown, what they say, and Figures 1 and 3."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sozo.data.markdown import bullets, plain
from sozo.eval.report.svg import BASELINE, series, svg
from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.numbers import P_VALUE, SHARE, cost_line, n_of, number
from sozo.scoring.table import Cell
from sozo.studies.experts.analysis import (
    OTHERS,
    OWN,
    ComparedVotes,
    ExpertsResult,
    ExpertsRow,
    Value,
)
from sozo.studies.experts.asks import Votes
from sozo.studies.experts.reasons import Reasons
from sozo.studies.pages import PageRow, page_table, standalone

_ALPHA, _R = Measure("alpha", 2), Measure("r", 3)
_COLOURS = {"zero": series(0), "diff": series(1), "same": series(2)}
_WIDE = 4  # panels side by side
_ABOUT = """\
Krippendorff's alpha ({level}) between an expert's scores and a judge's predictions of them. *Within*: alpha for each
expert, then the mean, with Student's interval over experts. *Pooled*: all experts' ratings at once, with a jackknife
over experts; a prediction that only knows how strict each expert is has agreement there that is no agreement about
ideas. The last rows ask nobody: they repeat the median of the expert's own examples, or of all others, or move the
zero-shot prediction by how far the expert is from it. Votes below a confidence of {min_confidence} do not count.
"""
_ABOUT_DIFFERENCES = """\
On the ratings that both predict: the mean over experts of the difference of alphas within them. p: how often a
difference as large comes of swapping the two predictions within ratings; corrected for this table (Holm).
"""
_ABOUT_REASONS = """\
Figure 3: over pairs of experts, Pearson's r of how far they agree (mean alpha) with how alike the reasons of their
judges are (mean cosine). p is by exchanging experts (Mantel), since pairs that share an expert are not independent.
Without examples two experts' prompts are the same, and so are the reasons.
"""


def experts_page(result: ExpertsResult, votes: Votes, notes: Sequence[str]) -> str:
    """The page of a run; `notes` say what was asked."""
    parts = [
        "# A judge for each expert\n",
        bullets(plain(note) for note in [*notes, *_bill(votes)]),
    ]
    parts += [
        "## What it says\n",
        bullets(plain(line) for line in verdicts(result)) or "Nothing yet.\n",
    ]
    about = _ABOUT.format(level=result.level, min_confidence=result.min_confidence)
    parts += [
        "## Agreement with the experts\n",
        about,
        page_table([_row(row) for row in result.rows]),
    ]
    if result.compared:
        parts += [
            "## Differences\n",
            _ABOUT_DIFFERENCES,
            page_table([_compared(pair) for pair in result.compared]),
        ]
    if result.reasons:
        parts += [
            "## Reasons\n",
            _ABOUT_REASONS,
            page_table([_reasons(condition) for condition in result.reasons]),
        ]
    return "\n".join(parts)


def verdicts(result: ExpertsResult) -> Iterator[str]:
    """In words: whether the expert's own examples taught more than a habit, and where pooling hides that."""
    # The rows come by number of examples: the last of these dummies repeats the most.
    most = [OWN, *(row.name for row in result.rows if row.name.startswith(OWN))][-1]
    for pair in result.compared:
        if pair.second != most:
            continue
        gap, dummy = pair.within, f"the dummy {pair.second}"
        if gap.mean is None:
            yield f"{pair.criterion}: too few ratings in common to say whether {pair.first} beats {dummy}."
        elif gap.low is not None and gap.low > 0:
            yield f"{pair.criterion}: {pair.first} beats {dummy} within experts: more than a habit."
        else:
            not_shown = (
                f"it is not shown that {pair.first} beats {dummy} within experts"
            )
            yield f"{pair.criterion}: {not_shown}: it may have learned a habit and no more."
    for criterion in dict.fromkeys(row.criterion for row in result.rows):
        row = result.row(criterion, most)
        if row is None or row.pooled.alpha is None:
            continue
        hidden = [
            _both(other)
            for other in result.rows
            if other.criterion == criterion and _hidden(other, row)
        ]
        if hidden:
            beaten = (
                f"pooled over experts, the dummy {_both(row)} beats {', '.join(hidden)}"
            )
            yield (
                f"{criterion}: {beaten}, and within experts it beats none of these: a pooled alpha pays for knowing "
                "how strict an expert is."
            )


def _hidden(row: ExpertsRow, dummy: ExpertsRow) -> bool:
    """Whether a dummy is ahead of a judge when pooled, and behind it within experts."""
    if row.dummy or row.pooled.alpha is None:
        return False
    better = (row.within.alpha or 0) > (dummy.within.alpha or 0)
    return better and (dummy.pooled.alpha or 0) > row.pooled.alpha


def _both(row: ExpertsRow) -> str:
    return f"{row.name} ({number(row.pooled.alpha, _ALPHA)}; within {number(row.within.alpha, _ALPHA)})"


def _row(row: ExpertsRow) -> PageRow:
    shares = {"Same score": row.exact, "At most 1 apart": row.within_one}
    votes = {"Votes kept": row.kept, "Unreadable": row.unparseable}
    return {
        "Criterion": row.criterion,
        "Prediction": row.name + (" (dummy)" if row.dummy else ""),
        "Alpha within": _alpha(row.within),
        "Experts": row.within.experts,
        "Alpha pooled": _alpha(row.pooled),
        "n of N": n_of(row.n, row.of),
        **{heading: Cell(share, SHARE) for heading, share in shares.items()},
        "Mean error": Cell(row.error, _ALPHA),
        **{heading: Cell(share, SHARE) for heading, share in votes.items()},
    }


def _alpha(value: Value) -> Cell:
    return Cell(Estimate(value.alpha, value.low, value.high), _ALPHA)


def _compared(pair: ComparedVotes) -> PageRow:
    gap = pair.within
    return {
        "Criterion": pair.criterion,
        "Difference": f"{pair.first} - {pair.second}",
        "Alpha within": Cell(Estimate(gap.mean, gap.low, gap.high), _ALPHA, DIFFERENCE),
        "p": Cell(gap.p, P_VALUE),
        "p (Holm)": Cell(gap.p_holm, P_VALUE),
        "Experts": gap.experts,
        "n of N": n_of(gap.n, gap.of),
    }


def _reasons(condition: Reasons) -> PageRow:
    return {
        "Prediction": condition.condition,
        "Pairs": len(condition.points),
        "r": Cell(condition.r, _R),
        "p": Cell(condition.p, P_VALUE),
        "Why not": condition.reason or "",
    }


def _bill(votes: Votes) -> Iterator[str]:
    bill = votes.bill
    cost = cost_line(
        bill.prompt_tokens, bill.completion_tokens, bill.cost, bill.unknown_cost
    )
    yield f"The judge's bill: {cost}."
    for name, statuses in votes.statuses.items():
        shown = votes.examples[name] / max(1, statuses.total())
        counts = ", ".join(f"{status} {n:,}" for status, n in sorted(statuses.items()))
        yield f"{name}: {counts}; {shown:.1f} examples shown on average."
    if bill.stopped:
        yield f"Not finished: {bill.stopped}."


def alpha_figure(result: ExpertsResult, shots: Sequence[int]) -> bytes:
    """Figure 1 as SVG: the curves of zero, diff and same, and of the dummies; a panel for each criterion."""
    criteria = list(dict.fromkeys(row.criterion for row in result.rows))
    columns = min(_WIDE, len(criteria)) or 1
    lines = math.ceil(len(criteria) / columns) or 1

    def draw(axes: Any) -> None:
        figure = axes.figure
        axes.remove()
        panels = figure.subplots(lines, columns, squeeze=False, sharey=True)
        handles: dict[str, Any] = {}
        for panel, criterion in zip(panels.flat, criteria, strict=False):
            panel.set_title(criterion, fontsize=9)
            panel.set_xlabel("examples")
            for name, points in _curves(result, criterion, shots).items():
                style = {"color": BASELINE, "linestyle": "--"}
                if name in _COLOURS:
                    style = {"color": _COLOURS[name], "marker": "o"}
                (handles[name],) = panel.plot(*zip(*points, strict=True), **style)
        for panel in panels.flat[len(criteria) :]:
            panel.set_visible(False)
        panels[0][0].set_ylabel("alpha within experts")
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=4,
            frameon=False,
        )

    size = (3.4 * columns + 0.6, 2.8 * lines + 0.5)
    return standalone(
        svg(draw, size, "experts", "Alpha within experts by number of examples")
    )


def _curves(
    result: ExpertsResult, criterion: str, shots: Sequence[int]
) -> dict[str, list[tuple[int, float]]]:
    """Name -> points (examples, alpha within experts); what is shown no examples is a level line."""
    ends = (shots[0], shots[-1]) if shots else (0, 1)
    curves: dict[str, list[tuple[int, float]]] = {}
    for row in result.rows:
        alpha, (curve, _, examples) = row.within.alpha, row.name.rpartition(" ")
        if row.criterion != criterion or alpha is None:
            continue
        if row.name in ("zero", OTHERS):
            curves[row.name] = [(x, alpha) for x in ends]
        elif examples.isdigit() and shots:
            curves.setdefault(curve, []).append((int(examples), alpha))
    return curves


def reasons_figure(alike: Sequence[Reasons]) -> bytes:
    """Figure 3 as SVG: pairs of experts, with the line through those of each condition that has a correlation."""

    def draw(axes: Any) -> None:
        for condition in alike:
            x, y = (
                np.array([(point.cosine, point.alpha) for point in condition.points])
                .reshape(-1, 2)
                .T
            )
            correlation = "" if condition.r is None else f" (r = {condition.r:.3f})"
            colour = _COLOURS[condition.condition.partition(" ")[0]]
            axes.scatter(
                x, y, s=14, color=colour, label=condition.condition + correlation
            )
            if condition.r is not None:
                ends = np.array([x.min(), x.max()])
                axes.plot(ends, np.polyval(np.polyfit(x, y, 1), ends), color=colour)
        axes.set_xlabel("mean cosine of the judges' reasons")
        axes.set_ylabel("mean alpha of the two experts")
        axes.legend(frameon=False)

    return standalone(
        svg(
            draw,
            (6.4, 4.2),
            "reasons",
            "Agreement of experts by likeness of their judges' reasons",
        )
    )
