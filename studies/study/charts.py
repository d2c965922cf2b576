"""The chart that only a study's page has."""

from collections.abc import Mapping, Sequence
from typing import Any

from sozo.eval.report.svg import BASELINE, series, svg


def different_words_chart(
    curves: Mapping[str, Sequence[tuple[int, float]]], equal_size: int
) -> str:
    """Expected different words of growing samples, compared at `equal_size`: name -> (usable answers, different words)."""

    def draw(axes: Any) -> None:
        axes.axvline(equal_size, color=BASELINE, linestyle=(0, (5, 4)), linewidth=1.4)
        for i, points in enumerate(curves.values()):
            if points:
                axes.plot(*zip(*points, strict=True), color=series(i), linewidth=2)
                axes.plot(*points[-1], color=series(i), marker="o", markersize=4)
        axes.set(
            xlabel="Usable answers",
            ylabel="Different words",
            xlim=(0, None),
            ylim=(0, None),
        )
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")

    return svg(
        draw,
        (7.6, 3.4),
        "different-words",
        "Different words by number of usable answers: " + ", ".join(curves),
    )
