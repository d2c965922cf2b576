"""One table of rated answers: a row for each score that a rater gave an answer by a criterion.

People, judges, experts, encoders and tasks are raters of it. Its columns are `COLUMNS`; an answer is a system's to an
item, and `answer` tells several of one system to one item apart.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.foreign import nfkc, quoted
from sozo.data.jsonl import read_objects
from sozo.data.markdown import plain as escaped
from sozo.data.sheet import plain, read_sheet
from sozo.eval.evaluated import Evaluated, find_evaluated, named
from sozo.eval.report.labels import labels
from sozo.studies.correlation import check_alike
from sozo.studies.rubric import RatingRubric
from sozo.tasks import task_type, task_types
from sozo.tasks.run_result import RunResult

UNIT = ["system", "item", "answer"]  # what is rated
# By which headings a column goes in people's files, the first that is there.
HEADINGS = {
    "system": "system model モデル モデル名 システム システム名 条件 群",
    "item": "item question 質問番号 質問id 問題番号 設問番号 質問 問題 設問 課題 問い",
    "answer": "answer id 番号 回答番号 no",
    "criterion": "criterion 評価項目 観点 評価軸 基準",
    "rater": "rater 評価者 採点者",
    "score": "score 点数 得点 スコア 評点 評価",
    "domain": "domain 分野",
    "text": "text 回答 回答文 本文",
}
COLUMNS = (*HEADINGS, "where")
Judges = Mapping[str, Mapping[str, Any]]  # the settings of those raters that are judges
_RATER = r"(?:評価者|採点者|rater|annotator)[\s_-]*[0-9a-z]+"
_JUDGE = re.compile(
    "judge|評価モデル", re.IGNORECASE
)  # a rater of a file that is none of people
_BETWEEN = " 　_-:/・,()[]"


def read_ratings(
    paths: Sequence[Path], rubric: RatingRubric | None = None, key: Path | None = None
) -> pd.DataFrame:
    """The table of what people gave, of files of JSON lines, CSV or Excel.

    A row is a score (column `score`), or an answer with a column for each rater and criterion (評価者A 流暢性), or one for
    each criterion where a column or the name of the file says who rated. With a rubric every criterion is one of its own and
    every score on that one's scale; without, a finite number. An empty cell was not rated. `key` says what the
    blind answers of `sozo answers --for-raters` are.
    """
    not_read = dict[str, None]()
    scores = [row for path in paths for row in _scores(path, rubric, not_read)]
    table = _table(paths[0], scores)
    if not_read:
        table.attrs["left_out"] = [escaped(f"Not read: {', '.join(not_read)}.")]
    if key is not None:
        blind = pd.DataFrame([row for _, row in read_rows(key, ("answer", "id"))])
        known = blind.set_index("answer")[["system", "item", "id"]]
        for row in table[~table.answer.isin(known.index)].itertuples():
            raise UserError(
                f"{row.where}: the answer {row.answer!r} is not in {key}; give this sheet's key"
            )
        table[UNIT] = known.loc[table.answer].to_numpy()
    return table


def _table(path: Path, scores: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    if not scores:
        raise UserError(
            f"{path}: holds no ratings; fill in scores, or give the columns item, criterion, rater, score"
        )
    texts = dict.fromkeys({*COLUMNS} - {"score"}, "")
    table = pd.DataFrame(scores, columns=COLUMNS, dtype=object).fillna(texts)
    return _once(table.astype({"score": float}))


def _once(table: pd.DataFrame) -> pd.DataFrame:
    """The same table; UserError where a rater rated an answer by one criterion twice."""
    rating = [*UNIT, "criterion", "rater"]
    first = table.groupby(rating)["where"].transform("first")
    for at in table.index[table.duplicated(rating)]:
        row = table.loc[at]
        remedy = "keep one"
        if not (row["item"] and row.system):
            remedy = "no columns say both question (質問 or item) and system (モデル or system): add them, or keep one"
        raise UserError(
            f"{row['where']}: the rater {row.rater!r} rated this already ({first[at]}); {remedy}"
        )
    return table


def read_places(
    places: Sequence[str],
    task: str | None = None,
    *,
    rubric: RatingRubric | None = None,
    key: Path | None = None,
    judgings: bool = False,
) -> tuple[pd.DataFrame, Judges]:
    """The one table of files of ratings and of folders of finished runs (DIR, NAME=DIR), and which raters are judges.

    Of folders of one task its judges are raters, of a task without a judge its encoder; in a file a judge is called
    `judge NAME`. People's scores are kept that are of answers of these runs; `attrs` says of which task, and in lines
    what is `left_out`. NAME is the model's, of `judgings` the rater's, who is else called by the folder. A judge's
    missing score is NaN.
    """
    files = [Path(place) for place in places if is_file(place)]
    folders = [place for place in places if not is_file(place)]
    people = read_ratings(files, rubric, key) if files else pd.DataFrame()
    names = people.get("rater", ())
    judges: dict[str, Any] = {n: {"model": n} for n in names if _JUDGE.match(n)}
    if not folders:
        return people, judges
    found = {p: find_evaluated([named(p)[1] if judgings else p]) for p in folders}
    task = runs_of([*chain(*found.values())], task)[0][1].task
    tables = list[pd.DataFrame]()
    every = list[tuple[str, RunResult]]()
    for place, models in found.items():
        runs = runs_of(models, task)
        rated, own = rated_runs(runs)
        name = named(place)[0]
        if judgings and (name or judges.keys() & own.keys()):
            called = {judge: f"{name or place} {judge}" for judge in own}
            if len(own) == 1:
                called = dict.fromkeys(own, name or place)
            own = {called[judge]: settings for judge, settings in own.items()}
            rated["rater"] = rated.rater.map(called)
        every += [] if judgings else runs
        judges |= own
        tables.append(rated)
    for judge in {_rater(run) for _, run in every}:
        check_alike(task.upper(), [pair for pair in every if _rater(pair[1]) == judge])
    judged = pd.concat(tables, ignore_index=True)
    other = judged[judged.text != judged.groupby(UNIT).text.transform("first")]
    for row in other.itertuples():
        raise UserError(
            f"{row.where}: the answer {row.answer} of {row.system} has another text than before; give the same answers"
        )
    left_out = people.attrs.get("left_out", [])
    if files:
        people, others = about_runs(people, judged)
        left_out += others
    table = _once(pd.concat([people, judged], ignore_index=True))
    table.attrs |= {"task": task, "left_out": left_out}
    return table, judges


def is_file(place: str) -> bool:
    """Whether a place is a file of ratings, and no folder of runs."""
    return not Path(named(place)[1]).is_dir()


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
) -> tuple[pd.DataFrame, Judges]:
    """The table of what judges gave the answers of `runs_of` a task, and each judge's settings by the rater's name.

    Of a task without a judge its encoder rates by the main measure. An answer's kind of item is its `domain`.
    """
    scores, judges = [], {}
    for system, run in runs:
        named = {name: f"{run.task}/{name}" for name in judged_criteria(run.task)}
        if not run.judge:
            named = {run.main.short: run.main.name}
        judges[_rater(run)] = _judge(run)
        for answer in run.answers():
            facts = {"system": system, "item": answer.item, "answer": answer.id}
            facts |= {"domain": answer.group, "text": answer.text}
            facts |= {"rater": _rater(run), "where": str(run.folder)}
            scores += [
                facts | {"criterion": short, "score": answer.values.get(name, math.nan)}
                for short, name in named.items()
            ]
    return _table(runs[0][1].folder, scores), judges


def _rater(run: RunResult) -> str:
    return run.judge or run.scorer or run.task


def judged_criteria(task: str) -> dict[str, None]:
    """What a judge scores a task's answers by."""
    rubrics = task_type(task).rubrics
    return dict.fromkeys(name for rubric in rubrics for name in rubric.criteria)


