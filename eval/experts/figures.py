"""Figures 1 and 3 as SVG: alpha within experts by number of examples; agreement of experts by likeness of reasons."""

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sozo.eval.experts.analysis import OTHERS, Result, Row, own_name
from sozo.eval.experts.reasons import Reasons

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "experts",  # the same result is the same file
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
# The paper's colours: green, blue, red.
_COLOURS = {"zero": "tab:green", "diff": "tab:blue", "same": "tab:red"}
_WIDE = 4


def alpha_figure(result: Result, shots: Sequence[int]) -> bytes:
    """The curves of zero, diff and same, and of the dummy that repeats the expert's median."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    criteria = list(dict.fromkeys(row.criterion for row in result.rows))
    columns = min(_WIDE, len(criteria)) or 1
    lines = math.ceil(len(criteria) / columns) or 1
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(3.4 * columns + 0.6, 2.8 * lines + 0.5), layout="constrained")
        panels = figure.subplots(lines, columns, squeeze=False, sharey=True)
        handles: dict[str, Any] = {}
        for k, axes in enumerate(panels.flat):
            if k >= len(criteria):
                axes.set_visible(False)
                continue
            axes.set_title(criteria[k], fontsize=9)
            axes.set_xlabel("examples")
            for name, points in _curves(result, criteria[k], shots).items():
                dummy = name not in _COLOURS
                style = {"color": "tab:gray", "linestyle": "--"} if dummy else {"color": _COLOURS[name], "marker": "o"}
                (handles[name],) = axes.plot(*zip(*points, strict=True), **style)
        panels[0][0].set_ylabel("alpha within experts")
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
        return _svg(figure)


def reasons_figure(alike: Sequence[Reasons]) -> bytes:
    """Pairs of experts as points, with the line through those of each condition that has a correlation."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for one in alike:
            x, y = np.array([(point.cosine, point.alpha) for point in one.points]).reshape(-1, 2).T
            label = one.condition if one.r is None else f"{one.condition} (r = {one.r:.3f})"
            colour = _COLOURS[one.condition.partition(" ")[0]]
            axes.scatter(x, y, s=14, color=colour, label=label)
            if one.r is not None:
                ends = np.array([x.min(), x.max()])
                axes.plot(ends, np.polyval(np.polyfit(x, y, 1), ends), color=colour)
        axes.set_xlabel("mean cosine of the judges' reasons")
        axes.set_ylabel("mean alpha of the two experts")
        axes.legend(frameon=False)
        return _svg(figure)


def _svg(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _curves(result: Result, criterion: str, shots: Sequence[int]) -> dict[str, list[tuple[int, float]]]:
    curves: dict[str, list[tuple[int, float]]] = {}
    ends = [min(shots), max(shots)] if shots else [0, 1]

    def add(name: str, x: int, row: Row | None) -> None:
        if row is not None and row.within.alpha is not None:
            curves.setdefault(name, []).append((x, row.within.alpha))

    for x in ends:
        add("zero", x, result.row(criterion, "zero"))
        add(OTHERS, x, result.row(criterion, OTHERS))
    for x in sorted(shots):
        for name in ("diff", "same"):
            add(name, x, result.row(criterion, f"{name} {x}"))
        add("own median", x, result.row(criterion, own_name(x)))
    return curves
