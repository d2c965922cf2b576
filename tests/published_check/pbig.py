"""What PBIG-DATA's tables (Hirota et al.) add up to, and what its one correlation needs to be more than chance."""

from __future__ import annotations

from bisect import bisect_left
from math import comb

from published_check.p_values import p_value
from sozo.data.published import load

TENTATIVE = 0.667  # Krippendorff's own lower line, for conclusions that are tentative


def totals() -> dict[str, int]:
    """Annotators, patents, ideas and scores of Table 1, over the three fields."""
    rows = load("pbig_statistics")
    return {
        name: sum(row[name] for row in rows)
        for name in ("annotators", "patents", "ideas", "scores")
    }


def alphas() -> list[float]:
    """The printed cells of Table 2; two are left out there, of fewer than ten samples."""
    return [
        value
        for row in load("pbig_agreement")
        for name, value in row.items()
        if name != "axis" and value is not None
    ]


def most_pairs() -> int:
    """Pairs of annotators of one field, if all shared ideas: the most points that Figure 3 can have."""
    return sum(comb(row["annotators"], 2) for row in load("pbig_statistics"))


def pairs_needed(r: float) -> int:
    """The fewest pairs for which a correlation of `r` has p < 0.05, if pairs were independent.

    >>> pairs_needed(0.5)
    16
    """
    return bisect_left(
        range(10_000_000), True, lo=4, key=lambda n: bool(p_value(r, n) < 0.05)
    )  # p falls with n


def facts() -> list[str]:
    """What can be said from the digits alone."""
    total, cells = totals(), sorted(alphas())
    median = (cells[len(cells) // 2 - 1] + cells[len(cells) // 2]) / 2
    of_field = "; ".join(
        f"{row['domain']} {row['scores'] / row['ideas']:.1f}"
        for row in load("pbig_statistics")
    )
    below, mean = sum(a < 0 for a in cells), sum(cells) / len(cells)
    return [
        f"Table 1: {total['patents']} patents, {total['ideas']} ideas, {total['scores']:,} scores.",
        f"Scores for an idea: {of_field}.",
        f"Table 2: of {len(cells)} printed alphas {below} are below 0; mean {mean:.3f}, median {median:.3f}.",
        f"The highest alpha is {cells[-1]:.2f}: none reaches Krippendorff's {TENTATIVE}.",
        f"Figure 3: r = 0.311 has p < 0.05 from {pairs_needed(0.311)} pairs on, were they independent.",
        "But pairs that share an annotator are not, and how many there were is not printed.",
        f"Within fields there can be {most_pairs()} pairs.",
        "Cannot be recomputed: Figure 1 and the points of Figure 3 (not printed), Table 2 (without the scores).",
    ]
