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

    @property
    def key(self) -> tuple[int, str]:
        """Its colour, and its name behind the number that stands at it."""
        return self.place, f"{self.place + 1}. {self.name}"


def scatter_chart(
    spots: Sequence[Spot],
    across: str,
    up: str,
    salt: str,
    lines: Sequence[Sequence[Spot]] = (),
) -> str:
    """Methods as numbered spots, each with its seeds and interval; `across` and `up` are axes, `lines` join spots."""

    def draw(axes: Any) -> None:
        for joined in lines:
            places = zip(*(spot.at for spot in joined), strict=True)
            axes.plot(*places, color=series(joined[0].place), linewidth=1.4)
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
            axes.plot(x, y, markersize=7, alpha=0.85, gid=said, **of_spot)
            axes.annotate(
                str(spot.place + 1),
                spot.at,
                # The numbers of neighbours stand on other sides.
                (
                    6 if spot.place % 4 in (0, 3) else -14,
                    4 if spot.place % 4 < 2 else -12,
                ),
                textcoords="offset points",
                color=series(spot.place),
                fontweight="bold",
            )
        axes.set(xlabel=across, ylabel=up)
        axes.margins(x=0.14, y=0.08)

    names = ", ".join(spot.key[1] for spot in spots)
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
                shape = {"baseline": floor, "color": series(i)}
                axes.stairs(height, edges, fill=True, alpha=0.28, **shape)
                axes.stairs(height, edges, linewidth=1.4, **shape)
                mean, name = values.mean(), list(scores)[i]
                said = tip(f"{name}: {mean:.4g}, n = {len(values):,}")
                axes.vlines(
                    mean, floor, floor + 0.85, color=series(i), linewidth=2.2, gid=said
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
