"""One table of rated answers: a row for each score that a rater gave an answer by a criterion.

People, judges, experts, encoders and tasks are raters of it. Its columns are `COLUMNS`; an answer is a system's to an
item, and `answer` tells several of one system to one item apart.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.foreign import nfkc, quoted
from sozo.data.jsonl import id_column, read_objects
from sozo.data.settings import hint
from sozo.data.sheet import plain, read_sheet
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.labels import labels
from sozo.studies.rubric import RatingRubric
from sozo.tasks import task_type, task_types
from sozo.tasks.run_result import RunResult

UNIT = ["system", "item", "answer"]  # what is rated
# By which headings a column goes in people's files, the first that is there.
HEADINGS = {
    "system": ("system", "model", "モデル", "システム"),
    "item": ("item", "question", "質問", "問題", "設問", "課題", "問い"),
    "answer": ("answer", "id", "番号", "回答番号", "no"),
    "criterion": ("criterion", "評価項目", "観点", "評価軸", "基準"),
    "rater": ("rater", "評価者", "採点者"),
    "score": ("score", "点数", "得点", "スコア", "評点", "評価"),
    "domain": ("domain", "分野"),
    "group": ("group", "班"),
    "patent": ("patent", "特許"),
    "text": ("text", "回答", "回答文", "本文"),
}
COLUMNS = (*HEADINGS, "where")
RANKING = "ranking"  # a column, and the criterion of its scores
_RATER = re.compile(r"(?:評価者|採点者|rater|annotator)[\s_-]*[0-9a-z]+", re.IGNORECASE)
_BETWEEN = " 　_-:/・,()[]"


def read_ratings(
    paths: Sequence[Path], rubric: RatingRubric | None = None, key: Path | None = None
) -> pd.DataFrame:
    """The table of what people gave, of files of JSON lines, CSV or Excel.

    A row is a score (column `score`), or an answer with a column for each rater and criterion (評価者A 流暢性), or one for
    each criterion where a column or the name of the file says who rated, or a ranking of models on one item:
    `{"story_id": "momotaro", "ranking": ["GPT-4o", "Swallow-8B"], "rater": "r1"}`. With a rubric every criterion is one of its
    own and every score on that one's scale; without, a finite number. An empty cell was not rated. `key` says what the
    blind answers of `sozo rate` are.
    """
    table = _table(paths[0], [row for path in paths for row in _scores(path, rubric)])
    if key is not None:
        blind = pd.DataFrame([row for _, row in read_rows(key, ("answer", "id"))])
        known = blind.set_index("answer")[["system", "item", "id"]]
        for row in table[~table.answer.isin(known.index)].itertuples():
            raise UserError(
                f"{row.where}: the answer {row.answer!r} is not in {key}; give this sheet's key"
            )
        table[UNIT] = known.loc[table.answer].to_numpy()
    for name in ("domain", "patent"):
        first = table.groupby(UNIT)[[name, "where"]].transform("first")
        for at in table.index[table[name] != first[name]]:
            row, (value, line) = table.loc[at], first.loc[at]
            two = f"the item {row['item']!r} is of the {name} {row[name]!r}, and of {value!r} before ({line})"
            raise UserError(f"{row['where']}: {two}; give it one")
    return table


def _table(path: Path, scores: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    if not scores:
        names = "item, criterion, rater, score"
        raise UserError(f"{path}: holds no ratings; give the columns {names}")
    texts = dict.fromkeys({*COLUMNS} - {"score"}, "")
    table = pd.DataFrame(scores, columns=COLUMNS, dtype=object).fillna(texts)
    return _once(table.astype({"score": float}))


def _once(table: pd.DataFrame) -> pd.DataFrame:
    """The same table; UserError where a rater rated an answer by one criterion twice."""
    ratings = table[[*UNIT, "criterion", "rater"]].apply(tuple, axis="columns")
    for at in ratings.index[ratings.duplicated()]:
        row, first = table.loc[at], table["where"][ratings == ratings[at]].iloc[0]
        raise UserError(
            f"{row['where']}: the rater {row['rater']!r} rated this already ({first}); keep one"
        )
    return table


def runs_of(
    models: Sequence[Evaluated], wanted: str | None = None
) -> list[tuple[str, RunResult]]:
    """The runs of one task, each after its system: of `wanted`, or of the only one whose answers judges scored."""
    runs = [
        (model.name, run)
        for model in models
        for run in (*model.runs.values(), *model.judged.values())
        if wanted in (None, run.task)
    ]
    if wanted is None:
        runs = [pair for pair in runs if pair[1].judge] or runs
    tasks = dict.fromkeys(run.task for _, run in runs)
    if len(tasks) != 1:
        there = f"are runs of {', '.join(tasks)}" if tasks else f"is no run of {wanted}"
        raise UserError(f"there {there}; say which: --task NAME")
    return runs


def rated_runs(
    runs: Sequence[tuple[str, RunResult]],
) -> tuple[pd.DataFrame, dict[str, dict[str, Any]]]:
    """The table of what judges gave the answers of `runs_of` a task, and each judge's settings by the rater's name.

    Of a task without a judge its encoder rates by the main measure. An answer's kind of item is its `domain`.
    """
    scores, judges = [], {}
    for system, run in runs:
        named = {name: f"{run.task}/{name}" for name in judged_criteria(run.task)}
        if not run.judge:
            named = {run.main.short: run.main.name}
        rater = run.judge or run.scorer or run.task
        judges[rater] = _judge(run)
        for answer in run.answers():
            facts = {"system": system, "item": answer.item, "answer": answer.id}
            facts |= {"domain": answer.group, "text": answer.text, "rater": rater}
            for criterion, name in named.items():
                score = answer.values.get(name, math.nan)
                own = {"criterion": criterion, "score": score, "where": str(run.folder)}
                scores.append(facts | own)
    return _table(runs[0][1].folder, scores), judges


def judged_criteria(task: str) -> dict[str, None]:
    """What a judge scores a task's answers by."""
    rubrics = task_type(task).rubrics
    return dict.fromkeys(name for rubric in rubrics for name in rubric.criteria)


