"""What `python -m eval sat-agreement` does, without the command line: appendix C over finished SAT runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewards.tasks.sat.run import ROWS, STORIES

from data.errors import UserError
from data.progress import responses_bar
from data.record import write_json, write_whole
from data.run_folder import RunFolder
from eval.agreement.appendix_c import appendix_c
from eval.agreement.evaluations import Runs, own_scores, sat_runs, scores_by, scores_by_people, stories_of
from eval.agreement.figure import curve_figure
from eval.agreement.matrix import judge_table
from eval.agreement.rankings import load_rankings
from eval.agreement.text import CURVE, to_markdown
from eval.finished import find_evaluated
from eval.page import PageRun
from generate.judges import make_judge
from rewards.judges import Judge, Price
from rewards.judges.options import JudgeSettings
from rewards.tasks.sat.judge import SatJudging, judge_rewrites
from rewards.tasks.sat.rubric import SAT_V1

LEDGER = "judgements.jsonl"
VALUES, PAGE = "agreement.json", "agreement.md"


def sat_agreement(
    places: Sequence[str],
    output: Path,
    *,
    encoders: Sequence[str] = (),
    cache: Path | None = None,
    rankings: Path | None = None,
    judging: JudgeSettings | None = None,
) -> PageRun:
    """Rank the models of finished SAT runs by encoders, people and a judge, and see how far these agree.

    The folder gets `agreement.md`, `agreement.json`, `agreement-curve.svg` if there is a curve, and with a judge
    `judgements.jsonl`: every grade the moment it arrives, so that the same command asks only what is missing.

    Args:
        places: Folders of finished runs, `DIR` or `NAME=DIR`; see `eval.finished.find_evaluated`.
        output: The run's folder.
        encoders: Encoders that score the rewrites; none takes the scores that the runs hold.
        cache: Folder of a disk cache of their vectors.
        rankings: People's rankings (`eval.agreement.rankings`).
        judging: The judge; None asks nobody. `judge_prompt` does not count: it is SAT's own (Table 22).

    Raises:
        OSError: A file, an encoder or the judge cannot be used, or the disk is full.
        ValueError: The runs do not compare, the rankings do not fit, or the folder holds another run; one line.
        UserError: An encoder gives no text a vector.
    """
    runs = sat_runs(find_evaluated(places))
    stories = stories_of(runs)
    ranked = None if rankings is None else scores_by_people(rankings, load_rankings(rankings), runs, stories)
    encoders = list(dict.fromkeys(encoders))
    if not encoders:
        own_scores(runs)  # raises where they do not compare
    judge, price = (None, None) if judging is None else (make_judge(judging), judging.price())
    folder = _folder(output, runs, encoders, rankings, judge)
    finished = folder.metrics()
    retry = judging is not None and judging.retry_failed
    if finished is not None and not retry and all((output / name).is_file() for name in finished["files"]):
        return PageRun(output, (output / PAGE).read_text("utf-8"), tuple(finished["files"]), True)
    # Encoders first: what is wrong with one shows before a judge has to be paid.
    scored = [scores_by(name, runs, stories, cache) for name in encoders]
    tables = [table for table, _ in scored] or [own_scores(runs)]
    folder.start({"scorers": [facts for _, facts in scored]}, {"places": list(places)})
    judged = None
    if judge is not None and judging is not None:
        judged = _judge(judge, price, judging, runs, stories, output / LEDGER)
    people, notes = ranked or (None, [])
    graded = None if judge is None or judged is None else judge_table(f"judge {judge.name}", judged.by_model)
    found = appendix_c(tables, people, graded)
    page = to_markdown(found, judged, notes)
    files = ["config.json", "metrics.json", VALUES, PAGE]
    if any(one.curve for one in found.compared):
        write_whole(output / CURVE, curve_figure(found.compared))
        files.append(CURVE)
    files += [LEDGER] if judged else []
    cost = None if judged is None else _cost(judged)
    write_json(output / VALUES, {**found.to_json(), "notes": notes, "judge": cost})
    write_whole(output / PAGE, page.encode())
    stopped = judged.judging.stopped if judged else None
    if stopped is None:
        agreement = [one.agreement.to_json() for one in found.compared]
        folder.finish({"models": len(runs), "agreement": agreement, "judge": cost, "files": files})
    return PageRun(output, page, tuple(files), False, stopped)


def _folder(output: Path, runs: Runs, encoders: Sequence[str], rankings: Path | None, judge: Judge | None) -> RunFolder:
    settings = {
        "task": "sat_agreement",
        "models": {name: _digest(run.folder / STORIES, run.folder / ROWS) for name, run in runs.items()},
        "embedding_models": list(encoders),
        "rankings_sha256": None if rankings is None else _digest(rankings),
        "judge": None if judge is None else {"model": judge.name, "prompt": SAT_V1.name, **judge.parameters},
    }
    try:
        return RunFolder(output, settings)
    except UserError as error:
        if judge is None or not (output / LEDGER).is_file():
            raise
        raise UserError(f"{error} (with a copy of its {LEDGER}, nothing is asked twice)") from error


def _judge(
    judge: Judge, price: Price | None, options: JudgeSettings, runs: Runs, stories: dict[str, Any], ledger: Path
) -> SatJudging:
    rewrites = {name: run.rewrites for name, run in runs.items()}
    with responses_bar(f"judging by {judge.name}", sum(map(len, rewrites.values()))) as advance:
        return judge_rewrites(
            judge,
            rewrites,
            stories,
            ledger,
            price=price,
            max_cost=options.max_cost,
            retry_failed=options.retry_failed,
            on_judgement=lambda judgement: advance(1, int(judgement.scores is not None)),
        )


def _cost(judged: SatJudging) -> dict[str, Any]:
    """What the judge's part came to; its judgements are in the ledger."""
    names = ("prompt_tokens", "completion_tokens", "cost", "unknown_cost", "stopped")
    numbers = {name: getattr(judged.judging, name) for name in names}
    by_model = {
        model: {status: sum(row.status == status for row in rows) for status in sorted({row.status for row in rows})}
        for model, rows in judged.by_model.items()
    }
    return {"statuses": by_model, **numbers}


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()
