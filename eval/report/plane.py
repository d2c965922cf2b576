"""The plane of distance and variety: every method a named point with its seeds, beside what can be reached at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sozo.eval.report.svg import BASELINE, TEXT, series, svg, tip
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import COUNT, interval, number

_SIZE, _LETTER, _LINE = (7.6, 5.0), 6.2, 13.0  # width and height of a letter in points of 1/72 inch
_HEIGHT = Measure("height")
_MANY = 12  # spots
_STYLES = ("solid", (0, (5, 4)))


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
    groups: Mapping[int, str] | None = None,
) -> str:
    """Spots by name, and curves to compare with, the first one solid, as an SVG element; `across` and `up` are axes.

    `groups` say what a colour means, where it means more than the spot's name.
    """

    def draw(axes: Any) -> None:
        for (name, points), style in zip(curves.items(), _STYLES * len(curves), strict=False):
            if points:
                axes.plot(*zip(*points, strict=True), color=BASELINE, linewidth=1.6, linestyle=style, label=name)
        for spot in spots:
            colour = series(spot.colour)
            if len(spot.seeds) > 1:
                for x, y in spot.seeds:
                    label = tip(f"{spot.name}: {number(x, COUNT)}, {number(y, _HEIGHT)}")
                    axes.plot(x, y, color=colour, marker="o", markersize=3, linestyle="none", gid=label)
            if spot.ends is not None:
                axes.plot([spot.at[0]] * 2, spot.ends, color=colour, linewidth=1.6, alpha=0.7)
            x, y = spot.at
            ends = "" if spot.ends is None else f" {interval(*spot.ends, _HEIGHT)}"
            label = tip(f"{spot.name}: {number(x, COUNT)}, {number(y, _HEIGHT)}{ends}")
            axes.plot(x, y, color=colour, marker="o", markersize=9, alpha=0.85, linestyle="none", gid=label)
        axes.set(xlabel=across, ylabel=up)
        axes.margins(x=0.14, y=0.08)
        if max(spot.at[0] for spot in spots) > 1:  # counts, or percent
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.xaxis.set_major_formatter("{x:,.0f}")
        if across.endswith("(%)"):
            axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 100])
        dots = [(series(colour), 9, name) for colour, name in (groups or {}).items()]
        dots += [(TEXT, 3, "one training each")] * any(len(spot.seeds) > 1 for spot in spots)
        for colour, size, name in dots:
            axes.plot([], [], color=colour, marker="o", markersize=size, alpha=0.85, linestyle="none", label=name)
        if curves or dots:
            axes.legend(loc="best", frameon=False, labelcolor=TEXT)
        for spot, place in zip(spots, _places(axes, spots), strict=True):
            if place is None:
                continue
            axes.annotate(
                spot.name,
                spot.at,
                place[:2],
                textcoords="offset points",
                ha=place[2],
                va="center",
                color=series(spot.colour),
                fontweight="bold" if spot.colour else "normal",
            )

    return svg(draw, _SIZE, salt, f"{up} against {across.lower()}: " + ", ".join(spot.name for spot in spots))


def _places(axes: Any, spots: Sequence[Spot]) -> list[tuple[int, int, str] | None]:
    """Where each name stands, in points from its spot, so that it covers neither spots nor the names before it.

    Of many spots those have no name for which there is no room: the page shows it under the pointer.
    """
    axes.figure.draw_without_rendering()  # only then does it know where its points are
    scale = 72 / axes.figure.dpi
    at = [scale * axes.transData.transform(spot.at) for spot in spots]
    marks = [scale * axes.transData.transform(seed) for spot in spots for seed in spot.seeds]
    taken = [(x - r, y - r, x + r, y + r) for points, r in ((at, 5), (marks, 2)) for x, y in points]
    low, high = scale * axes.bbox.x0, scale * axes.bbox.x1
    places: list[tuple[int, int, str] | None] = []
    for spot, (x, y) in zip(spots, at, strict=True):
        width, chosen = _LETTER * len(spot.name), None
        for far, above, side in product((9, 22), (0, 11, -11, 22, -22, 33, -33), ("left", "right")):
            left = x + far if side == "left" else x - far - width
            box = (left, y + above - _LINE / 2, left + width, y + above + _LINE / 2)
            free = not any(box[0] < c and a < box[2] and box[1] < d and b < box[3] for a, b, c, d in taken)
            free &= low <= left and left + width <= high
            if free or (chosen is None and len(spots) <= _MANY):
                chosen = (far if side == "left" else -far, above, side), box
            if free:
                break
        places.append(chosen and chosen[0])
        taken += [chosen[1]] if chosen else []
    return places
