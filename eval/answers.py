"""All answers of finished runs in one table, for a spreadsheet (CSV) or a program (JSON lines)."""

import codecs
import csv
import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import MOST_QUOTED, parse_json
from sozo.data.record import refuse_link, whole_file, write_whole
from sozo.data.schema import utf8_safe
from sozo.data.sheet import as_text
from sozo.eval.evaluated import Evaluated, find_evaluated
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
_LAST = "run"


def write_answers(path: Path, models: Sequence[Evaluated]) -> int:
    """Write a row for each answer of each run, and return how many there are. UserError for a file of somebody else's.

    The columns, of which CSV has numbers with all their digits:

    - `model`, `task`, `item` (its id, empty for DAT), `group` (the item's kind), `asked`, `id`, `text` (the answer);
    - `asked`: what the item asks, if that is short; else its title. Whole prompts stand in the run's `items.jsonl`,
      once an item. Of a run that asks one thing it is empty;
    - `score`: of the task's first measure; `reason`: why there is none; `state`: whether the answer came to its end
      (`complete`, `cut`, `refusal`, `filtered`, `no_text`, `wrong_form`, `error`; `not_at_hand` where only its
      judgement is known);
    - the other measures of each task by their names, shares as 1 or 0. JCQ's by kinds of questions are left out, since
      they are those of all with `group`;
    - `run`: the run's folder.

    Of a DAT run with a number of usable lists these are the answers that count, as in all that is said of it. In CSV a
    text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    as_csv = path.suffix.lower() == ".csv"
    if not as_csv and path.suffix.lower() != ".jsonl":
        raise UserError(
            f"{path}: name a file that ends in .csv or .jsonl, as --output answers.csv"
        )
    _refuse_foreign(path, as_csv)
    ran = {run.task for model in models for run in model.runs.values()}
    measures = [
        measure
        for name, task in task_types().items()
        if name in ran
        for measure in _others(task)
    ]
    names = (*_COLUMNS, *(measure.name for measure in measures), _LAST)
    count = 0
    with whole_file(path) as file:
        # With a byte-order mark, without which a spreadsheet garbles Japanese.
        text = codecs.getwriter("utf-8-sig" if as_csv else "utf-8")(file)
        sheet = csv.writer(text)
        if as_csv:
            sheet.writerow(names)
        for row in _rows(models, measures):
            count += 1
            if as_csv:
                sheet.writerow(map(as_text, row))
            else:
                text.write(
                    json.dumps(
                        dict(zip(names, row, strict=True)),
                        ensure_ascii=False,
                        allow_nan=False,
                    )
                    + "\n"
                )
    return count


def table_of(path: Path, runs: Sequence[str], for_raters: int = 0) -> Iterator[str]:
    """Write the answers of runs, or so many for raters to a sheet; what a terminal shows then."""
    models = find_evaluated(runs)
    if not for_raters:
        yield f"{path} ({write_answers(path, models):,} answers)"
        return
    drawn, key = write_for_raters(path, models, for_raters)
    copies = "give each rater a copy called after the rater"
    yield f"{path} ({drawn} of {for_raters} answers: every model's to the questions that all of them have; {copies})"
    yield f"{key} (whose they are: do not send it; --key of sozo agreement)"


def write_for_raters(
    path: Path, models: Sequence[Evaluated], most: int
) -> tuple[int, Path]:
    """Write a sheet that people fill, and its key beside it (`NAME.key.csv`); how many answers, and the key's path.

    Questions are drawn, and of each one an answer of every model, so many that there are `most` answers at most; they
    are shuffled, without reasoning, and only the key says whose they are. A row has `answer` (its blind name), `question`,
    `text` and an empty column for each criterion of the task's judge. Answers that are unusable or cut are left out.
    """
    key = path.with_suffix(".key.csv")
    tasks = {run.task for model in models for run in model.runs.values()}
    if len(tasks) > 1 or path.suffix.lower() != ".csv" or path.exists() or key.exists():
        raise UserError(
            f"{path}: a sheet for raters is a new .csv file of one task ({', '.join(sorted(tasks))}); name another"
        )
    by_item: dict[str, dict[str, list[str]]] = {}
    asked: dict[str, str] = {}
    for model in models:
        for run in model.runs.values():
            asked |= {
                item: row.get("question") or row.get("story") or row["prompt"]
                for item, row in run.items.items()
            }
            for answer in run.answers():
                text = (final_text(answer.text) or "").strip()
                if text and answer.complete and not answer.reason:
                    known = [model.name, answer.item, answer.id, text]
                    by_item.setdefault(answer.item, {}).setdefault(model.name, known)
    random, systems = Random("for raters"), max(map(len, by_item.values()), default=1)
    whole = sorted(item for item, own in by_item.items() if len(own) == systems)
    drawn = random.sample(whole, min(len(whole), most // systems))
    rows = [row for item in drawn for row in by_item[item].values()]
    if not rows:
        raise UserError(
            f"{path}: {most} answers hold none of each of {systems} models to one question; draw more, or leave a model out"
        )
    random.shuffle(rows)
    draw = hashlib.sha256(repr(rows).encode()).hexdigest()[:4]
    rubrics = task_type(tasks.pop()).rubrics
    names = dict.fromkeys(name for rubric in rubrics for name in rubric.criteria)
    criteria = [labels().get(name, (name, name))[1] for name in names or ["creativity"]]
    sheet = [["answer", "question", "text", *criteria]]
    keys = [["answer", "system", "item", "id"]]
    for number, (system, item, own, said) in enumerate(rows, 1):
        name = f"{draw}-{number}"
        sheet.append([name, asked[item], said, *[""] * len(criteria)])
        keys.append([name, system, item, own])
    for file, lines in ((path, sheet), (key, keys)):
        written = io.StringIO()
        csv.writer(written).writerows([*map(as_text, line)] for line in lines)
        write_whole(file, utf8_safe(written.getvalue()).encode("utf-8-sig"))
    return len(rows), key


def _refuse_foreign(path: Path, as_csv: bool) -> None:
    """UserError where the file is there and has other columns, as one has to which somebody has added ratings."""
    refuse_link(path)
    if not path.exists():
        return
    try:
        with path.open(encoding="utf-8-sig") as file:
            line = file.readline()
        names = next(csv.reader([line]), []) if as_csv else [*parse_json(line)]
    except (OSError, ValueError, TypeError, csv.Error):
        names = []
    if (*names[: len(_COLUMNS)], *names[-1:]) != (*_COLUMNS, _LAST):
        raise UserError(
            f"{path}: exists, and its columns are not those of sozo's answers; give another --output"
        )


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
                values = [
                    run.value(answer, measure) if measure in own else None
                    for measure in measures
                ]
                texts = (
                    model.name,
                    run.task,
                    answer.item,
                    answer.group,
                    asked[answer.item],
                    answer.id,
                    answer.text,
                )
                score = answer.values.get(run.main.name)
                row = [
                    *texts,
                    score,
                    answer.reason,
                    answer.state,
                    *values,
                    str(run.folder),
                ]
                yield [
                    utf8_safe(cell) if isinstance(cell, str) else cell for cell in row
                ]


def _asked(run: RunResult, item: str) -> str:
    if len(run.items) == 1:
        return ""
    shown = task_type(run.task).view.reader_item(run, item)
    return shown.text if len(shown.text) <= MOST_QUOTED else shown.title
