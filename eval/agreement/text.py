"""Appendix C for readers: Table 23, Table 24 and the numbers of Figure 1 in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from data.markdown import plain, table
from data.published import load_text
from eval.agreement.appendix_c import DRAWS, AppendixC, Compared
from eval.agreement.judging import Graded
from eval.matrix import Placed
from eval.ratings import PEOPLE

CURVE = "agreement-curve.svg"
# Enough to read the curve off; agreement.json has every number of stories.
_SIZES = (1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 75, 100)
_PAPER_NAMES = {"openai:text-embedding-3-large": "OpenAI text-embedding-3-large"}
_ABOUT = """\
Encoders score a rewrite by its cosine distance from the story (0 to 2), people by its place among the models' (1 for
the first, 0 for the last), a judge by its grade from 1 to 5, divided by 5. A model's score is the mean over stories.
"""


def to_markdown(task: str, result: AppendixC, judged: Graded | None, notes: Sequence[str]) -> str:
    """The page.

    Args:
        task: The task's name.
        result: What was compared.
        judged: What became of the judge's part, if there is a judge.
        notes: What was left out.
    """
    names = [matrix.name for matrix in result.tables]
    rows = [
        [plain(row.model), *(_placed(row.by_evaluation[m.name], len(m.items)) for m in result.tables)]
        for row in result.ranked
    ]
    parts = [
        f"# {task.upper()}: how evaluations rank the models, and agree\n",
        _ABOUT,
        "## Table 23: scores and places\n",
        table(("Model", *map(plain, names)), rows),
        "In a cell: place, score, and the stories with a score of those that any model has one of.\n",
    ]
    lines = [*notes, *(_judge_notes(judged) if judged else ())]
    if lines:
        parts.append("\n".join(f"- {plain(line)}" for line in lines) + "\n")
    parts += ["## Table 24: agreement\n", *_agreements(result.compared)]
    if curves := [row for row in result.compared if row.curve]:
        parts += [
            f"## Figure 1: correlation with {plain(curves[0].agreement.reference)} by number of stories\n",
            *_curves(curves),
        ]
    return "\n".join(parts)


def _placed(placed: Placed, of: int) -> str:
    return "–" if placed.mean is None else f"{placed.place}. {placed.mean:.4f} ({placed.stories} of {of})"


def _judge_notes(judged: Graded) -> Iterator[str]:
    statuses = [status for of_model in judged.statuses.values() for status in of_model]
    counts = {status: statuses.count(status) for status in dict.fromkeys(statuses)}
    yield f"The judge's grades: {', '.join(f'{s} {n:,} of {len(statuses):,}' for s, n in counts.items())}."
    judging = judged.judging
    cost = f"{judging.unknown_cost:,} replies of unknown cost" if judging.unknown_cost else f"cost {judging.cost:.4f}"
    yield f"The judge's tokens: {judging.prompt_tokens:,} tokens in, {judging.completion_tokens:,} out, {cost}."
    if judging.stopped:
        yield f"Not finished: {judging.stopped}."


def _agreements(compared: Sequence[Compared]) -> Iterator[str]:
    if not compared:
        yield "There is nothing to agree with: give people's rankings (--rankings) or a judge (--judge).\n"
        return
    headings = ("Evaluation", "Against", "r", "95% interval", "p", "p (Holm)", "Models", "Stories", "Paper")
    yield table(headings, [_agreement(row) for row in compared])
    yield (
        "Pearson's r of the models' means over the stories on which all of them have scores in both, with its 95% "
        "interval\n(Fisher's z); *p (Holm)* is corrected for the number of evaluations against one reference. *Paper* "
        "is the paper's r\nwith people, over its own 11 models.\n"
    )
    if reasons := dict.fromkeys(row.agreement.reason for row in compared if row.agreement.reason):
        yield "\n".join(f"- {reason}." for reason in reasons) + "\n"


def _agreement(row: Compared) -> list[str]:
    result = row.agreement
    interval = "–" if result.ci95 is None else f"{result.ci95[0]:.2f} to {result.ci95[1]:.2f}"
    p_values = ["–" if value is None else f"{value:.4f}" for value in (result.p, row.p_holm)]
    printed = {line["embedding_model"]: line["pearson"] for line in load_text("sat_embedding_human_correlation")}
    name = _PAPER_NAMES.get(result.evaluation, result.evaluation)
    paper = printed.get(name, "–") if result.reference == PEOPLE else "–"
    counts = [str(result.models), str(result.stories), paper]
    return [plain(result.evaluation), plain(result.reference), _number(result.pearson), interval, *p_values, *counts]


def _curves(curves: Sequence[Compared]) -> Iterator[str]:
    yield (
        f"Mean correlation over {DRAWS:,} random subsets of so many stories (of all, one), and the range of the middle "
        f"95% of them.\nIt narrows to nothing at all of them by construction; other stories could give another value. "
        f"Every number of stories is in\nagreement.json.\n\n![The curves]({CURVE})\n"
    )
    by_size = [{point.stories: point for point in row.curve} for row in curves]
    most = max(max(points) for points in by_size)
    rows = []
    for size in (*(size for size in _SIZES if size < most), most):
        cells = []
        for points in by_size:
            point = points.get(size)
            if point is None or point.mean is None:
                cells.append("–")
            else:
                cells.append(f"{_number(point.mean)} ({_number(point.low)} to {_number(point.high)})")
        rows.append([str(size), *cells])
    yield table(("Stories", *(plain(row.agreement.evaluation) for row in curves)), rows)
    if undefined := sum(point.undefined for row in curves for point in row.curve):
        yield f"- {undefined:,} subsets have no correlation (all models with the same mean) and are left out.\n"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
