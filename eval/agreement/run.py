"""What `sozo agreement` does, without the command line: appendix C over finished runs of one task."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.progress import responses_bar
from sozo.data.record import write_json, write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.agreement.agreement import MIN_MODELS, appendix_c
from sozo.eval.agreement.judging import grade_answers
from sozo.eval.agreement.text import CURVE, curve_figure, to_markdown
from sozo.eval.evaluated import Evaluated, check_alike, find_evaluated
from sozo.eval.matrix import Matrix
from sozo.eval.rankings import people_matrix, read_rankings
from sozo.eval.terminal import PageRun
from sozo.models.judges import make_judge
from sozo.scoring.judges.options import JudgeSettings
from sozo.scoring.judges.protocol import Judge
from sozo.tasks.finished import Finished

LEDGER = "judgements.jsonl"
VALUES, PAGE = "agreement.json", "agreement.md"
Runs = Mapping[str, Finished]


def agree(
    places: Sequence[str],
    output: Path,
    *,
    benchmark: str | None = None,
    encoders: Sequence[str] = (),
    cache: Path | None = None,
    rankings: Path | None = None,
    judging: JudgeSettings | None = None,
) -> PageRun:
    """Rank the models of finished runs by encoders, people and a judge, and see how far these agree.

    The folder `output` gets `agreement.md`, `agreement.json`, `agreement-curve.svg` if there is a curve, and with a
    judge `judgements.jsonl`: every grade the moment it arrives, so that the same command asks only what is missing.

    `places` are as in `find_evaluated`; `benchmark` None takes the only task whose answers other encoders and a judge
    can score too; without `encoders` the runs' own scores count. The judge is asked by the task's rubric (Table 22).
    """
    task, runs = _runs(find_evaluated(places), benchmark)
    items = _items(runs)
    people, notes = (None, []) if rankings is None else _people(rankings, runs, items)
    encoders = list(dict.fromkeys(encoders))
    if not encoders:
        check_alike(task.upper(), list(runs.items()), "name the encoders that shall score all: --embedding-models")
    rubric = next(iter(runs.values())).rubric
    if judging is not None and rubric is None:
        raise UserError(f"{task} has no rubric by which a judge could grade its answers; leave --judge out")
    judge = make_judge(judging) if judging else None
    if judging is not None:
        judging.price()  # a price that cannot be shows before anything is loaded
    folder = _folder(output, runs, encoders, rankings, judge)
    finished = folder.metrics()
    retry = judging and judging.retry_failed
    if finished is not None and not retry and all((output / name).is_file() for name in finished["files"]):
        return PageRun(output, (output / PAGE).read_text("utf-8"), tuple(finished["files"]), True)
    # Encoders first: what is wrong with one shows before a judge has to be paid.
    scored = [_scored_by(encoder, runs, cache) for encoder in encoders]
    folder.start({"scorers": [facts for _, facts in scored]}, {"places": list(places)})
    graded = grade_answers(judge, rubric, runs, judging, output / LEDGER) if judge and judging and rubric else None
    matrices = [matrix for matrix, _ in scored]
    if not encoders:
        own = next(iter(runs.values())).scale.get("embedding_model", "own scores")
        matrices = [Matrix.of(str(own), {name: run.by_item(run.main) for name, run in runs.items()})]
    result = appendix_c(matrices, people, graded.matrix if graded else None)
    page = to_markdown(task, result, graded, notes)
    files = ["config.json", "metrics.json", VALUES, PAGE]
    if curves := {row.evaluation: row.curve for row in result.compared if row.curve}:
        write_whole(output / CURVE, curve_figure(curves, result.compared[0].reference))
        files.append(CURVE)
    if graded:
        files.append(LEDGER)
    cost, stopped = (graded.to_json(), graded.judging.stopped) if graded else (None, None)
    write_json(output / VALUES, {**result.to_json(), "notes": notes, "judge": cost})
    write_whole(output / PAGE, page.encode())
    if stopped is None:
        agreement = [row.to_json() for row in result.compared]
        folder.finish({"models": len(runs), "agreement": agreement, "judge": cost, "files": files})
    return PageRun(output, page, tuple(files), False, stopped)


def _runs(models: Sequence[Evaluated], benchmark: str | None) -> tuple[str, Runs]:
    by_task: dict[str, dict[str, Finished]] = {}
    for model in models:
        for task in dict.fromkeys(task for task, _ in model.runs):
            if (run := model.run(task)) and (task == benchmark if benchmark else run.rubric is not None):
                by_task.setdefault(task, {})[model.name] = run
    if len(by_task) > 1:
        raise UserError(f"there are runs of {', '.join(by_task)}; say which: --benchmark NAME")
    task, runs = next(iter(by_task.items()), (benchmark or "such", {}))
    if len(runs) < 2:
        needed = f"two models or more with finished {task.upper()} runs"
        raise UserError(f"a ranking needs {needed}, and there are {len(runs)}; finish more: sozo run")
    return task, runs


def _items(runs: Runs) -> dict[str, str]:
    """Id -> what was asked, of all runs."""
    items: dict[str, str] = {}
    for run in runs.values():
        for item, asked in run.prompts.items():
            if items.setdefault(item, asked) != asked:
                other = f"its item {item!r} has another text than in the other runs"
                raise UserError(f"{run.folder}: {other}; give runs of the same items")
    return items


def _scored_by(encoder: str, runs: Runs, cache: Path | None) -> tuple[Matrix, dict[str, Any]]:
    """The runs' answers scored with another encoder, and what a results file must say about it."""
    scores, facts = {}, dict[str, Any]()
    with responses_bar(f"scoring by {encoder}", len(runs)) as advance:
        for name, run in runs.items():
            scores[name], facts = run.scored_by(encoder, cache)
            advance(1, None)
    return Matrix.of(facts["embedding_model"], scores), facts


