"""The plane of distance and variety: every method a named point with its seeds, beside what can be reached at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sozo.eval.report.svg import BASELINE, TEXT, series, svg, tip
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import COUNT, interval, number

_SIZE, _LETTER, _LINE, _GAP = (
    (7.6, 5.0),
    6.2,
    11.0,
    9,
)  # a letter's width, its line, its gap in points of 1/72 inch
_HEIGHT = Measure("height")
_MANY = 12  # spots


@dataclass(frozen=True, slots=True)
class Spot:
    """A method in the plane."""

    name: str
    at: tuple[float, float]  # of its mean over seeds
    seeds: Sequence[tuple[float, float]]  # of each seed, drawn small
    colour: int  # number of the page's colour: 0 is grey
    ends: tuple[float, float] | None = None  # interval of its height


def plane_chart(
    spots: Sequence[Spot],
    curves: Mapping[str, Sequence[tuple[float, float]]],
    across: str,
    up: str,
    salt: str,
) -> str:
    """Spots by name, and curves to compare with, as an SVG element; `across` and `up` are axes."""

    def draw(axes: Any) -> None:
        for name, points in curves.items():
            if points:
                axes.plot(
                    *zip(*points, strict=True),
                    color=BASELINE,
                    linewidth=1.6,
                    label=name,
                )
        for spot in spots:
            colour = series(spot.colour)
            if len(spot.seeds) > 1:
                for x, y in spot.seeds:
                    label = tip(
                        f"{spot.name}: {number(x, COUNT)}, {number(y, _HEIGHT)}"
                    )
                    axes.plot(
                        x,
                        y,
                        color=colour,
                        marker="o",
                        markersize=3,
                        linestyle="none",
                        gid=label,
                    )
            if spot.ends is not None:
                axes.plot(
                    [spot.at[0]] * 2, spot.ends, color=colour, linewidth=1.6, alpha=0.7
                )
            x, y = spot.at
            ends = "" if spot.ends is None else f" {interval(*spot.ends, _HEIGHT)}"
            label = tip(f"{spot.name}: {number(x, COUNT)}, {number(y, _HEIGHT)}{ends}")
            axes.plot(
                x,
                y,
                color=colour,
                marker="o",
                markersize=9,
                alpha=0.85,
                linestyle="none",
                gid=label,
            )
        axes.set(xlabel=across, ylabel=up)
        axes.margins(x=0.14, y=0.08)
        if max(spot.at[0] for spot in spots) > 1:  # counts, or percent
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.xaxis.set_major_formatter("{x:,.0f}")
        if across.endswith("(%)"):
            axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 100])
        if any(curves.values()):
            axes.legend(loc="best", frameon=False, labelcolor=TEXT)
        for spot, place in zip(spots, _places(axes, spots), strict=True):
            if place is not None:
                style = {
                    "color": series(spot.colour),
                    "fontweight": "bold" if spot.colour else "normal",
                }
                side = "left" if place[0] > 0 else "right"
                axes.annotate(
                    spot.name,
                    spot.at,
                    place,
                    textcoords="offset points",
                    ha=side,
                    va="center",
                    **style,
                )

    return svg(
        draw,
        _SIZE,
        salt,
        f"{up} against {across.lower()}: " + ", ".join(spot.name for spot in spots),
    )


def _places(axes: Any, spots: Sequence[Spot]) -> list[tuple[float, float] | None]:
    """Where each name stands, in points from its spot, so that it covers neither spots nor the names before it.

    Of many spots those have no name for which there is no room: the page shows it under the pointer.
    """
    axes.figure.draw_without_rendering()  # only then does it know where its points are
    scale = 72 / axes.figure.dpi
    at = [scale * axes.transData.transform(spot.at) for spot in spots]
    low, high = scale * axes.bbox.x0, scale * axes.bbox.x1
    taken = [(x - _GAP / 2, x + _GAP / 2, y) for x, y in at]
    places: list[tuple[float, float] | None] = []
    for spot, (x, y) in zip(spots, at, strict=True):
        width = _LETTER * len(spot.name)
        free = (
            (left, above)
            for above, left in product(
                (0, 11, -11, 22, -22, 33, -33), (x + _GAP, x - _GAP - width)
            )
            if low <= left <= high - width
            and not any(
                left < b and a < left + width and abs(y + above - height) < _LINE
                for a, b, height in taken
            )
        )
        if place := next(free, None if len(spots) > _MANY else (x + _GAP, 0)):
            left, above = place
            taken.append((left, left + width, y + above))
            places.append((_GAP if left > x else -_GAP, above))
        else:
            places.append(None)
    return places
