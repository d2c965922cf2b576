"""Appendix C for readers: Table 23, Table 24 and the numbers of Figure 1 in Markdown, and the figure."""

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sozo.data.markdown import bullets, number, plain, table
from sozo.data.published import load_text
from sozo.eval.agreement.agreement import Agreement, AppendixC
from sozo.eval.agreement.curve import DRAWS, CurvePoint
from sozo.eval.agreement.judging import Graded
from sozo.eval.matrix import Placed
from sozo.eval.rankings import PEOPLE

CURVE = "agreement-curve.svg"
# Enough to read the curve off; agreement.json has every number of stories.
_SIZES = (1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 75, 100)
_PAPER_NAMES = {"openai:text-embedding-3-large": "OpenAI text-embedding-3-large"}
_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: the reader's fonts have kanji, this machine's may not
    "svg.hashsalt": "agreement-curve",  # the same curve is the same file
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
_ABOUT = """\
Encoders score a rewrite by its cosine distance from the story (0 to 2), people by its place among the models' (1 for
the first, 0 for the last), a judge by its grade from 1 to 5, divided by 5. A model's score is the mean over stories.
"""
_ABOUT_AGREEMENT = """\
Pearson's r of the models' means over the stories on which all of them have scores in both, with its 95% interval
(Fisher's z); *p (Holm)* is corrected for the number of evaluations against one reference. *Paper* is the paper's r
with people, over its own 11 models.
"""
_ABOUT_CURVE = f"""\
Mean correlation over {DRAWS:,} random subsets of so many stories (of all, one), and the range of the middle 95% \
of them.
It narrows to nothing at all of them by construction; other stories could give another value. Every number of stories \
is in
agreement.json.

![The curves]({CURVE})
"""


def to_markdown(task: str, result: AppendixC, judged: Graded | None, notes: Sequence[str]) -> str:
    """The page of a task; `notes` say what was left out."""
    rows = [
        [plain(model), *(_placed(row[matrix.name], len(matrix.items)) for matrix in result.tables)]
        for model, row in result.ranked.items()
    ]
    parts = [
        f"# {task.upper()}: how evaluations rank the models, and agree\n",
        _ABOUT,
        "## Table 23: scores and places\n",
        table(("Model", *(plain(matrix.name) for matrix in result.tables)), rows),
        "In a cell: place, score, and the stories with a score of those that any model has one of.\n",
    ]
    if lines := [*notes, *(_judge_notes(judged) if judged else ())]:
        parts.append(bullets(plain(line) for line in lines))
    parts += ["## Table 24: agreement\n", *_agreements(result.compared)]
    if curves := [row for row in result.compared if row.curve]:
        parts.append(f"## Figure 1: correlation with {plain(curves[0].reference)} by number of stories\n")
        parts += [_ABOUT_CURVE, *_curves(curves)]
    return "\n".join(parts)


def _placed(placed: Placed, of: int) -> str:
    return "–" if placed.mean is None else f"{placed.place}. {placed.mean:.4f} ({placed.stories} of {of})"


def _judge_notes(judged: Graded) -> Iterator[str]:
    statuses = Counter(status for of_model in judged.statuses.values() for status in of_model)
    yield f"The judge's grades: {', '.join(f'{s} {n:,} of {statuses.total():,}' for s, n in statuses.items())}."
    judging = judged.judging
    cost = f"{judging.unknown_cost:,} replies of unknown cost" if judging.unknown_cost else f"cost {judging.cost:.4f}"
    yield f"The judge's tokens: {judging.prompt_tokens:,} tokens in, {judging.completion_tokens:,} out, {cost}."
    if judging.stopped:
        yield f"Not finished: {judging.stopped}."


def _agreements(compared: Sequence[Agreement]) -> Iterator[str]:
    if not compared:
        yield "There is nothing to agree with: give people's rankings (--rankings) or a judge (--judge).\n"
        return
    headings = ("Evaluation", "Against", "r", "95% interval", "p", "p (Holm)", "Models", "Stories", "Paper")
    yield table(headings, [_agreement(row) for row in compared])
    yield _ABOUT_AGREEMENT
    if reasons := dict.fromkeys(row.reason for row in compared if row.reason):
        yield bullets(f"{reason}." for reason in reasons)


def _agreement(row: Agreement) -> list[str]:
    interval = "–" if row.ci95 is None else f"{row.ci95[0]:.2f} to {row.ci95[1]:.2f}"
    printed = {line["embedding_model"]: line["pearson"] for line in load_text("sat_embedding_human_correlation")}
    name = _PAPER_NAMES.get(row.evaluation, row.evaluation)
    paper = printed.get(name, "–") if row.reference == PEOPLE else "–"
    numbers = [number(row.pearson), interval, number(row.p, 4), number(row.p_holm, 4)]
    return [plain(row.evaluation), plain(row.reference), *numbers, str(row.models), str(row.stories), paper]


def _curves(curves: Sequence[Agreement]) -> Iterator[str]:
    by_size = [{point.stories: point for point in row.curve} for row in curves]
    most = max(max(points) for points in by_size)
    sizes = [*(size for size in _SIZES if size < most), most]
    rows = [[str(size), *(_on_curve(points.get(size)) for points in by_size)] for size in sizes]
    yield table(("Stories", *(plain(row.evaluation) for row in curves)), rows)
    if undefined := sum(point.undefined for row in curves for point in row.curve):
        yield f"- {undefined:,} subsets have no correlation (all models with the same mean) and are left out.\n"


def _on_curve(point: CurvePoint | None) -> str:
    if point is None or point.mean is None:
        return "–"
    return f"{number(point.mean)} ({number(point.low)} to {number(point.high)})"


def curve_figure(curves: Mapping[str, Sequence[CurvePoint]], reference: str) -> bytes:
    """Evaluations' curves as an SVG file. The band holds 95% of the random subsets of so many stories."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.6, 4.2), layout="constrained")
        axes = figure.add_subplot()
        lines = []
        for curve in curves.values():
            sizes = [point.stories for point in curve]
            # None becomes NaN, which is not drawn.
            mean, low, high = np.array([(point.mean, point.low, point.high) for point in curve], float).T
            (line,) = axes.plot(sizes, mean, linewidth=2, marker="o" if len(sizes) == 1 else None)
            axes.fill_between(sizes, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
            lines.append(line)
        axes.set_xlabel("Stories")
        axes.set_ylabel(f"Pearson correlation with {reference}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        # A name that begins with an underscore would be left out of the legend.
        axes.legend(lines, [f" {name}" for name in curves], frameon=False)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