def _people(path: Path, runs: Runs, items: Mapping[str, str]) -> tuple[Matrix, list[str]]:
    """People's scores of the runs' models on the runs' items, and what of the file was left out."""
    # A place counts among all models that were ranked, those too that there is no run of.
    matrix = people_matrix(read_rankings(path))
    models = [name for name in matrix.models if name in runs]
    if len(models) < MIN_MODELS:
        names = f"ranks {', '.join(matrix.models)}, and the runs are of {', '.join(runs)}"
        share = f"they share {len(models)} models where {MIN_MODELS} are needed"
        raise UserError(f"{path}: {names}: {share}; name the folders as the file does: NAME=DIR")
    shared = [item for item in matrix.items if item in items]
    if not shared:
        stories = f"stories such as {matrix.items[0]!r}, and the runs have none of them"
        raise UserError(f"{path}: ranks rewrites of {stories}; give the runs' own ids")
    left_out = []
    if other := [name for name in matrix.models if name not in runs]:
        left_out.append(f"People ranked {len(other)} models that there is no run of: {', '.join(other)}.")
    if unranked := [name for name in runs if name not in matrix.models]:
        left_out.append(f"People did not rank {len(unranked)} of the models: {', '.join(unranked)}.")
    if len(shared) < len(matrix.items):
        left_out.append(f"People ranked {len(matrix.items) - len(shared)} stories that are not among the runs'.")
    return matrix.only(models, shared), left_out


def _folder(output: Path, runs: Runs, encoders: Sequence[str], rankings: Path | None, judge: Judge | None) -> RunFolder:
    rubric = next(iter(runs.values())).rubric
    settings = {
        "task": "agreement",
        "models": {name: run.digest() for name, run in runs.items()},
        "embedding_models": list(encoders),
        "rankings_sha256": None if rankings is None else hashlib.sha256(rankings.read_bytes()).hexdigest(),
        "judge": judge and rubric and {"model": judge.name, "prompt": rubric.name, **judge.parameters},
    }
    try:
        return RunFolder(output, settings)
    except UserError as error:
        if judge is None or not (output / LEDGER).is_file():
            raise
        raise UserError(f"{error} (with a copy of its {LEDGER}, nothing is asked twice)") from error
