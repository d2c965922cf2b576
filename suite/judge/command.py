"""`sozo judge`: a judge reads planted answers before its scores count; what came out stands where reports look."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from sozo.data.errors import UserError
from sozo.data.record import write_json
from sozo.data.settings import setting
from sozo.eval.terminal import print_lines, print_tables
from sozo.models.generators import Loaded
from sozo.models.judges import make_judge
from sozo.scoring.judges.run import Judging
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.statistics.proportions import wilson
from sozo.scoring.table import Cell, tabulate
from sozo.suite.judge.planted import LONGER, Real, at_hand, packaged, plant
from sozo.tasks import finished_run
from sozo.tasks.jcq.task import Jcq, JcqJudgeSettings, JcqSettings
from sozo.tasks.judge_check import CHECK, Checked, checks_in, judge_of, same_judge
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Answer, Item, Row

REAL = "real"
LEAST = 0.8  # AUC of a kind that is worse than the real answer
_LEDGERS = ("judge-check.jsonl", "judge-check-again.jsonl")
_AUC, _SCORE = Measure("auc", 2), Measure("score", 2)


@dataclass(frozen=True)
class CheckSettings(JcqJudgeSettings):
    """Which judge, and beside which answers it finds the planted ones."""

    trial: bool = setting(
        False, "Plant beside sozo's own 14 answers to trial questions."
    )


def judge(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Finished runs of JCQ, however deep; reports of them find here what came out.",
        ),
    ],
    settings: CheckSettings,
) -> None:
    """Can this judge judge? It reads planted answers.

    An answer to another question, one sentence ten times, no text, a request for 5 points, and the same answer twice as
    long, each beside a real answer. The judge is named as for sozo run.
    """
    asked = asdict(settings)
    asked["trial"] = True  # whatever was asked: no question is loaded from a hub
    with Loaded() as loaded:
        task = Jcq(JcqSettings(**asked))
        task.judge = make_judge(settings, loaded)
        who = judge_of(task.deciding())
        runs = [
            run
            for path in sorted(folder.rglob("metrics.json"))
            if (run := finished_run(path.parent)) and run.task == task.name
        ]
        for known in checks_in(folder):
            if same_judge(known["judge"], who) and not settings.retry_unjudged:
                print_lines([f"{folder / CHECK}: checked before; nobody was asked"])
                _show(known, folder, runs)
                return
        if not (runs or settings.trial):
            trial = "add --trial to plant beside sozo's own answers"
            raise UserError(f"{folder}: holds no finished run of {task.name}; {trial}")
        reals = packaged() if settings.trial else at_hand(runs)
        check, judging = check_judge(task, reals, folder)
    if judging.stopped:
        print_lines([f"not finished: {judging.stopped}"])
        raise typer.Exit(3)
    check |= {"judge": who, "answers": "packaged" if settings.trial else "of runs"}
    others = [one for one in checks_in(folder) if not same_judge(one["judge"], who)]
    write_json(folder / CHECK, {"checks": [*others, check]})
    _show(check, folder, runs)


def check_judge(
    task: Jcq, reals: Sequence[Real], folder: Path
) -> tuple[Checked, Judging]:
    """Have the task's judge read all that is planted beside real answers, and these twice: what it made of them.

    Every judgement is in one of two ledgers of the folder at once, so that nothing is paid twice.
    """
    texts = [real.text for real in reals]
    kinds = {REAL: texts, **plant(texts)}
    items = [
        Item(str(k), real.question, {"question": real.question}, group=real.group)
        for k, real in enumerate(reals)
    ]
    answers = {
        kind: [
            Answer(f"{kind} {item.id}", item.id, text)
            for item, text in zip(items, own, strict=True)
        ]
        for kind, own in kinds.items()
    }
    n = len(items)
    print_lines([f"{(len(kinds) + 1) * n} requests of {task.known_judge.name} at most"])
    every = [answer for own in answers.values() for answer in own]
    first, again = (folder / name for name in _LEDGERS)
    rows, judging = task.judged(items * len(kinds), every, first)
    if judging.stopped:
        return {}, judging
    repeated, second = task.judged(items, answers[REAL], again)
    judging.add(second)
    by_kind = {
        kind: _scores(rows[k * n : (k + 1) * n], task) for k, kind in enumerate(answers)
    }
    found = compared(by_kind)
    return found | {"again": _again(rows[:n], repeated, task)}, judging


def compared(by_kind: Mapping[str, Sequence[float | None]]) -> Checked:
    """By kind how often the real answer scored above the planted one beside it; which kinds failed, with their AUC.

    A tie counts half. The interval is Wilson's. A kind fails below 0.8, or where fewer than half of its pairs have
    scores; the longer answer fails where its interval lies below 0.5: where length is paid for.
    """
    reals = by_kind[REAL]
    kinds = {}
    failed = []
    for kind, planted in by_kind.items():
        if kind == REAL:
            continue
        pairs = [
            (real, other)
            for real, other in zip(reals, planted, strict=True)
            if real is not None and other is not None
        ]
        estimate = Estimate(n=len(pairs))
        if 2 * len(pairs) >= len(reals):
            wins = sum((real > other) + (real == other) / 2 for real, other in pairs)
            estimate = Estimate(
                wins / len(pairs), *wilson(wins, len(pairs)), n=len(pairs)
            )
        means = [fmean(side) for side in zip(*pairs, strict=True)] or [None, None]
        kinds[kind] = estimate.to_json() | {
            "of": len(reals),
            "real": means[0],
            "planted": means[1],
        }
        if _fails(kind, estimate):
            failed.append(kind)
    return {"kinds": kinds, "failed": failed}


def _fails(kind: str, auc: Estimate) -> bool:
    if auc.value is None or auc.high is None:
        return True
    return auc.high < 0.5 if kind == LONGER else auc.value < LEAST


def _scores(rows: Sequence[Row], task: Jcq) -> list[float | None]:
    return [row.values.get(task.measures[0].name) for row in rows]


def _again(first: Sequence[Row], second: Sequence[Row], task: Jcq) -> dict[str, Any]:
    """How often a real answer that was asked about again got the same scores, and how far its score moved."""
    pairs = [
        (one.values, two.values)
        for one, two in zip(first, second, strict=True)
        if one.values and two.values
    ]
    if not pairs:
        return Estimate().to_json() | {"apart": None}
    same = sum(one == two for one, two in pairs)
    main = task.measures[0].name
    share = Estimate(same / len(pairs), *wilson(same, len(pairs)), n=len(pairs))
    apart = fmean(abs(one[main] - two[main]) for one, two in pairs)
    return share.to_json() | {"apart": apart}


def _show(check: Checked, folder: Path, runs: Sequence[RunResult]) -> None:
    rows = []
    for kind, known in check["kinds"].items():
        auc = Estimate(known["value"], known["low"], known["high"], known["n"])
        rows.append(
            {
                "Planted": kind,
                "AUC": Cell(auc, _AUC, of=known["of"]),
                "Real answer": Cell(known["real"], _SCORE),
                "Planted one": Cell(known["planted"], _SCORE),
                "": "FAILED" if kind in check["failed"] else "",
            }
        )
    again = check["again"]
    share = Estimate(again["value"], again["low"], again["high"], again["n"])
    print_tables([tabulate(f"{check['judge']['model']}: planted answers", rows)])
    lines = [f"the same four scores when asked again: {Cell(share, SHARE).line}"]
    if again["apart"] is not None:
        lines.append(f"apart by {again['apart']:.2f} points on average")
    if runs and not any(
        same_judge(judge_of(run.settings), check["judge"]) for run in runs
    ):
        lines.append(f"no run in {folder} was scored by this judge")
    print_lines([*lines, str(folder / CHECK)])