def _judge(run: RunResult) -> dict[str, Any]:
    """What decides a judge's replies but for the seed."""
    free = ("max_tokens", "server")
    judge = run.settings.get("judge", {})
    judge = {name: value for name, value in judge.items() if name not in free}
    body = {
        k: v for k, v in (judge.pop("extra_body", None) or {}).items() if k != "seed"
    }
    return judge | ({"extra_body": body} if body else {})


def about_runs(
    people: pd.DataFrame, rated: pd.DataFrame
) -> tuple[pd.DataFrame, dict[str, int]]:
    """People's scores that are of answers which judges `rated` too, as these name them; why the others are left out.

    People may call an answer by its question, if the system has one answer to it.
    """
    by_name: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for unit in rated[UNIT].drop_duplicates().itertuples(index=False):
        by_name.setdefault((unit.system, unit.item), []).append(unit)
        by_name.setdefault((unit.system, unit.answer), [unit])
    names, systems = set(rated.criterion), set(rated.system)
    if len(names) == people.criterion.nunique() == 1:  # by whatever name
        names |= set(people.criterion)
    kept, left_out = {}, Counter[str]()
    for at, row in enumerate(people.itertuples()):
        units = by_name.get((row.system, row.item), [])
        if row.answer:
            units = [unit for unit in units if unit[2] == row.answer]
        if len(units) > 1:
            few = (
                f"{row.system}'s question {row.item!r}, which has {len(units)} answers"
            )
            raise UserError(
                f"{row.where}: rates {few}; give the answer's id as item, such as {units[0][2]!r}"
            )
        if row.system not in systems:
            left_out[f"no run of the model {row.system}"] += 1
        elif row.criterion not in names:
            left_out[f"no criterion {row.criterion}"] += 1
        elif not units:
            left_out[f"no answer {row.item} of {row.system}"] += 1
        else:
            kept[at] = units[0]
    if not kept:
        why, most = left_out.most_common(1)[0]
        there = ", ".join(dict.fromkeys(rated.system))
        reason = f"{most} of {left_out.total()}: {why}; the runs are of {there}"
        raise UserError(
            f"{people['where'].iloc[0]}: no rating is about an answer of these runs ({reason})"
        )
    table = people.iloc[[*kept]].copy()
    table[UNIT] = [*kept.values()]
    return _once(table), dict(left_out)


