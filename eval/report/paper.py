"""The folder of a paper: scores, what every two models differ in, further judges' scores, and how all was made."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from textwrap import indent
from typing import Any

from sozo.data.record import read_json, refuse_foreign, write_whole
from sozo.eval.evaluated import find_evaluated, named
from sozo.eval.findings import Findings, findings_of_all
from sozo.eval.report.answer import all_caveats, scope
from sozo.eval.report.exports import csv_file, latex
from sozo.eval.report.labels import labels, task_title, wording
from sozo.eval.report.tables import (
    duels_of,
    of_side,
    tasks_on_page,
    with_duels,
    without_empty,
)
from sozo.eval.seeds import Method, judges_of
from sozo.scoring.measure import DASH, Measure
from sozo.scoring.numbers import percent
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.view import paid

METHODS = "methods.txt"
# How answers were drawn, by the names of a run's settings, or of what it said on loading.
_DRAWN = (
    "temperature",
    "top_p",
    "max_new_tokens",
    "sampling",
    "seed",
    "system_prompt",
    "chat_template_kwargs",
    "endpoint",
)


def write_paper(folder: Path, places: Sequence[str]) -> list[Path]:
    """Write tables of the runs in `places` as CSV and LaTeX, and `methods.txt` in English and Japanese.

    `scores` has what each task is known by, by its first judge; `judges` the same by every judge, where there are
    several; `differences` every two models', in intervals that all hold at once. Returns the files. UserError for a
    folder that holds anything else.
    """
    refuse_foreign(folder, METHODS)
    found = findings_of_all(find_evaluated(places))
    tables = list(_tables(found))
    texts = list(_methods(found, places))
    form = "{names}: {facts}."
    texts += [
        translatable(form, names=translatable(table.name), facts=[*table.empty])
        for table in tables
        if table.empty
    ]
    both = ("\n".join(wording(text)[k] for text in texts) for k in (0, 1))
    methods = "\n\n\n".join(both) + "\n"
    files = {METHODS: methods.encode("utf-8", "backslashreplace")}
    for table in tables:
        if table.rows:
            name = table.name.removeprefix("paper_")
            files[f"{name}.csv"] = csv_file(table)
            files[f"{name}.tex"] = latex(table, name).encode()
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def _tables(found: Findings) -> Iterator[Table]:
    pages, compared = tasks_on_page(found), found.compared
    mains = {task_title(page.task): page.task.known_by() for page in pages}
    alone = [[method] for method in compared.methods]
    by_itself = [translatable("paper_scores_note")]
    scores = _table(found, "paper_scores", mains, alone, by_itself)
    yield with_duels(scores, duels_of(compared.methods))
    two = [[method, base] for base, method in compared.pairs]
    yield _table(found, "paper_differences", mains, two, _levels(found))
    columns = dict[str, Measure]()
    for page in pages:
        main = page.task.known_by()
        if others := judges_of(compared.methods, page.task.name):
            each = {page.runs[0].judge: main} | {one: main.by(one) for one in others}
            for judge, measure in each.items():
                form = "{name} by {by}"
                label = translatable(form, name=task_title(page.task), by=judge)
                columns[label] = measure
    yield _table(found, "paper_judges", columns, alone, by_itself)


def _table(
    found: Findings,
    name: str,
    columns: Mapping[str, Measure],
    lines: Sequence[Sequence[Method]],
    notes: Sequence[str],
) -> Table:
    """A line a model, or a model and what is subtracted; a column a measure of a task, by its heading."""
    known = {(row.model, row.base, row.measure.name): row.cell for row in found.rows}
    rows = []
    for sides in lines:
        model, base, *_ = (*(one.name for one in sides), "")
        caveats = chain(*(of_side(one, all_caveats(found, one)) for one in sides))
        cells = [
            known.get((model, base, one.name), Cell(why="no_run"))
            for one in columns.values()
        ]
        of, seeds = (f"{model} − {base}", 0) if base else (model, sides[0].seeds)
        rows.append(TableRow(of, tuple(cells), seeds=seeds, caveats=tuple(caveats)))
    headings = "models", *columns
    table = without_empty(Table(name, headings, tuple(rows), scope=scope(found)))
    cells = [cell for row in table.rows for cell in row.cells]
    says = {
        "target_says": any("target" in cell.below for cell in cells),
        "paper_dash": any(cell.value is None for cell in cells),
        "arrow_note": any(cell.arrow for cell in cells),
        "points_note": any("points" in cell.text for cell in cells),
    }
    more = [note for note, holds in says.items() if holds]
    return replace(table, notes=(*notes, *more))


def _levels(found: Findings) -> list[str]:
    """How many differences hold at once, and at which level each; nothing without any."""
    shown = [row.estimate for row in found.rows if row.base]
    known = [percent(one.level) for one in shown if one.low is not None]
    form = "paper_differences_note"
    return [translatable(form, n=len(known), level=known[0])] if known else []


def _methods(found: Findings, places: Sequence[str]) -> Iterator[str]:
    """The lines of methods, from what runs recorded."""
    yield translatable("paper_methods")
    lacking = translatable("not recorded")
    for page in tasks_on_page(found):
        run, main = page.runs[0], page.task.known_by()
        yield from ("", task_title(page.task))
        about = f"{run.task}_method"  # which somebody else's task may lack
        yield from [translatable(about)] * (about in labels())
        yield from dict.fromkeys(map(_scored_with, page.judged))
        yield translatable("paper_items", n=len(run.items))
        yield indent(next(iter(run.prompts.values()), lacking), "    ")
        over = "share" if main.share else "items" if main.per_item else "answers"
        yield translatable(f"paper_over_{over}")
        yield from [translatable("paper_strata")] * run.strata
        lost = "0" if main in page.task.unusable_is_0 else "left_out"
        yield translatable(f"paper_unscored_{lost}")
        for run in page.runs:
            own = run.metrics["source"]
            yield translatable("{names}: {facts}.", names=own, facts=_run(run))
        for judge, run in {run.judge: run for run in page.judged if run.judge}.items():
            people = list(_people(judge, places)) or [translatable("paper_no_people")]
            facts = [*_judge(run), *people]
            yield translatable("paper_judge", judge=judge, facts=facts)
    yield from ("", *_levels(found))
    runs = [run for page in tasks_on_page(found) for run in page.judged]
    for payee in ("model", "judge"):
        total = Counter[str]()
        for run in runs:
            total.update(run.metrics.get("bill", {}).get(payee, {}))
        own = translatable(f"paid_{payee}")
        cost = paid(total) if total else lacking
        yield translatable("{names}: {facts}.", names=own, facts=cost)


def _run(run: RunResult) -> list[str]:
    """Who wrote, when, how it was drawn, and what became of the answers: as they ended, and as they were scored."""
    known: dict[str, Any] = {**(run.loaded.get("decoder") or {}), **run.settings}
    environment = read_json(run.folder / "config.json")["environment"]
    lacking, who = translatable("not recorded"), translatable("paper_from_file")
    drawn = [f"{name} {known[name]}" for name in _DRAWN if known.get(name) is not None]
    if model := known.get("model"):
        at, settings = run.written_at or lacking, drawn or lacking
        who = translatable("paper_model", model=model, at=at, settings=settings)
    fates = translatable(
        "paper_fates",
        version=environment["packages"].get("sozo", ""),
        date=environment["started"][:10],
        n=len(run.scored),
        fates=_counts(run.states),
        scored=_counts(Counter(answer.reason or "ok" for answer in run.scored)),
    )
    return [who, fates]


def _counts(counts: Mapping[str, int]) -> list[str]:
    return [
        translatable("{n:,} {status}", n=n, status=translatable(state))
        for state, n in counts.items()
        if n
    ]


def _scored_with(run: RunResult) -> str:
    """The encoder and all else that scores depend on, as it was loaded; a judge has a line of its own."""
    known = dict[str, Any]()
    for name, value in {**run.loaded.get("scorer", {}), **run.asked}.items():
        known |= value if isinstance(value, dict) else {name: value}
    facts = [f"{name} {value}" for name, value in known.items() if value]
    return translatable("paper_scored_with", facts=facts or DASH)


def _judge(run: RunResult) -> list[str]:
    """How a judge was asked, and how it did among planted answers."""
    settings = run.settings["judge"].items()
    facts = [f"{name} {value}" for name, value in settings if name != "model"]
    if (check := run.judge_check) is None:
        return [*facts, translatable("paper_no_check")]
    ended = {name: check.get(name, []) for name in ("failed", "undecided")}
    failed = {*ended["failed"], *ended["undecided"]}
    ended["passed"] = [kind for kind in check.get("kinds", ()) if kind not in failed]
    kinds = {name: [*map(translatable, own)] or DASH for name, own in ended.items()}
    return [*facts, translatable("paper_check", **kinds)]


def _people(judge: str, places: Sequence[str]) -> Iterator[str]:
    """What `sozo agreement`, in a folder among the runs', says of people and a judge."""
    for place in places:
        for path in sorted(Path(named(place)[1]).rglob("agreement.json")):
            for row in read_json(path).get("compared", ()):
                names = f"judge {judge}", "human"
                if (row["evaluation"], row["reference"]) == names and row["pearson"]:
                    n, r = row["models"], f"{row['pearson']:.2f}"
                    yield translatable("paper_people", n=n, r=r)
