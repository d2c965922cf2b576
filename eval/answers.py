"""All answers of finished runs in one table, or some of them in a blind sheet for raters."""

import codecs
import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import refuse_link, whole_file
from sozo.data.schema import utf8_safe
from sozo.data.sheet import as_text
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.labels import labels
from sozo.scoring.final_text import final_text
from sozo.scoring.measure import Measure
from sozo.tasks import task_type, task_types
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task

_COLUMNS = (
    "model",
    "task",
    "item",
    "group",
    "asked",
    "id",
    "text",
    "score",
    "reason",
    "state",
)


def write_answers(path: Path, models: Sequence[Evaluated]) -> int:
    """Write a row for each answer of each run, and return how many there are. UserError for a file that is there.

    The columns, of which numbers have all their digits:

    - `model`, `task`, `item` (its id, empty for DAT), `group` (the item's kind), `asked`, `id`, `text` (the answer);
    - `asked`: what the item asks; DAT, which asks one thing, leaves it empty;
    - `score`: of the task's first measure; `reason`: why there is none; `state`: whether the answer came to its end
      (`complete`, `cut`, `refusal`, `filtered`, `no_text`, `wrong_form`, `error`; `not_at_hand` where only its
      judgement is known);
    - the other measures of each task by their names, shares as 1 or 0. JCQ's by kinds of questions are left out, since
      they are those of all with `group`;
    - `run`: the run's folder.

    Of a DAT run with a number of usable lists these are the answers that count, as in all that is said of it. A text
    that a spreadsheet would take for a formula begins with an apostrophe.
    """
    ran = {run.task for model in models for run in model.runs.values()}
    measures = [
        measure
        for name, task in task_types().items()
        if name in ran
        for measure in _others(task)
    ]
    names = (*_COLUMNS, *(measure.name for measure in measures), "run")
    return _write(path, names, _rows(models, measures))


def write_for_raters(
    path: Path, models: Sequence[Evaluated], most: int
) -> tuple[int, Path]:
    """Write a sheet that people fill, and its key beside it (`NAME.key.csv`); how many answers, and the key's path.

    Questions are drawn, and of each one an answer of every model, so many that there are `most` answers at most; they
    are shuffled, without reasoning, and only the key says whose they are. A row has `answer` (its blind name), `question`,
    `text` and an empty column for each criterion of the task's judge. Answers that are unusable or cut are left out.
    """
    key = path.with_suffix(".key.csv")
    runs = [(model.name, run) for model in models for run in model.runs.values()]
    tasks = {run.task for _, run in runs}
    if len(tasks) > 1:
        raise UserError(
            f"{path}: a sheet for raters is of one task ({', '.join(sorted(tasks))}); name the runs of one"
        )
    by_item: dict[str, dict[str, list[str]]] = {}
    asked: dict[str, str] = {}
    for system, run in runs:
        asked |= {item: _asked(run, item) for item in run.items}
        for answer in run.answers():
            text = (final_text(answer.text) or "").strip()
            if text and answer.complete and not answer.reason:
                known = [system, answer.item, answer.id, text]
                by_item.setdefault(answer.item, {}).setdefault(system, known)
    random, systems = Random("for raters"), max(map(len, by_item.values()), default=1)
    whole = sorted(item for item, own in by_item.items() if len(own) == systems)
    drawn = random.sample(whole, min(len(whole), most // systems))
    rows = [row for item in drawn for row in by_item[item].values()]
    if not rows:
        raise UserError(
            f"{path}: {most} answers hold none of each of {systems} models to one question; draw more, or leave a model out"
        )
    random.shuffle(rows)
    named = [(f"{path.stem}-{number}", *row) for number, row in enumerate(rows, 1)]
    rubrics = task_type(tasks.pop()).rubrics
    names = dict.fromkeys(name for rubric in rubrics for name in rubric.criteria)
    criteria = [labels().get(name, (name, name))[1] for name in names or ["creativity"]]
    blind = (
        [name, asked[item], text, *[""] * len(criteria)]
        for name, _, item, _, text in named
    )
    _write(path, ("answer", "question", "text", *criteria), blind)
    _write(key, ("answer", "system", "item", "id"), (row[:4] for row in named))
    return len(rows), key


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Write a new CSV file, which Excel opens, and return how many rows it has."""
    refuse_link(path)
    if path.suffix.lower() != ".csv" or path.exists():
        raise UserError(
            f"{path}: name a new file that ends in .csv, as --output answers.csv"
        )
    number = 0
    with whole_file(path) as file:
        # With a byte-order mark, without which a spreadsheet garbles Japanese.
        sheet = csv.writer(codecs.getwriter("utf-8-sig")(file))
        sheet.writerow(names)
        for number, row in enumerate(rows, 1):  # noqa: B007 (the last one is told)
            texts = (utf8_safe(one) if isinstance(one, str) else one for one in row)
            sheet.writerow(map(as_text, texts))
    return number


def _others(task: type[Task]) -> list[Measure]:
    """All measures but the first, and but those that are another one's of a kind of items (`jcq/situation`)."""
    return [
        measure
        for measure in task.measures[1:]
        if measure.kinds[:1] != tuple(measure.name.split("/")[1:2])
    ]


def _rows(
    models: Sequence[Evaluated], measures: Sequence[Measure]
) -> Iterator[list[Any]]:
    for model in models:
        for run in (*model.runs.values(), *model.judged.values()):
            asked = {item: _asked(run, item) for item in run.items}
            own = {measure for measure in measures if measure.task == run.main.task}
            for answer in run.answers():
                what = answer.item, answer.group, asked[answer.item], answer.id
                score = answer.values.get(run.main.name)
                values = (
                    run.value(answer, measure) if measure in own else None
                    for measure in measures
                )
                row = [model.name, run.task, *what, answer.text, score, answer.reason]
                yield [*row, answer.state, *values, str(run.folder)]


def _asked(run: RunResult, item: str) -> str:
    return task_type(run.task).view.reader_item(run, item).text