def read_rows(
    path: Path, needed: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file of JSON lines, CSV or Excel, each after where it stands; all have what is `needed`."""
    if path.suffix.lower() == ".jsonl":
        rows = read_objects(path)
    else:
        cells = read_sheet(path).answers().cells
        if twice := [*cells.columns[cells.columns.duplicated()]]:
            raise UserError(
                f"{path}: two columns are called {twice[0]}; leave one out, or call it otherwise"
            )
        rows = (
            (f"{path}, row {number}", row)
            for number, row in cells.to_dict("index").items()
        )
    for where, row in rows:
        for name in needed:
            if row.get(name) in (None, ""):
                raise UserError(
                    f"{where}: the column {name} is missing or empty; fill it in"
                )
        yield where, row


def _scores(path: Path, rubric: RatingRubric | None) -> Iterator[dict[str, Any]]:
    rows = [*read_rows(path)]
    headings = dict.fromkeys(heading for _, row in rows for heading in row)
    if RANKING in headings:
        yield from _ranked(rows)
        return
    column = {}
    for name, known in HEADINGS.items():
        found = [
            heading for own in known for heading in headings if plain(heading) == own
        ]
        if found:
            column[name] = found[0]
    if headings and not column.keys() & UNIT:
        there = ", ".join(headings)
        raise UserError(
            f"{path}: no column says what was rated; call it item (問題) or answer (番号); there are {there}"
        )
    rated = {column.get("score", ""): ("", "")}
    if headings and "score" not in column:
        others = [name for name in headings if name not in column.values()]
        rated = _rated_columns(path, others, rows, rubric, column)
    for where, row in rows:
        facts = {
            name: re.sub(r"^(\d+)\.0+$", r"\1", str(row[heading]).strip())
            for name, heading in column.items()
            if row.get(heading) is not None and name != "score"
        }
        for heading, (rater, criterion) in rated.items():
            if row.get(heading) in (None, ""):
                continue
            who = rater or facts.get("rater")
            if not who:
                raise UserError(
                    f"{where}: the column {column.get('rater', 'rater')} is missing or empty; fill it in"
                )
            by = criterion or facts.get("criterion") or "score"
            name, score = _score(where, by, row[heading], rubric)
            own = {"rater": who, "criterion": name, "score": score, "where": where}
            yield {**facts, **own}


def _ranked(rows: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Rankings of the same models on one item each, the best first, as scores from 1 (first place) to 0 (last).

    Of the paper's eleven models, the first has 1.0, the second 0.9 and the last 0.0.
    """
    first: list[str] = []
    for where, row in rows:
        names = row.get(RANKING)
        if not isinstance(names, list) or len(set(map(str, names))) < max(
            2, len(names)
        ):
            raise UserError(
                f"{where}: the column ranking is no list of two models or more, each once; give names, best first"
            )
        first = first or names
        if set(names) != set(first):
            other = ", ".join(sorted(map(str, {*names} ^ {*first})))
            raise UserError(
                f"{where}: ranks other models than the first ranking ({other}); rank the same"
            )
        facts = {"item": id_column(row, "story_id", where), "criterion": RANKING}
        # Without names, several rankings of one item are several people's.
        facts |= {"rater": id_column(row, "rater", where, "") or where, "where": where}
        for place, system in enumerate(names, 1):
            score = (len(names) - place) / (len(names) - 1)
            yield {**facts, "system": system, "score": score}


def _rated_columns(
    path: Path,
    headings: Sequence[str],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    rubric: RatingRubric | None,
    column: Mapping[str, str],
) -> dict[str, tuple[str, str]]:
    """Heading -> rater and criterion that it names; without a name of a rater the column or the file has it."""
    known = sorted(rubric.by_name if rubric else criteria(), key=len, reverse=True)
    rated: dict[str, tuple[str, str]] = {}
    for heading in headings:
        text = nfkc(heading).strip()
        named = [nfkc(name) for name in known if nfkc(name) in text.casefold()]
        if named:
            at = text.casefold().index(named[0])
            rest = text[:at] + text[at + len(named[0]) :]
            rated[heading] = rest.strip(_BETWEEN), named[0]
        elif rater := _RATER.search(text):
            rated[heading] = rater[0], text.replace(rater[0], "").strip(_BETWEEN)
    if not rated and "rater" in column and "criterion" not in column:
        for heading in headings:
            cells = [row.get(heading) for _, row in rows]
            if all(cell in (None, "") or _number(cell) is not None for cell in cells):
                rated[heading] = "", heading
    if not rated:
        there = ", ".join(headings)
        raise UserError(
            f"{path}: no column has scores that say who gave them and by what; call it score (点数), beside rater "
            f"(評価者) and criterion (観点), or one for each rater and criterion, as 評価者A 独創性; there are {there}"
        )
    own = "" if "rater" in column else path.stem
    return {heading: (rater or own, name) for heading, (rater, name) in rated.items()}


def criteria() -> dict[str, str]:
    """Name, in small letters -> criterion that judges of any task score by: as in files, in English, in Japanese."""
    known = labels()
    return {
        by.casefold(): name
        for task in task_types()
        for name in judged_criteria(task)
        for by in (name, *known.get(name, ()))
    }


def _number(value: Any) -> float | None:
    try:
        number = float(nfkc(str(value)))
    except ValueError:
        return None
    return (
        number if math.isfinite(number) and not isinstance(value, bool | list) else None
    )


def _score(
    where: str, name: str, value: Any, rubric: RatingRubric | None
) -> tuple[str, float]:
    """The criterion of that name, and a score by it."""
    score = _number(value)
    if rubric is None:
        if score is None:
            raise UserError(f"{where}: the score {quoted(value)} is no number")
        return criteria().get(name.casefold(), name), score
    criterion = rubric.criterion(name)
    if criterion is None:
        known = [criterion.name for criterion in rubric.criteria]
        near = hint(name, known, f"; {', '.join(known)} exist")
        raise UserError(
            f"{where}: no criterion {name!r} in the rubric {rubric.name}{near}"
        )
    if score not in criterion.scores:
        scores = f"{criterion.lowest} to {criterion.highest}"
        raise UserError(
            f"{where}: the score {quoted(value)} of {criterion.name} is no whole number from {scores}"
        )
    return criterion.name, score
