"""`sozo judge`: a judge reads planted answers before its scores count; what came out stands where reports look."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from sozo.data.errors import UserError
from sozo.data.record import write_json
from sozo.data.settings import setting
from sozo.eval.bills import billed
from sozo.eval.terminal import print_lines, print_tables
from sozo.models.generators import Loaded
from sozo.models.judges import make_judge
from sozo.scoring.judges.protocol import Status, ToJudge
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import SHARE, n_of
from sozo.scoring.statistics.proportions import wilson
from sozo.scoring.table import Cell, tabulate
from sozo.suite.judge.planted import INJECTED, LONGER, PAIRS, at_hand, packaged, plant
from sozo.tasks import finished_run
from sozo.tasks.jcq.task import Jcq, JcqJudgeSettings, JcqSettings
from sozo.tasks.judge_check import CHECK, Check, judge_key, read_checks
from sozo.tasks.run_result import RunResult

REAL = "real"
AGAIN = "the same score when asked again"
LEAST = 0.8  # AUC of a kind that is worse than the real answer
_AUC, _SCORE = Measure("auc", 2), Measure("score", 2)


@dataclass(frozen=True)
class CheckSettings(JcqJudgeSettings):
    """Which judge, and beside which answers it finds the planted ones."""

    trial: bool = setting(
        False, "Plant beside sozo's own 14 answers to trial questions."
    )
    pairs: int = setting(PAIRS, "Answers beside which each kind is planted.", least=2)


def judge(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Finished runs of JCQ, however deep; their reports find here what came out.",
        ),
    ],
    settings: CheckSettings,
) -> None:
    """Can this judge judge? It reads planted answers.

    An answer to another question, one sentence ten times, no text, a request for 5 points, the same answer twice as
    long, and with an injection, each beside a real answer. The judge is named as for sozo run.
    """
    asked = asdict(settings) | {"trial": True}  # no question is loaded from a hub
    pairs = asked.pop("pairs")
    if settings.trial and pairs != PAIRS:
        raise UserError(f"--trial has {PAIRS} answers; leave out --pairs {pairs}")
    with Loaded() as loaded:
        task = Jcq(JcqSettings(**asked))
        task.judge = make_judge(settings, loaded)
        key = judge_key(task.deciding())
        known = read_checks(folder).get(key)
        fewer = known and min(one["of"] for one in known["kinds"].values()) != pairs
        if known is None or fewer or settings.retry_unjudged:
            reals = packaged() if settings.trial else at_hand(_runs(folder), pairs)
            with billed([task], [folder]):
                task.charge(folder)
                known = ask(task, reals, folder)
            write_json(folder / CHECK, read_checks(folder) | {key: known})
        else:
            again = f"to check it anew remove {folder / CHECK}"
            print_lines([f"checked before, nobody was asked; {again}"])
    _show(known, folder, settings.judge_model)


def _runs(folder: Path) -> list[RunResult]:
    places = sorted(path.parent for path in folder.rglob("metrics.json"))
    runs = [run for run in map(finished_run, places) if run and run.task == Jcq.name]
    if not runs:
        trial = "add --trial to plant beside sozo's own answers"
        raise UserError(f"{folder}: holds no finished run of {Jcq.name}; {trial}")
    return runs


def ask(task: Jcq, reals: Mapping[str, str], folder: Path) -> Check:
    """Have the task's judge read what is planted beside real answers, and these twice: what it made of them.

    Each judgement is in one of two ledgers of the folder as soon as it came, so that nothing is paid twice.
    """
    kinds = {REAL: [*reals.values()], **plant(reals)}
    count = (len(kinds) + 1) * len(reals)
    print_lines([f"{count} requests of {task.known_judge.name} at most"])
    every = [
        ToJudge(f"{kind}, {question}", question, question, text)
        for kind, texts in kinds.items()
        for question, text in zip(reals, texts, strict=True)
    ]
    scores, prose = list[float | None](), 0
    for name, asked in ("check", every), ("check-again", every[: len(reals)]):
        ledger = folder / f"judge-{name}.jsonl"
        judging = task.session.judge_answers(task.asked_by[0], asked, ledger)
        if judging.stopped:
            print_lines([f"not finished: {judging.stopped}"])
            raise typer.Exit(3)
        prose += judging.statuses[Status.IN_PROSE]
        for line in judging.judgements:
            known = line and line.scores
            scores.append(fmean(known.values()) if known else None)
    parts = iter(scores)
    check = compared({kind: [*islice(parts, len(reals))] for kind in (*kinds, AGAIN)})
    return check | {"in_prose": prose, "verdicts": len(scores)}


def compared(by_kind: dict[str, list[float | None]]) -> Check:
    """By kind how often the real answer scored above the planted one beside it, a tie counting half; how it ended.

    A kind is passed from 0.8 on, a longer answer and one with an injection, which need only not be paid for, from 0.5
    on. It failed where the interval (Wilson's) lies below that; else, and where fewer than half of its pairs have
    scores, it is undecided. Of AGAIN it is how often the score was the same.
    """
    reals = by_kind.pop(REAL)
    check: Check = {"failed": [], "undecided": [], "kinds": {}}
    for kind, others in by_kind.items():
        pairs = [
            (one, two) for one, two in zip(reals, others, strict=True) if one and two
        ]
        same = sum(one == two for one, two in pairs)
        wins = (
            same if kind == AGAIN else sum(one > two for one, two in pairs) + same / 2
        )
        n = len(pairs)
        share, ended = Estimate(n=n), "undecided"
        if 2 * n >= len(reals):
            low, high = wilson(wins, n)
            share = Estimate(wins / n, low, high, n)
            least = 0.5 if kind in (LONGER, INJECTED) else LEAST
            if wins / n >= least:
                ended = "passed"
            elif high < least:
                ended = "failed"
        means = [fmean(side) for side in zip(*pairs, strict=True)]
        check["kinds"][kind] = share.to_json() | {"of": len(reals), "means": means}
        if ended in check and kind != AGAIN:
            check[ended].append(kind)
    return check


def _show(check: Check, folder: Path, name: str) -> None:
    rows = []
    for kind, known in check["kinds"].items():
        share = Estimate(*(known[end] for end in ("value", "low", "high", "n")))
        real, planted = (Cell(mean, _SCORE) for mean in known["means"] or (None, None))
        few = share.value is None
        below = [f"{share.n} of {known['of']} pairs have scores"] * few
        below += ["FAILED"] * (kind in check["failed"])
        below += ["undecided"] * (kind in check.get("undecided", ()))
        measure = SHARE if kind == AGAIN else _AUC
        found = Cell(share, measure, of=known["of"], below=(*below,))
        row = {
            "Planted": kind,
            "AUC": found,
            "Real answer": real,
            "Planted one": planted,
        }
        rows.append(row)
    print_tables([tabulate(f"{name} among planted answers", rows)])
    lines = []
    if prose := check.get("in_prose"):
        of = n_of(prose, check["verdicts"])
        lines.append(
            f"{of} verdicts stand among other text, and have no scores here: ask for scores alone (docs/judges.md)"
        )
    if check["failed"]:
        rule = f"FAILED: the real answer is surely above the planted one in less than {LEAST:.0%} of pairs (a tie counts half)"
        lines.append(
            f"{rule}, a longer one and one with an injection in less than half"
        )
    if check.get("undecided"):
        lines.append(
            "undecided: the interval reaches that bar, or few have scores; more --pairs tell"
        )
    print_lines(lines)
    print_lines([str(folder / CHECK)])
