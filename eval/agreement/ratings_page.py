"""Agreement of raters for readers: Tables 1 and 2 of the PBIG-DATA paper, pairs, stages and raters in Markdown."""

from collections.abc import Sequence

from sozo.data.markdown import number, plain, table
from sozo.data.ratings import Rating
from sozo.eval.agreement.raters import ALL, Cell, Habit
from sozo.eval.agreement.stages import Violation, counted
from sozo.scoring.statistics.agreement import Alpha

_SHOWN = 20  # of a list, the rest is in agreement.json
_ABOUT_ALPHA = """\
Krippendorff's alpha ({level}): 1 is full agreement, 0 what scores dealt at random have, below 0 systematic
disagreement; from 0.8 on he takes data for reliable, from 0.667 on for tentative conclusions. The interval (95%) is for
these raters and other items. *Items* have two scores or more; agreement.json has all four levels.
"""
_ABOUT_PAIRS = """\
Means over the pairs of raters with {least} common items or more. *Above own median* is the Jaccard index of the items
that each of two rates above the median of all their scores; beside it what random sets as large would have.
"""


def ratings_page(
    name: str,
    ratings: Sequence[Rating],
    cells: Sequence[Cell],
    found: Sequence[Violation] | None,
    of_raters: Sequence[Habit],
    level: str,
    least: int,
) -> str:
    """The page of a file of ratings; `found` is None without a rubric that could tell stages."""
    parts = [f"# How far raters agree: {plain(name)}\n", "## What was rated\n", _counts(ratings)]
    parts += ["## Krippendorff's alpha\n", _ABOUT_ALPHA.format(level=level)]
    headings = ("Criterion", "Domain", "Alpha", "95% interval", "Items", "Scores", "Raters", "Why not")
    parts.append(table(headings, [[*_names(cell), *alpha_cells(cell.alphas[level])] for cell in cells]))
    rows = [[*_names(cell), *_pair_cells(cell)] for cell in cells if cell.pairs.pairs]
    parts += ["## Pairs of raters\n", _ABOUT_PAIRS.format(least=least)]
    of_pairs = ("Criterion", "Domain", "Pairs", "Alpha", "Above own median", "By chance")
    parts.append(table(of_pairs, rows) if rows else f"No two raters have {least} items in common.\n")
    if found is not None:
        parts += ["## Stages\n", _stages(found, len(ratings))]
    rows = [
        [plain(h.rater), plain(h.domain), plain(h.criterion), f"{h.scores:,}", number(h.mean, 2), number(h.sd, 2)]
        for h in of_raters
    ]
    parts += ["## Raters\n", table(("Rater", "Domain", "Criterion", "Scores", "Mean", "Sd"), rows)]
    return "\n".join(parts)


def alpha_cells(result: Alpha) -> list[str]:
    """Alpha, interval, units, scores, raters and the reason of what is missing."""
    interval = "–" if result.low is None else f"{result.low:.2f} to {result.high:.2f}"
    counts = [f"{count:,}" for count in (result.units, result.scores, result.raters)]
    return [number(result.alpha, 2), interval, *counts, result.reason or ""]


def _names(cell: Cell) -> list[str]:
    without = "" if cell.without is None else f" without {cell.without}"
    return [plain(cell.criterion) + without, plain(cell.domain) or "–"]


def _pair_cells(cell: Cell) -> list[str]:
    pairs = cell.pairs
    return [f"{pairs.pairs:,}", *(number(value, 2) for value in (pairs.alpha, pairs.jaccard, pairs.by_chance))]


def _counts(ratings: Sequence[Rating]) -> str:
    domains = list(dict.fromkeys(rating.domain for rating in ratings))
    rows = []
    for domain in [*domains, ALL] if len(domains) > 1 else domains:
        part = [rating for rating in ratings if domain in (rating.domain, ALL)]
        items = len({rating.unit for rating in part})
        patents = len({rating.patent for rating in part} - {""})
        raters = len({rating.rater for rating in part})
        each = f"{len(part) / items:.1f}"
        rows.append([plain(domain) or "–", f"{raters:,}", f"{patents or '–'}", f"{items:,}", f"{len(part):,}", each])
    return table(("Domain", "Raters", "Patents", "Items", "Scores", "Scores per item"), rows)


def _stages(found: Sequence[Violation], of: int) -> str:
    if not found:
        return "Every score keeps to the rubric's stages and groups.\n"
    rows = [[plain(criterion), plain(why), f"{n:,}"] for (criterion, why), n in counted(found).items()]
    lines = [f"{len(found):,} of {of:,} scores do not keep to the rubric's stages or groups. All count above.\n"]
    lines.append(table(("Criterion", "Why", "Scores"), rows))
    first = [
        [plain(v.rater), plain(f"{v.model} {v.item}".strip()), plain(v.criterion), f"{v.score:g}", plain(v.why)]
        for v in found[:_SHOWN]
    ]
    lines.append(table(("Rater", "Item", "Criterion", "Score", "Why"), first))
    if len(found) > _SHOWN:
        lines.append(f"{len(found) - _SHOWN:,} more are in agreement.json.\n")
    return "\n".join(lines)
