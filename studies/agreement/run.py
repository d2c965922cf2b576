"""What `sozo agreement` does, without the command line: appendix C over finished runs of one task."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.progress import answers_bar
from sozo.data.schema import part_paths
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.models.judges import make_judge
from sozo.scoring.judges.protocol import Judge, JudgeSettings
from sozo.studies.agreement.appendix_c import (
    MIN_MODELS,
    Evaluations,
    Runs,
    appendix_c,
    grade_answers,
    people_table,
    rubric_of,
    score_table,
)
from sozo.studies.agreement.page import CURVE, PEOPLE, curve_figure, to_markdown
from sozo.studies.alike import check_alike
from sozo.studies.pages import PageFolder, PageRun
from sozo.studies.ratings import read_rankings
from sozo.tasks import task_type
from sozo.tasks.judged import JudgedTask
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Answer, Item, Task

LEDGER, VALUES = "judgements.jsonl", "agreement.json"


def agree(
    places: Sequence[str],
    output: Path,
    *,
    wanted: str | None = None,
    encoders: Sequence[str] = (),
    cache: Path | None = None,
    rankings: Path | None = None,
    judging: JudgeSettings | None = None,
) -> PageRun:
    """Rank the models of finished runs by encoders, people and a judge, and see how far these agree.

    The folder `output` gets `agreement.md`, `agreement.json`, `agreement-curve.svg` if there is a curve, and with a
    judge `judgements.jsonl`: every grade the moment it arrives, so that the same command asks only what is missing.

    `places` are as in `find_evaluated`; `wanted` None takes the only task whose answers other encoders and a judge
    can score too; without `encoders` the runs' own scores count. The judge is asked by the task's rubric (Table 22).
    """
    task, runs = _runs(find_evaluated(places), wanted)
    items = _items(runs)
    people, notes = ({}, []) if rankings is None else _people(rankings, runs, items)
    encoders = list(dict.fromkeys(encoders))
    first = next(iter(runs.values()))
    if not encoders:
        check_alike(
            task.upper(),
            list(runs.items()),
            "name the encoders that shall score all: --embedding-models",
        )
    else:
        _encoder_setting(task_type(task))
    rubric = rubric_of(first)
    if judging is not None and rubric is None:
        raise UserError(
            f"{task} has no rubric by which a judge could grade its answers; leave --judge out"
        )
    judge = make_judge(judging) if judging else None
    if judging is not None:
        judging.price()  # a price that cannot be shows before anything is loaded
    folder = _folder(output, runs, encoders, rankings, judge)
    if (finished := folder.finished()) and not (judging and judging.retry_unjudged):
        return finished
    # Encoders first: what is wrong with one shows before a judge has to be paid.
    scored = [_scored_by(encoder, runs, cache) for encoder in encoders]
    by_encoder = [(facts["embedding_model"], table) for table, facts in scored]
    if not encoders:
        own = str(first.scale.get("embedding_model", "own scores"))
        by_encoder = [
            (
                own,
                score_table(
                    {name: run.by_item(run.main) for name, run in runs.items()}
                ),
            )
        ]
    folder.start({"scorers": [facts for _, facts in scored]}, {"places": list(places)})
    graded = None
    if judge and judging and rubric:
        graded = grade_answers(judge, rubric, runs, judging, output / LEDGER)
    result = appendix_c(
        by_encoder,
        people,
        {f"judge {judge.name}": graded.scores} if judge and graded else {},
    )
    cost, stopped = (
        (graded.to_json(), graded.judging.stopped) if graded else (None, None)
    )
    folder.add(VALUES, {**result.to_json(), "notes": notes, "judge": cost})
    if curves := {row.evaluation: row.curve for row in result.compared if row.curve}:
        folder.add(CURVE, curve_figure(curves, result.compared[0].reference))
    if graded:
        folder.files.append(LEDGER)
    compared = [
        {k: v for k, v in asdict(row).items() if k not in ("p_holm", "curve")}
        for row in result.compared
    ]
    metrics = {
        "models": len(runs),
        "agreement": compared,
        "judge": cost,
        "files": folder.files,
    }
    return folder.publish(to_markdown(task, result, graded, notes), metrics, stopped)


def _runs(models: Sequence[Evaluated], wanted: str | None) -> tuple[str, Runs]:
    by_task: dict[str, dict[str, RunResult]] = {}
    for model in models:
        for task in dict.fromkeys(task for task, _ in model.runs):
            if (run := model.run(task)) and (
                task == wanted if wanted else rubric_of(run)
            ):
                by_task.setdefault(task, {})[model.name] = run
    if len(by_task) > 1:
        raise UserError(
            f"there are runs of {', '.join(by_task)}; say which: --task NAME"
        )
    task, runs = next(iter(by_task.items()), (wanted or "such", {}))
    if len(runs) < 2:
        needed = f"two models or more with finished {task.upper()} runs"
        raise UserError(
            f"a ranking needs {needed}, and there are {len(runs)}; finish more: sozo run"
        )
    return task, runs


def _digest(run: RunResult) -> str:
    """SHA-256 of what was asked, answered and said of the answers."""
    digest = hashlib.sha256(json.dumps(run.items).encode())
    for path in part_paths(run.folder):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _items(runs: Runs) -> dict[str, str]:
    """Id -> what was asked, of all runs."""
    items: dict[str, str] = {}
    for run in runs.values():
        for item, text in run.prompts.items():
            if items.setdefault(item, text) != text:
                other = f"its item {item!r} has another text than in the other runs"
                raise UserError(f"{run.folder}: {other}; give runs of the same items")
    return items


def _scored_by(
    encoder: str, runs: Runs, cache: Path | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The runs' answers scored with another encoder, and what a results file must say about it."""
    kind, scores = (
        task_type(next(iter(runs.values())).task),
        dict[str, Mapping[str, float | None]](),
    )
    wanted = {
        _encoder_setting(kind): encoder,
        f"{kind.name}_embedding_cache": cache and str(cache),
    }
    task = kind(
        kind.Settings(
            **{
                name: value
                for name, value in wanted.items()
                if name in _names(kind.Settings)
            }
        )
    )
    with answers_bar(f"scoring by {encoder}", len(runs)) as advance:
        for name, run in runs.items():
            items = [
                Item(a.item, run.prompts[a.item], run.items[a.item]) for a in run.scored
            ]
            rows = task.score(
                items,
                [Answer(answer.id, answer.item, answer.text) for answer in run.scored],
            )
            own: dict[str, list[float]] = {}
            for answer, row in zip(run.scored, rows, strict=True):
                if run.main.name in row.values:
                    own.setdefault(answer.item, []).append(row.values[run.main.name])
            scores[name] = {item: fmean(values) for item, values in own.items()}
            advance(1, None)
    return score_table(scores), task.describe()


