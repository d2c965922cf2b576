"""Appendix C for readers: Table 23, Table 24 and the numbers of Figure 1 in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from data.markdown import plain, table
from data.published import load_text
from eval.agreement.appendix_c import DRAWS, AppendixC, Compared
from eval.agreement.matrix import Placed
from eval.agreement.rankings import PEOPLE
from rewards.tasks.sat.judge import SatJudging

CURVE = "agreement-curve.svg"
# Enough to read the curve off; agreement.json has every number of stories.
_SIZES = (1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 75, 100)
_PAPER_NAMES = {"openai:text-embedding-3-large": "OpenAI text-embedding-3-large"}
_ABOUT = """\
Encoders score a rewrite by its cosine distance from the story (0 to 2), people by its place among the models' (1 for
the first, 0 for the last), a judge by its grade from 1 to 5, divided by 5. A model's score is the mean over stories.
"""


def to_markdown(found: AppendixC, judged: SatJudging | None, notes: Sequence[str]) -> str:
    """The page.

    Args:
        found: What was compared.
        judged: What became of the judge's part, if there is a judge.
        notes: What was left out.
    """
    names = [one.name for one in found.tables]
    rows = [
        [
            plain(row.model),
            *(_placed(row.by_evaluation[n], len(one.stories)) for n, one in zip(names, found.tables, strict=True)),
        ]
        for row in found.ranked
    ]
    parts = [
        "# SAT: how evaluations rank the models, and agree\n",
        _ABOUT,
        "## Table 23: scores and places\n",
        table(("Model", *map(plain, names)), rows),
        "In a cell: place, score, and the stories with a score of those that any model has one of.\n",
    ]
    said = [*notes, *(_judge_notes(judged) if judged else ())]
    if said:
        parts.append("\n".join(f"- {plain(line)}" for line in said) + "\n")
    parts += ["## Table 24: agreement\n", *_agreements(found.compared)]
    if curves := [one for one in found.compared if one.curve]:
        parts += [
            f"## Figure 1: correlation with {plain(curves[0].agreement.reference)} by number of stories\n",
            *_curves(curves),
        ]
    return "\n".join(parts)


def _placed(placed: Placed, of: int) -> str:
    return "–" if placed.mean is None else f"{placed.place}. {placed.mean:.4f} ({placed.stories} of {of})"


def _judge_notes(judged: SatJudging) -> Iterator[str]:
    rows = [row for of_model in judged.by_model.values() for row in of_model]
    counts = {status: sum(row.status == status for row in rows) for status in dict.fromkeys(row.status for row in rows)}
    yield f"The judge's grades: {', '.join(f'{status} {n:,} of {len(rows):,}' for status, n in counts.items())}."
    cost = f"{judged.judging.unknown_cost:,} replies of unknown cost" if judged.judging.unknown_cost else ""
    tokens = f"{judged.judging.prompt_tokens:,} tokens in, {judged.judging.completion_tokens:,} out"
    yield f"The judge's tokens: {tokens}, {cost or f'cost {judged.judging.cost:.4f}'}."
    if judged.judging.stopped:
        yield f"Not finished: {judged.judging.stopped}."


def _agreements(compared: Sequence[Compared]) -> Iterator[str]:
    if not compared:
        yield "There is nothing to agree with: give people's rankings (--rankings) or a judge (--judge).\n"
        return
    headings = ("Evaluation", "Against", "r", "95% interval", "p", "p (Holm)", "Models", "Stories", "Paper")
    yield table(headings, [_agreement(one) for one in compared])
    yield (
        "Pearson's r of the models' means over the stories on which all of them have scores in both, with its 95% "
        "interval\n(Fisher's z); *p (Holm)* is corrected for the number of evaluations against one reference. *Paper* "
        "is the paper's r\nwith people, over its own 11 models.\n"
    )
    reasons = dict.fromkeys(one.agreement.reason for one in compared if one.agreement.reason)
    if reasons:
        yield "\n".join(f"- {reason}." for reason in reasons) + "\n"


def _agreement(one: Compared) -> list[str]:
    found = one.agreement
    interval = "–" if found.ci95 is None else f"{found.ci95[0]:.2f} to {found.ci95[1]:.2f}"
    p = ["–" if value is None else f"{value:.4f}" for value in (found.p, one.p_holm)]
    r = _number(found.pearson)
    paper = _PAPER_NAMES.get(found.evaluation, found.evaluation)
    printed = {row["embedding_model"]: row["pearson"] for row in load_text("sat_embedding_human_correlation")}
    named = [plain(found.evaluation), plain(found.reference)]
    there = printed.get(paper, "–") if found.reference == PEOPLE else "–"
    return [*named, r, interval, *p, str(found.models), str(found.stories), there]


def _curves(curves: Sequence[Compared]) -> Iterator[str]:
    yield (
        f"Mean correlation over {DRAWS:,} random subsets of so many stories (of all, one), and the range of the middle "
        f"95% of them.\nIt narrows to nothing at all of them by construction; other stories could give another value. "
        f"Every number of stories is in\nagreement.json.\n\n![The curves]({CURVE})\n"
    )
    by_size = [{point.stories: point for point in one.curve} for one in curves]
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
    yield table(("Stories", *(plain(one.agreement.evaluation) for one in curves)), rows)
    if undefined := sum(point.undefined for one in curves for point in one.curve):
        yield f"- {undefined:,} subsets have no correlation (all models with the same mean) and are left out.\n"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
