"""What `python -m eval correlate` does, without the command line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from data.errors import UserError
from data.record import write_json, write_whole
from data.run_folder import RunFolder
from eval.terminal import PageRun

_FILES = ("config.json", "metrics.json", "correlations.json", "correlations.md")


def correlate_runs(places: Sequence[str], output: Path, *, ratings: Path | None = None) -> PageRun:
    """Correlate the tasks over the models of finished runs (Tables 9 and 10, DAT and SAT), people with the judge.

    The folder `output` gets `correlations.md`, `correlations.json` and, in `metrics.json`, how many cells there are;
    another set of scores needs another one. `places` are as in `eval.evaluated.find_evaluated`; people's `ratings` of
    answers that a judge scored (`eval.ratings`) add Table 8.
    """
    from eval.correlate.across import ENOUGH, across_models
    from eval.correlate.people import rated_task, read_people
    from eval.correlate.runs_text import Correlations
    from eval.correlate.scores import check_task_alike, correlated_tasks, model_rows, scales
    from eval.evaluated import find_evaluated

    models = find_evaluated(places)
    rows = model_rows(models)
    pairs = across_models(rows, correlated_tasks(models))
    if ratings is None and max(pair.models for pair in pairs) < ENOUGH:
        counted = ", ".join(f"{pair.table or pair.both} {pair.models}" for pair in pairs)
        raise UserError(
            f"a correlation needs {ENOUGH} models with both benchmarks; of the {len(models)} models with finished runs "
            f"there are, for {counted}; run more: python -m eval run"
        )
    people = None
    if ratings is not None:
        check_task_alike(rated_task(), models)
        people = read_people(ratings, models)
    inputs = {
        "rows": [row.to_json() for row in rows],
        "people": people and [[r.model, r.item, r.criterion, r.rater, r.score] for r in people.ratings],
        "judged": people and [[*key, score] for key, score in people.judged.items()],
    }
    settings = {"task": "correlate_runs", "models": [row.model for row in rows], "ratings": people is not None}
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    folder = RunFolder(output, {**settings, "scores_sha256": digest})
    # A folder that has lost a file is written again.
    if folder.metrics() is not None and all((output / name).is_file() for name in _FILES):
        return PageRun(output, (output / _FILES[-1]).read_text("utf-8"), _FILES, True)
    folder.start({}, {"places": list(places), "ratings_file": str(ratings) if ratings else None})
    result = Correlations(rows, scales(models), pairs, people)
    page = result.to_markdown()
    write_json(output / _FILES[-2], result.to_json())
    write_whole(output / _FILES[-1], page.encode())
    folder.finish(result.metrics())
    return PageRun(output, page, _FILES, False)