def _encoder_setting(kind: type[Task]) -> str:
    """The setting that names the encoder by which each answer of a task is scored alone."""
    name = f"{kind.name}_embedding_model"
    if (
        name not in _names(kind.Settings)
        or kind.in_groups()
        or issubclass(kind, JudgedTask)
    ):
        raise UserError(
            f"{kind.name} has no encoder that could be exchanged; leave --embedding-models out"
        )
    return name


def _names(settings: Any) -> list[str]:
    """The names of a dataclass' fields."""
    return [field.name for field in fields(settings)]


def _people(
    path: Path, runs: Runs, items: Mapping[str, str]
) -> tuple[Evaluations, list[str]]:
    """People's scores of the runs' models on the runs' items, and what of the file was left out."""
    # A place counts among all models that were ranked, those too that there is no run of.
    table = people_table(read_rankings(path))
    ranked, stories = list(table.index), list(table.columns)
    models, shared = (
        [name for name in ranked if name in runs],
        [item for item in stories if item in items],
    )
    if len(models) < MIN_MODELS:
        names = f"ranks {', '.join(ranked)}, and the runs are of {', '.join(runs)}"
        share = f"they share {len(models)} models where {MIN_MODELS} are needed"
        raise UserError(
            f"{path}: {names}: {share}; name the folders as the file does: NAME=DIR"
        )
    if not shared:
        example = f"stories such as {stories[0]!r}, and the runs have none of them"
        raise UserError(f"{path}: ranks rewrites of {example}; give the runs' own ids")
    left_out = []
    if other := [name for name in ranked if name not in runs]:
        left_out.append(
            f"People ranked {len(other)} models that there is no run of: {', '.join(other)}."
        )
    if unranked := [name for name in runs if name not in ranked]:
        left_out.append(
            f"People did not rank {len(unranked)} of the models: {', '.join(unranked)}."
        )
    if len(shared) < len(stories):
        left_out.append(
            f"People ranked {len(stories) - len(shared)} stories that are not among the runs'."
        )
    return {PEOPLE: table.loc[models, shared]}, left_out


def _folder(
    output: Path,
    runs: Runs,
    encoders: Sequence[str],
    rankings: Path | None,
    judge: Judge | None,
) -> PageFolder:
    rubric = rubric_of(next(iter(runs.values())))
    settings = {
        "task": "agreement",
        "models": {name: _digest(run) for name, run in runs.items()},
        "embedding_models": list(encoders),
        "rankings_sha256": None
        if rankings is None
        else hashlib.sha256(rankings.read_bytes()).hexdigest(),
        "judge": judge
        and rubric
        and {"model": judge.name, "prompt": rubric.name, **judge.parameters},
    }
    try:
        return PageFolder(output, settings, "agreement", [VALUES])
    except UserError as error:
        if judge is None or not (output / LEDGER).is_file():
            raise
        raise UserError(
            f"{error} (with a copy of its {LEDGER}, nothing is asked twice)"
        ) from error
