"""Figure 1: correlation against the number of stories, a line with its band for each evaluation, as an SVG file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.agreement.agreement import Agreement

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: the reader's fonts have kanji, this machine's may not
    "svg.hashsalt": "agreement-curve",  # the same curve is the same file
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


def curve_figure(curves: Sequence[Agreement]) -> bytes:
    """The curves of evaluations that have one. The band holds 95% of the random subsets of so many stories."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.6, 4.2), layout="constrained")
        axes = figure.add_subplot()
        lines = []
        for row in curves:
            sizes = [point.stories for point in row.curve]
            # None becomes NaN, which is not drawn.
            mean, low, high = np.array([(point.mean, point.low, point.high) for point in row.curve], float).T
            (line,) = axes.plot(sizes, mean, linewidth=2, marker="o" if len(sizes) == 1 else None)
            axes.fill_between(sizes, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
            lines.append(line)
        axes.set_xlabel("Stories")
        axes.set_ylabel(f"Pearson correlation with {curves[0].reference}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        # A name that begins with an underscore would be left out of the legend.
        axes.legend(lines, [f" {row.evaluation}" for row in curves], frameon=False)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
