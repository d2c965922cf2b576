"""The report's charts, as inline SVG that follows the page into dark mode.

Titles and legends are HTML; `salt` tells a page's charts apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sozo.eval.report.svg import series, svg, tip
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import COUNT, interval, number

Steps = Mapping[int, float]  # training step -> value, ascending
_BINS = 60
_CURVE_SIZE = (6.0, 3.1)
_HEIGHT = Measure("height")


@dataclass(frozen=True, slots=True)
class Spot:
    """A method by two values."""

    name: str
    at: tuple[float, float]  # of its mean over seeds
    seeds: Sequence[tuple[float, float]]  # of each seed, small where there are several
    place: int  # among the page's methods: its colour, and with 1 added its number
    ends: tuple[float, float] | None = None  # interval of its height
    share: float = 1.0  # of the largest spot's area

    @property
    def key(self) -> tuple[int, str]:
        """Its colour, and its name behind the number that stands at it."""
        return self.place, f"{self.place + 1}. {self.name}"


def scatter_chart(
    spots: Sequence[Spot],
    across: str,
    up: str,
    salt: str,
    lines: Sequence[tuple[str, Sequence[Spot]]] = (),
) -> str:
    """Methods as numbered spots, each with its seeds and interval; `across` and `up` are axes.

    `lines` join spots, each in matplotlib's style of a line.
    """

    def draw(axes: Any) -> None:
        for style, joined in lines:
            places = zip(*(spot.at for spot in joined), strict=True)
            axes.plot(*places, style, color=series(joined[0].place), linewidth=1.4)
        for spot in spots:
            of_spot = {"color": series(spot.place), "linestyle": "none", "marker": "o"}
            for x, y in spot.seeds if len(spot.seeds) > 1 else ():
                said = tip(f"{spot.name}: {number(x, COUNT)}, {number(y, _HEIGHT)}")
                axes.plot(x, y, markersize=3, gid=said, **of_spot)
            (x, y), ends = spot.at, ""
            if spot.ends is not None:
                ends = f" {interval(*spot.ends, _HEIGHT)}"
                axes.vlines(x, *spot.ends, color=series(spot.place), alpha=0.7)
            said = tip(f"{spot.name}: {number(x, COUNT)}, {number(y, _HEIGHT)}{ends}")
            size = max(3.0, 9 * spot.share**0.5)
            axes.plot(x, y, markersize=size, alpha=0.85, gid=said, **of_spot)
            axes.annotate(
                str(spot.place + 1),
                spot.at,
                (6, 4),
                textcoords="offset points",
                color=series(spot.place),
                fontweight="bold",
            )
        axes.set(xlabel=across, ylabel=up)
        axes.margins(x=0.14, y=0.08)
        if max(spot.at[0] for spot in spots) > 1:  # counts, or percent
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.xaxis.set_major_formatter("{x:,.0f}")
        if across.endswith("(%)"):
            axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 100])

    names = ", ".join(name for _, name in (spot.key for spot in spots))
    return svg(draw, (7.6, 5.0), salt, f"{up} against {across.lower()}: {names}")


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
