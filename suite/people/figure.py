"""The figure of a study with lists: each participant's scores, the means with their intervals, and what scores go with."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from sozo.data.record import write_whole
from sozo.eval.report.svg import picture, series, svg, tip
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import number
from sozo.scoring.statistics import mean_interval
from sozo.suite.people.designs import Sample

if TYPE_CHECKING:
    import pandas as pd

_MARKERS = "osD^vP*X"  # of groups, which print in black as well
_WIDTH = 0.6  # of a time, which its groups share
_LETTERS = 28  # of full width below the axis
_SCORE = Measure("score", 4)


def design_figure(
    sample: Sample, correlates: "pd.DataFrame", score: str, folder: Path
) -> tuple[str, bool]:
    """Scores by time and group, and against each correlate: figure.svg and figure.png in a folder, and a page's SVG.

    `score` is what the axis of scores is called. Beside it, whether the PNG's fonts have all letters.
    """
    scores, parts = sample.scores, sample.parts
    panels = 1 + len(correlates.columns)
    size = (1.0 + 4.5 * panels, 3.8)

    def draw(first: Any, *others: Any) -> None:
        for k, (name, own) in enumerate(parts.items()):
            _draw_group(first, own, k, len(parts), name)
        times = scores.columns
        width = max(4, _LETTERS // len(times))
        first.set_xticks(range(len(times)), [fill(time, width) for time in times])
        first.set_xlim(-0.6, len(times) - 0.4)
        first.set_ylabel(score)
        if len(parts) > 1:
            above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4}
            first.legend(frameon=False, **above)
        for axes, column in zip(others, correlates, strict=True):
            both = scores.mean(axis=1).to_frame().join(correlates[column]).dropna()
            axes.plot(both[column], both[0], "o", color=series(0), alpha=0.6)
            axes.set_xlabel(column)
            axes.set_ylabel(score)

    for kind in ("svg", "png"):
        file, whole = picture(draw, size, kind, panels)
        write_whole(folder / f"figure.{kind}", file)
    return svg(draw, size, "design", score, panels), whole


def _draw_group(
    axes: Any, scores: "pd.DataFrame", k: int, groups: int, name: str
) -> None:
    """One group: a pale line or point for each participant, and the mean of each time with its interval."""
    step = _WIDTH / groups
    places = np.arange(scores.shape[1]) + (k - (groups - 1) / 2) * step
    colour, marker = series(k), _MARKERS[k % len(_MARKERS)]
    pale = {"color": colour, "alpha": 0.3, "linewidth": 0.8, "markersize": 3}
    # Equal scores would hide each other: participants lie beside each other, always in the same way.
    aside = np.random.default_rng(0).uniform(-step / 4, step / 4, len(scores))
    for own, shift in zip(scores.to_numpy(), aside, strict=True):
        axes.plot(places + shift, own, marker=marker, **pale)
    means = [mean_interval(own[np.isfinite(own)]) for own in scores.to_numpy().T]
    values = [np.nan if mean.value is None else mean.value for mean in means]
    axes.plot(places, values, color=colour, linewidth=1.5)
    label = name
    for place, mean in zip(places, means, strict=True):
        if mean.value is None:
            continue
        if mean.low is not None:
            axes.vlines(place, mean.low, mean.high, color=colour, linewidth=2)
        said = tip(f"{name} {number(mean.value, _SCORE)}".strip())
        axes.plot(
            place,
            mean.value,
            marker=marker,
            markersize=9,
            linestyle="none",
            color=colour,
            gid=said,
            label=label,
        )
        label = "_nolegend_"
