"""Appendix C for readers: Table 23, Table 24 and the numbers of Figure 1 in Markdown, and the figure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sozo.data.markdown import bullets, plain
from sozo.data.published import load_text
from sozo.eval.report.svg import series, svg
from sozo.scoring.embeddings.prompts import split_prompt
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import P_VALUE, cost_line, n_of
from sozo.scoring.table import Cell
from sozo.studies.agreement.appendix_c import (
    DRAWS,
    Agreement,
    AppendixC,
    CurvePoint,
    Graded,
    Placed,
)
from sozo.studies.pages import PageRow, page_table, standalone

CURVE = "agreement-curve.svg"
PEOPLE = "human"  # the name of people's evaluation, as in Table 23
# Enough to read the curve off; agreement.json has every number of stories.
_SIZES = (1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 75, 100)
_PAPER_NAMES = {"openai:text-embedding-3-large": "OpenAI text-embedding-3-large"}
_R, _MEAN = Measure("r", 3), Measure("mean", 4)
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


def to_markdown(
    task: str, result: AppendixC, graded: Graded | None, notes: Sequence[str]
) -> str:
    """The page of a task; `notes` say what was left out."""
    places: list[PageRow] = []
    for model, row in result.ranked.items():
        cells = {
            name: _placed(placed, result.tables[name].shape[1])
            for name, placed in row.items()
        }
        places.append({"Model": model, **cells})
    parts = [
        f"# {task.upper()}: how evaluations rank the models, and agree\n",
        _ABOUT,
        "## Table 23: scores and places\n",
        page_table(places),
        "In a cell: score, the stories with a score of those that any model has one of, and the place.\n",
    ]
    if lines := [*notes, *(_judge_notes(graded) if graded else ())]:
        parts.append(bullets(plain(line) for line in lines))
    parts += ["## Table 24: agreement\n", *_agreements(result.compared)]
    if curves := [row for row in result.compared if row.curve]:
        parts.append(
            f"## Figure 1: correlation with {plain(curves[0].reference)} by number of stories\n"
        )
        parts += [_ABOUT_CURVE, *_curves(curves)]
    return "\n".join(parts)


def _placed(placed: Placed, stories: int) -> Cell:
    if placed.place is None:
        return Cell()
    return Cell(
        Estimate(placed.mean, n=placed.stories),
        _MEAN,
        of=stories,
        below=(f"place {placed.place}",),
    )


def _judge_notes(graded: Graded) -> Iterator[str]:
    judging, counts = graded.judging, sum(graded.statuses.values(), Counter[str]())
    grades = ", ".join(
        f"{status} {n_of(n, counts.total())}" for status, n in counts.items()
    )
    yield f"The judge's grades: {grades}."
    bill = (
        judging.prompt_tokens,
        judging.completion_tokens,
        judging.cost,
        judging.unknown_cost,
    )
    yield f"The judge's bill: {cost_line(*bill)}."
    if judging.stopped:
        yield f"Not finished: {judging.stopped}."


def _agreements(compared: Sequence[Agreement]) -> Iterator[str]:
    if not compared:
        yield "There is nothing to agree with: give people's rankings (--rankings) or a judge (--judge).\n"
        return
    yield page_table([_agreement(row) for row in compared])
    yield _ABOUT_AGREEMENT
    if reasons := dict.fromkeys(row.reason for row in compared if row.reason):
        yield bullets(f"{reason}." for reason in reasons)


def _agreement(row: Agreement) -> PageRow:
    name = _PAPER_NAMES.get(
        row.evaluation, split_prompt(row.evaluation)[0]
    )  # the paper says nothing of prompts
    papers = {
        line["embedding_model"]: line["pearson"]
        for line in load_text("sat_embedding_human_correlation")
    }
    return {
        "Evaluation": row.evaluation,
        "Against": row.reference,
        "r": Cell(Estimate(row.pearson, *(row.ci95 or ())), _R),
        "p": Cell(row.p, P_VALUE),
        "p (Holm)": Cell(row.p_holm, P_VALUE),
        "Models": row.models,
        "Stories": row.stories,
        "Paper": papers.get(name) if row.reference == PEOPLE else None,
    }


def _curves(curves: Sequence[Agreement]) -> Iterator[str]:
    most = max(row.curve[-1].stories for row in curves)
    rows: list[PageRow] = []
    for size in [*(size for size in _SIZES if size < most), most]:
        cells = {row.evaluation: _on_curve(row.curve, size) for row in curves}
        rows.append({"Stories": size, **cells})
    yield page_table(rows)
    if undefined := sum(point.undefined for row in curves for point in row.curve):
        yield f"- {undefined:,} subsets have no correlation (all models with the same mean) and are left out.\n"


def _on_curve(curve: Sequence[CurvePoint], stories: int) -> Cell:
    if stories > len(curve):
        return Cell()
    point = curve[stories - 1]
    return Cell(Estimate(point.mean, point.low, point.high), _R)


def curve_figure(curves: Mapping[str, Sequence[CurvePoint]], reference: str) -> bytes:
    """Evaluations' curves as an SVG file. The band holds 95% of the random subsets of so many stories."""

    def draw(axes: Any) -> None:
        lines = []
        for k, curve in enumerate(curves.values()):
            sizes = [point.stories for point in curve]
            # None becomes NaN, which is not drawn.
            mean, low, high = np.array(
                [(point.mean, point.low, point.high) for point in curve], float
            ).T
            lines += axes.plot(
                sizes,
                mean,
                color=series(k),
                linewidth=2,
                marker="o" if len(sizes) == 1 else None,
            )
            axes.fill_between(
                sizes, low, high, color=series(k), alpha=0.15, linewidth=0
            )
        axes.set_xlabel("Stories")
        axes.set_ylabel(f"Pearson correlation with {reference}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        # A name that begins with an underscore would be left out of the legend.
        axes.legend(lines, [f" {name}" for name in curves], frameon=False)

    return standalone(
        svg(
            draw,
            (7.6, 4.2),
            "agreement-curve",
            f"Correlation with {reference} by number of stories",
        )
    )