def _judge(run: RunResult) -> dict[str, Any]:
    """What decides a judge's replies but for the seed."""
    judge, free = run.settings.get("judge", {}), ("max_tokens", "server")
    body = {k: v for k, v in (judge.get("extra_body") or {}).items() if k != "seed"}
    return {k: v for k, v in judge.items() if k not in free} | {"extra_body": body}


def about_runs(
    people: pd.DataFrame, rated: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """People's scores that are of answers which judges `rated` too, as these name them; why others are left out, in lines.

    People may call an answer by its question, if the system has one answer to it.
    """
    by_name = dict[tuple[str, str], list[Any]]()
    units = rated[[*UNIT, "domain"]].drop_duplicates(UNIT)
    for unit in units.itertuples(index=False):
        by_name.setdefault((unit.system, unit.item), []).append(unit)
        by_name.setdefault((unit.system, unit.answer), [unit])
    names, systems = set(rated.criterion), set(rated.system)
    if len(names) == people.criterion.nunique() == 1:  # by whatever name
        names |= set(people.criterion)
    kept, left = dict[int, Any](), Counter[str]()
    for at, row in enumerate(people.itertuples()):
        own = by_name.get((row.system, row.item), ())
        own = [unit for unit in own if row.answer in ("", unit.answer)]
        if row.system not in systems:
            left[
                f"no run of the model {row.system or 'that is not named (blind answers need --key)'}"
            ] += 1
        elif row.criterion not in names:
            left[f"no criterion {row.criterion}"] += 1
        elif len(own) != 1:
            several = "several answers, so give an id, to" if own else "no answer"
            left[f"{several} {row.item} of {row.system}"] += 1
        else:
            kept[at] = own[0]
    if not kept:
        why, most = left.most_common(1)[0]
        there = ", ".join(dict.fromkeys(rated.system))
        reason = f"{most} of {left.total()}: {why}; the runs are of {there}"
        raise UserError(
            f"{people['where'].iloc[0]}: no rating is about an answer of these runs ({reason})"
        )
    table = people.iloc[[*kept]].copy()
    table[[*UNIT, "domain"]] = [*kept.values()]
    return table, [
        f"Left out: {n:,} ratings ({escaped(why)})." for why, n in left.items()
    ]


def read_rows(
    path: Path, needed: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file of JSON lines, CSV or Excel, each after where it stands; all have what is `needed`."""
    if path.suffix.lower() == ".jsonl":
        rows = read_objects(path)
    else:
        cells = read_sheet(path).answers().cells
        if twice := [*cells.columns[cells.columns.duplicated()]]:
            name = (
                twice[0]
                or "'' (merged cells? give one row of headings, as 田中_独創性)"
            )
            raise UserError(
                f"{path}: two columns are called {name}; leave one out, or call it otherwise"
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


def _scores(
    path: Path, rubric: RatingRubric | None, not_read: dict[str, None]
) -> Iterator[dict[str, Any]]:
    """A file's scores; columns that say nothing of them become `not_read`."""
    if not (rows := [*read_rows(path)]):
        return
    headings = dict.fromkeys(heading for _, row in rows for heading in row)
    column = {}
    for name, known in HEADINGS.items():
        found = [
            heading
            for own in known.split()
            for heading in headings
            if plain(heading) == own
        ]
        if found:
            column[name] = found[0]
    if not column.keys() & UNIT:
        there = ", ".join(headings)
        raise UserError(
            f"{path}: no column says what was rated; call it item (問題) or answer (番号); there are {there}"
        )
    others = [name for name in headings if name not in column.values()]
    rated = {column.get("score", ""): ("", "")}
    if "score" not in column:
        rated = _rated_columns(path, others, rows, rubric, column)
    not_read |= dict.fromkeys(name for name in others if name not in rated)
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
            name, score = _score(f"{where}, column {heading}", by, row[heading], rubric)
            own = {"rater": who, "criterion": name, "score": score, "where": where}
            yield {**facts, **own}


def _rated_columns(
    path: Path,
    headings: Sequence[str],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    rubric: RatingRubric | None,
    column: Mapping[str, str],
) -> dict[str, tuple[str, str]]:
    """Heading -> rater and criterion that it names; without a name of a rater the column or the file has it.

    What only names a rater has a criterion of its own where a cell is a number: else it is a comment.
    """
    known = sorted(rubric.by_name if rubric else criteria(), key=len, reverse=True)
    rated: dict[str, tuple[str, str]] = {}
    for heading in headings:
        text = nfkc(heading)
        if by := next((n for n in known if nfkc(n) in text.casefold()), ""):
            rest = re.sub(re.escape(nfkc(by)), "", text, count=1, flags=re.IGNORECASE)
            who = rest.strip(_BETWEEN)
            # A bracket within a name is not between it and the criterion.
            rated[heading] = who + ")" * (who.count("(") - who.count(")")), nfkc(by)
    raters = "|".join([*(re.escape(who) for who, _ in rated.values() if who), _RATER])
    for heading in [name for name in headings if name not in rated]:
        text, numbers = nfkc(heading), [_number(row.get(heading)) for _, row in rows]
        written = re.search(raters, text, re.IGNORECASE)
        if written and not all(map(math.isnan, numbers)):
            rated[heading] = written[0], text.replace(written[0], "").strip(_BETWEEN)
    if not rated:
        there = ", ".join(headings)
        raise UserError(
            f"{path}: no column has scores that say who gave them and by what; call it score (点数), beside rater "
            f"(評価者) and criterion (観点), or one for each rater and criterion, as 評価者A 独創性; there are {there}"
        )
    own = "" if "rater" in column else path.stem
    return {heading: (who or own, name) for heading, (who, name) in rated.items()}


def criteria() -> dict[str, str]:
    """Name, in small letters -> criterion that judges of any task score by: as in files, in English, in Japanese."""
    known = labels()
    return {
        by.casefold(): name
        for task in task_types()
        for name in judged_criteria(task)
        for by in (name, *known.get(name, ()))
    }


def _number(value: Any) -> float:
    try:
        return float(nfkc(str(value)))
    except ValueError:
        return math.nan


def _score(
    where: str, name: str, value: Any, rubric: RatingRubric | None
) -> tuple[str, float]:
    """The criterion of that name, and a score by it."""
    score = _number(value)
    if rubric is None:
        if not math.isfinite(score):
            raise UserError(f"{where}: the score {quoted(value)} is no number")
        return criteria().get(name.casefold(), name), score
    criterion = rubric.by_name.get(name.strip().casefold())
    if criterion is None:
        known = ", ".join(criterion.name for criterion in rubric.criteria)
        raise UserError(
            f"{where}: no criterion {name!r} in the rubric {rubric.name}; {known} exist"
        )
    if score not in criterion.scores:
        scores = f"{criterion.lowest} to {criterion.highest}"
        raise UserError(
            f"{where}: the score {quoted(value)} of {criterion.name} is no whole number from {scores}"
        )
    return criterion.name, score


def said_of(table: pd.DataFrame, judges: Judges) -> list[str]:
    """Who rated, and what of the files was not read or left out, in lines."""
    people = [name for name in table.rater.unique() if name not in judges]
    who = f"{table.score.count():,} ratings; people: {', '.join(people) or 'none'}; judges: {', '.join(judges) or 'none'}"
    name = " (a judge's name begins with judge or 評価モデル)."
    return [escaped(who) + name, *table.attrs.get("left_out", ())]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as a results file has them, None for NaN."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")
