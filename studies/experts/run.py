"""What `sozo agreement --experts` does: how well a judge predicts each expert (Figure 1 of PBIG-DATA), as a page."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import multimode
from typing import Any

import numpy as np
import pandas as pd

from sozo.data.errors import UserError
from sozo.eval.report.svg import series, svg
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.statistics.means import mean_interval
from sozo.scoring.table import Cell
from sozo.studies.pages import PageFolder, page_table, standalone
from sozo.studies.rater_agreement import (
    coincidences,
    disagreement,
    jackknife_interval,
    krippendorff_alpha,
)
from sozo.studies.ratings import read_rows

VALUES, CURVES = "experts.json", "alpha-by-shots.svg"
FEWEST_EXPERTS = 5  # for an interval
MIN_CONFIDENCE = 80
_ALPHA = Measure("alpha", 2)
_ABOUT = f"""\
Krippendorff's alpha ({{level}}) between an expert's scores and a judge's predictions of them. *Within*: alpha for each
expert, then the mean, with Student's interval over experts. *Pooled*: all experts' ratings at once, with a jackknife
over experts; a prediction that only knows how strict each expert is has agreement there that is no agreement about
ideas. The paper does not say which of the two it prints. Votes below a confidence of {MIN_CONFIDENCE} do not count. A
prediction is the score that most of the others give; where two do, there is none, of which the paper says nothing.

![Figure 1]({CURVES})
"""


def judge_experts(
    paths: Sequence[Path], output: Path, level: str = "ordinal", least: int = 10
) -> PageFolder:
    """Say how well a judge predicts experts' scores; the folder `output` gets the page, `experts.json` and Figure 1.

    A line of the files (JSONL) is a rating and what a judge predicted of it under a condition: `condition` (zero, diff 5,
    same 5), `criterion`, `item`, `rater`, `score`, and `votes`, a list of `score` and `confidence`, or null for a reply that
    could not be read.
    """
    table = pd.DataFrame([row for path in paths for row in _rows(path)])
    if table.empty:
        raise UserError(f"{paths[0]}: holds no predictions; give a line for each")
    how = {"level": level, "least": least}
    folder = PageFolder(output, how, "experts", table.to_csv())
    folder.start({}, {})
    rows, shown = list[dict[str, Any]](), []
    for (criterion, name), own in table.groupby(["criterion", "condition"], sort=False):
        known = own.dropna(subset="prediction")
        both = alphas(known, level, least)
        row = {"criterion": criterion, "name": name, **both}
        rows.append(row | {"n": len(known), "of": len(own)})
        shown.append(
            {
                "Criterion": criterion,
                "Prediction": name,
                **{
                    f"Alpha {way}": Cell(
                        Estimate(own["alpha"], own["low"], own["high"]), _ALPHA
                    )
                    for way, own in both.items()
                },
                "Experts": both["within"]["experts"],
                "n of N": Cell(len(known), of=len(own)),
            }
        )
    folder.add(VALUES, {"rows": rows, "level": level})
    folder.add(CURVES, alpha_figure(rows))
    about = f"# A judge for each expert\n\n{_ABOUT.format(level=level)}"
    return folder.publish(f"{about}\n{page_table(shown)}", {"rows": len(rows)})


def _rows(path: Path) -> Sequence[dict[str, Any]]:
    needed, rows = ("condition", "criterion", "item", "rater", "score", "votes"), []
    for where, row in read_rows(path, needed):
        try:
            own = {"score": float(row["score"]), "prediction": predict(row["votes"])}
        except (KeyError, TypeError, ValueError):
            raise UserError(
                f"{where}: needs a number as score, and votes with a score and a confidence each"
            ) from None
        rows.append({name: row[name] for name in needed} | own)
    return rows


def predict(votes: Sequence[Mapping[str, Any] | None]) -> int | None:
    """The score that most of the votes give that are sure enough; None without any, or where two scores have as many.

    >>> sure = [{"score": score, "confidence": 90} for score in (2, 4, 4)]
    >>> predict(sure), predict([*sure[:2], None, {"score": 4, "confidence": 70}])
    (4, None)
    """
    sure = [vote for vote in votes if vote and vote["confidence"] >= MIN_CONFIDENCE]
    best = multimode(vote["score"] for vote in sure)
    return best[0] if len(best) == 1 else None


def alphas(known: pd.DataFrame, level: str, least: int) -> dict[str, dict[str, Any]]:
    """Alpha of experts' scores with predictions of them, within experts and pooled, with intervals over experts.

    `known` has a row for each prediction: `rater`, `score` and `prediction`. Within is the mean of the alphas of experts
    with `least` predictions or more. Intervals are for other experts, from five on.
    """
    by_expert = [
        own[["score", "prediction"]].to_numpy(float).T
        for _, own in known.groupby("rater", sort=False)
    ]
    each = [
        alpha
        for own in by_expert
        if (alpha := krippendorff_alpha(own, level, least).alpha) is not None
    ]
    mean, low, high = mean_interval(each), None, None
    ends = (mean.low, mean.high) if len(each) >= FEWEST_EXPERTS else (None, None)
    every = known[["score", "prediction"]].to_numpy(float).T
    pooled = krippendorff_alpha(every, level, least).alpha
    if pooled is not None and len(by_expert) >= FEWEST_EXPERTS:
        values = np.unique(every)
        sums = np.stack([coincidences(own, values).sum(axis=0) for own in by_expert])
        without = 1 - disagreement(sums.sum(axis=0) - sums, values, level)
        low, high = jackknife_interval(pooled, without, 2.0)
    names = ("alpha", "low", "high", "experts", "n")
    within = mean.value, *ends, len(each), len(known)
    whole = pooled, low, high, len(by_expert), len(known)
    return {
        "within": dict(zip(names, within, strict=True)),
        "pooled": dict(zip(names, whole, strict=True)),
    }


def alpha_figure(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Figure 1 as SVG: the curves of zero, diff and same by number of examples; a panel for each criterion."""
    points = pd.DataFrame(
        {
            "criterion": row["criterion"],
            "history": row["name"].partition(" ")[0],
            "shots": int(row["name"].partition(" ")[2] or 0),
            "alpha": row["within"]["alpha"],
        }
        for row in rows
    )
    columns = min(4, n := points.criterion.nunique())
    lines = math.ceil(n / columns)

    def draw(axes: Any) -> None:
        figure = axes.figure
        axes.remove()
        for k, (criterion, own) in enumerate(points.groupby("criterion", sort=False)):
            panel = figure.add_subplot(lines, columns, k + 1)
            panel.set(title=criterion, xlabel="examples", ylabel="alpha within experts")
            curves = own.groupby("history", sort=False)
            for colour, (history, curve) in enumerate(curves):
                style = {"color": series(colour), "label": history}
                panel.plot(curve.shots, curve.alpha.astype(float), marker="o", **style)
        panel.legend(frameon=False)

    title = "Alpha within experts by number of examples"
    return standalone(svg(draw, (3.4 * columns, 2.8 * lines), "experts", title))
