"""The report's charts, as inline SVG that follows the page into dark mode.

Titles and legends are HTML; `salt` tells a page's charts apart.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sozo.eval.report.svg import series, svg, tip

Steps = Mapping[int, float]  # training step -> value, ascending
_BINS = 60
_CURVE_SIZE = (6.0, 3.1)


def steps_chart(measure: str, lines: Mapping[str, Steps], number: int) -> str:
    """A measure over the steps of trainings (name -> step -> value), a line each; `number` tells a page's apart."""

    def draw(axes: Any) -> None:
        for colour, values in enumerate(lines.values()):
            marker = "o" if len(values) <= 40 else None
            axes.plot(
                list(values),
                list(values.values()),
                color=series(colour),
                linewidth=2,
                marker=marker,
                markersize=3.5,
            )
        axes.set_xlabel("Training step")
        axes.margins(x=0.02, y=0.12)
        axes.xaxis.get_major_locator().set_params(integer=True)

    return svg(
        draw,
        _CURVE_SIZE,
        f"steps{number}",
        f"{measure} over training steps: " + ", ".join(lines),
    )


def ridge_chart(scores: Mapping[str, Any], salt: str, across: str) -> str:
    """Distributions of scores by name, one below the other, each with its mean; `across` is what a score is."""
    arrays = [np.asarray(values, np.float64) for values in scores.values()]
    edges = np.histogram_bin_edges(np.concatenate(arrays), _BINS)
    names = list(map(_short, scores))

    def draw(axes: Any) -> None:
        for i, values in enumerate(arrays):
            floor = len(arrays) - 1 - i
            if len(values):
                counts = np.histogram(values, edges)[0]
                height = floor + 0.85 * counts / counts.max()
                axes.stairs(
                    height,
                    edges,
                    baseline=floor,
                    fill=True,
                    color=series(i),
                    alpha=0.28,
                )
                axes.stairs(
                    height, edges, baseline=floor, color=series(i), linewidth=1.4
                )
                mean, said = (
                    values.mean(),
                    tip(f"{list(scores)[i]}: {values.mean():.4g}, n = {len(values):,}"),
                )
                axes.plot(
                    [mean] * 2,
                    [floor, floor + 0.85],
                    color=series(i),
                    linewidth=2.2,
                    gid=said,
                )
        axes.set_yticks(range(len(arrays) - 1, -1, -1), names)
        axes.set(xlabel=across, ylim=(-0.1, len(arrays)))

    return svg(
        draw,
        (7.6, 1.1 + 0.6 * len(arrays)),
        salt,
        f"Distribution of {across}s: " + ", ".join(scores),
    )


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:25]}…"
