"""The first screen: what differs from the base, in numbers; one table; two answers each; what they rest on.

`sozo compare` prints what the page shows, and both only choose rows of `sozo.eval.findings`.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sozo.eval.compare import Compared
from sozo.eval.curve import CURVE
from sozo.eval.evaluated import scored_before
from sozo.eval.findings import (
    HIGHER,
    LOWER,
    NO_INTERVAL,
    NOT_COMPARED,
    STATES,
    Finding,
    Findings,
    first_measures,
)
from sozo.eval.report.labels import english, is_main, labels, measure_label
from sozo.eval.report.tables import (
    TaskOnPage,
    bare,
    duels_of,
    tasks_on_page,
    with_duels,
    without_empty,
)
from sozo.eval.seeds import Method, judges_of
from sozo.models.trained_on import NOT_KNOWN, YES
from sozo.scoring.measure import RATIO, Measure
from sozo.scoring.numbers import interval, number
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types

MOST = 6  # pairs of models of which facts are told; of more the table tells them
_LETTERS = 60  # of an answer on the first screen
_BESIDE = {
    HIGHER: "above {base}'s curve",
    LOWER: "below {base}'s curve",
    NOT_COMPARED: "not comparable with {base}'s curve",
    NO_INTERVAL: NO_INTERVAL,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What tells a model apart from its base."""

    model: str  # its name; where there are several bases, with that of its base
    lines: Sequence[tuple[str, Sequence[str]]]  # a state's label, and a text a measure


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The first screen, in texts that `sozo.eval.report.labels.wording` says in both languages."""

    heading: str
    facts: Sequence[Facts]
    samples: Sequence[tuple[str, Sequence[str]]]  # model -> two of its answers
    notes: Sequence[str]

    def lines(self) -> Iterator[str]:
        """The facts, in English."""
        yield english(self.heading)
        for one in self.facts:
            for k, (state, texts) in enumerate(one.lines):
                name = one.model if not k else ""
                yield f"{name}{': ' if name else '  '}{english(state)}: {'; '.join(map(english, texts))}"


def first_screen(found: Findings, another_seed: str = "") -> FirstScreen:
    """What its rows say; `another_seed` says how far one moved trainings like these, if that is known."""
    compared, facts = found.compared, list(_facts(found))
    if (
        len(facts) > MOST
    ):  # then those of the curves' own points stand in the table alone
        beside = {row.model for row in found.rows if row.kind == CURVE}
        facts = [one for one in facts if one.model in beside] or facts
    return FirstScreen(
        _heading(compared, bool(facts)),
        facts if len(facts) <= MOST else [],
        _samples(compared, tasks_on_page(found))
        if len(compared.methods) <= MOST
        else [],
        _notes(found, another_seed),
    )


def _facts(found: Findings) -> Iterator[Facts]:
    for base, method in found.compared.pairs:
        own = (
            row
            for row in found.rows
            if row.first and (row.model, row.base) == (method.name, base.name)
        )
        if rows := list(own):
            name = method.name
            if len(found.compared.base_names) > 1:
                name = translatable(
                    "{model} against {base}", model=name, base=base.name
                )
            yield Facts(name, stated(rows, len(found.tasks) > 1))


def _heading(compared: Compared, told: bool) -> str:
    if not compared.pairs:
        return translatable("Nothing here was compared with a base.")
    if not told:
        return translatable(
            "Beside {base} there are only lists that a program drew.",
            base=compared.pairs[0][0].name,
        )
    return translatable("compared_with", base=_base(compared))


def _base(compared: Compared) -> str:
    names = compared.base_names
    return names[0] if len(names) == 1 else translatable("its base")


def stated(rows: Sequence[Finding], several: bool) -> list[tuple[str, Sequence[str]]]:
    """What is higher, lower and the rest; last what training went for, and what is not known of it."""
    lines: list[tuple[str, Sequence[str]]] = []
    curves = [row for row in rows if row.kind == CURVE]
    rows = [row for row in rows if row.kind != CURVE]
    for state in STATES[:-1]:
        if texts := [
            fact(row, several)
            for row in rows
            if row.state == state and row.target != YES
        ]:
            form = f"{state} than {{base}}" if state in (HIGHER, LOWER) else state
            lines.append((translatable(form, base=rows[0].base), texts))
    for row in curves:
        apart = row.state == NOT_COMPARED
        texts = _apart([row], several) if apart else [fact(row, several)]
        form = _BESIDE.get(row.state, "on {base}'s curve")
        lines.append((translatable(form, base=row.base), texts))
    if texts := _apart([row for row in rows if row.state == NOT_COMPARED], several):
        lines.append((translatable(NOT_COMPARED), texts))
    if texts := [
        fact(row, several)
        for row in rows
        if row.target == YES and row.state != NOT_COMPARED
    ]:
        lines.append(
            (
                translatable(
                    "rewarded or shown in training, or chosen by, so no evidence"
                ),
                texts,
            )
        )
    if any(row.target == NOT_KNOWN for row in rows):
        lines.append(
            (translatable("not known"), [translatable("what it was trained on")])
        )
    return lines


def _apart(rows: Sequence[Finding], several: bool) -> list[str]:
    """What is not compared, by the reason: of a task that is not compared at all its name alone."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(row.estimate.reason or "", []).append(row_name(row, several))
    return [
        translatable("{names} ({reason})", names=own, reason=reason)
        for reason, own in names.items()
    ]


def fact(row: Finding, several: bool) -> str:
    """A difference in one line: what, how much, and by how much that is more or less; `several` tasks are named."""
    name, known, kind = row_name(row, several), row.estimate, row.cell.kind
    if row.value is None:  # a gain in standard deviations has no number of its own
        value = name
    elif row.kind == RATIO:
        form = "{name} {value} in {n:,} answers"
        value = translatable(
            form, name=name, value=number(row.value, row.measure), n=row.of
        )
    else:
        value = translatable(
            "{name} {value}", name=name, value=number(row.value, row.measure)
        )
    inside = number(known.value, row.measure, kind)
    if ends := interval(known.low, known.high, row.measure, kind):
        inside = translatable(
            "{difference} {interval}", difference=inside, interval=ends
        )
    own = row.caveats if is_main(row.measure) else ()
    more = [
        *([known.reason] if row.state == NO_INTERVAL and known.reason else []),
        *own,
    ]
    common = []
    if row.counted == "items" and row.of and known.n < row.of:
        common.append(translatable("over {n} of {of} items", n=known.n, of=row.of))
    texts = [
        inside,
        *common,
        *(row.below if row.kind == CURVE else ()),
        *["target"] * (row.kind == CURVE and row.target == YES),
        *[translatable("less is better")] * (row.measure.better < 0),
        *more,
    ]
    return translatable("{name} ({texts})", name=value, texts=texts)


def row_name(row: Finding, several: bool) -> str:
    """What a row's measure is called: with the task where there are several, and with who scored where that matters."""
    name = translatable(measure_label(row.measure))
    second = task_types()[row.task].second
    if (
        row.by
        and " by " not in row.measure.name
        and (row.kind == CURVE or is_main(row.measure) or row.measure == second)
    ):
        name = translatable("{name} by {by}", name=name, by=row.by)
    return (
        translatable("{task} {name}", task=translatable(row.task), name=name)
        if several
        else name
    )


def overview(found: Findings) -> Table:
    """A line a method, the bases first: of each task the score, what a second encoder says, and what stands beside."""
    compared, bases = found.compared, found.compared.bases
    names = [method.name for method in compared.methods]
    base_of = {
        one.name: bases[one.name].name if one.name in bases else one.name
        for one in compared.methods
    }
    methods = sorted(
        compared.methods,
        key=lambda one: (names.index(base_of[one.name]), one.name in bases),
    )
    columns: list[tuple[str, list[Cell]]] = []
    for page in tasks_on_page(found):
        main, *beside = first_measures(page.task)
        second = [page.task.second] if page.task.second else []
        judges = judges_of(methods, page.task.name)
        for measure in (main, *map(main.by, judges), *second, *beside):
            cells = [_cell(page, method, measure) for method in methods]
            full = (
                measure.share
                and measure != main
                and all(cell.value in (1.0, None) for cell in cells)
            )
            if not full and (
                measure == main or any(cell.value is not None for cell in cells)
            ):
                columns.append((_column(page, measure, len(found.tasks) > 1), cells))
    several = len({base.name for base in bases.values()}) > 1
    rows = []
    for method, *cells in zip(methods, *(cells for _, cells in columns), strict=True):
        base = bases[method.name].name if several and method.name in bases else ""
        own = (method.name, tuple(cells), base, method.seeds, method.one_training)
        rows.append(TableRow(*own, own_caveats(found, method)))
    table = Table(
        "overview",
        ("model", *(label for label, _ in columns)),
        tuple(rows),
        tuple(_legend(found)),
        scope=scope(found),
    )
    return without_empty(with_duels(table, duels_of(methods)))


def _column(page: TaskOnPage, measure: Measure, several: bool) -> str:
    name = translatable(measure_label(measure))
    return (
        translatable("{task} {name}", task=translatable(page.task.name), name=name)
        if several
        else name
    )


def _cell(page: TaskOnPage, method: Method, measure: Measure) -> Cell:
    """A method's number with its difference from its base, and an arrow where that leaves out 0."""
    found, bases = page.found, page.found.compared.bases
    runs = method.of_task(page.task.name)
    if not runs:
        return Cell(why="no_run")
    column = next(
        (
            c.name
            for c in page.columns.values()
            if c.change and c.change.name == measure.name
        ),
        "",
    )
    mean = found.mean(method.name, page.task.name, column)
    base = bases.get(method.name)
    change = found.difference(method.name, base.name, measure) if base else None
    if mean is None:
        cell = (
            replace(bare(change), mark="")
            if change and method.reference
            else bare(change)
            if change
            else Cell()
        )
    else:
        # Beside differences no interval of a number alone: two intervals that overlap say nothing of the difference.
        known = (
            mean.estimate if not bases else replace(mean.estimate, low=None, high=None)
        )
        cell = replace(mean.cell, content=replace(known, n=0), of=None, below=())
        if change:
            told = change.estimate.value is not None
            why: tuple[str, ...] = ()
            if change.estimate.reason and not told:
                why = translatable("not compared"), change.estimate.reason
            if (
                change.kind == RATIO
                and not method.seeds
                and told
                and change.of != mean.estimate.n
            ):
                why = (
                    translatable("in {n:,} answers", n=change.of),
                )  # more than the column has of every model
            cell = replace(
                cell,
                change=bare(change) if told else None,
                mark=change.cell.mark,
                below=why,
            )
    if change and change.target == YES:
        cell = replace(cell, below=(*cell.below, "target"))
    return cell


def own_caveats(found: Findings, method: Method) -> tuple[str, ...]:
    """What a method's numbers must not be read without, but for what the scope says."""
    form = "{task}: {caveat}" if len(found.tasks) > 1 else "{caveat}"
    return tuple(
        translatable(form, task=translatable(page.task.name), caveat=caveat)
        for page in tasks_on_page(found)
        for caveat in page.own_caveats(method)
    )


def scope(found: Findings) -> str:
    """What the numbers of each task must not be read without."""
    scope = ""
    for page in (page for page in tasks_on_page(found) if page.scope != page.task.name):
        scope = (
            translatable("{first}; {second}", first=scope, second=page.scope)
            if scope
            else page.scope
        )
    return scope


def _legend(found: Findings) -> list[str]:
    pages = tasks_on_page(found)
    names = dict.fromkeys(
        str(run.scale.get("score_name") or "") for page in pages for run in page.runs
    )
    notes = [*filter(None, names)]
    for page in pages:
        for column in (
            column
            for column in page.columns.values()
            if column.change and column.change.ratio
        ):
            sizes = {column.fill(run).estimate.n for run in page.runs}
            notes.append(
                translatable("Different words: in {n:,} answers each.", n=min(sizes))
            )
    if encoders := dict.fromkeys(
        row.by for row in found.rows if row.column == "gain_pairing"
    ):
        notes.append(translatable("pairing_by", encoder=next(iter(encoders))))
    if curves := [row.base for row in found.rows if row.kind == CURVE]:
        base = curves[0] if len({*curves}) == 1 else translatable("its base")
        notes.append(translatable("curve_says", base=base))
    if not found.compared.bases:
        return notes
    target = any(row.target == YES for row in found.rows)
    return [
        translatable("legend", base=_base(found.compared)),
        *[translatable("target_says")] * target,
        *notes,
    ]


def _samples(
    compared: Compared, pages: Sequence[TaskOnPage]
) -> list[tuple[str, list[str]]]:
    """Two answers of each model, drawn by seed from those that the reader shows of the first task."""
    samples = []
    for model in compared.models:
        runs = [
            (page.task.view, run)
            for page in pages
            if (run := model.run(page.task.name))
        ]
        texts = [
            answer.text
            for view, run in runs[:1]
            for _, answers in view.reader(run)
            for answer in answers
        ]
        chosen = random.Random(0).sample(range(len(texts)), min(2, len(texts)))
        samples.append((model.name, [_short(texts[k]) for k in sorted(chosen)]))
    return samples


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _LETTERS].split())
    return line if len(line) <= _LETTERS else f"{line[:_LETTERS]}…"


def _notes(found: Findings, another_seed: str) -> list[str]:
    """What the base is, what was not run, on how many trainings it rests, and what these cannot show."""
    compared, notes = found.compared, list[str]()
    if compared.by_place:
        notes.append(translatable("base_by_place", base=compared.pairs[0][0].name))
    missing = [
        translatable(task.name)
        for task in task_types().values()
        if not (task.only_if_named or task.name in found.tasks)
    ]
    notes += [translatable("Not run: {tasks}.", tasks=missing)] if missing else []
    for model in compared.models:
        for task in found.tasks.values():
            if run := model.run(task.name):
                notes += scored_before(task, run, model.name)
    for name in found.tasks:
        if f"{name}_trial" in labels() and any(
            run.other_items() for run in found.runs(name)
        ):
            notes.append(translatable(f"{name}_trial"))
    if drawn := [method.name for method in compared.methods if method.reference]:
        notes.append(
            translatable("references", names=", ".join(drawn), base=_base(compared))
        )
    held = {method.name for _, method in compared.pairs}
    contestants = [
        method for method in compared.methods if method.name in held or not held
    ]
    if len(contestants) > 1 and compared.bases:
        notes.append(translatable("not_each_other", base=_base(compared)))
    if any(method.one_training for method in contestants):
        known = list(_moved(found)) or [
            another_seed or translatable("another_seed_unknown")
        ]
        notes += [translatable("one_training"), *known]
    for method in (method for method in compared.methods if method.several):
        rows = [
            row
            for row in found.rows
            if row.first and row.model == method.name and row.estimate.low is not None
        ]
        notes.append(translatable("over_seeds", name=method.name, n=method.seeds))
        if rows:
            notes.append(
                translatable("seeds_show", n=method.seeds, t=_standard_errors(rows))
            )
    return list(
        {english(note): note for note in notes}.values()
    )  # two notes of one label may say two things


def _moved(found: Findings) -> Iterator[str]:
    """How far another seed moved the score of the methods that were trained at several."""
    for method in (
        method
        for method in found.compared.methods
        if method.several and method.first.trained
    ):
        for name, task in found.tasks.items():
            values = [
                run.estimate(task.known_by()).value for run in method.of_task(name)
            ]
            known = [value for value in values if value is not None]
            if len(known) > 1:
                digits = task.known_by()
                moved = number(max(known) - min(known), digits)
                form = "From seed to seed the {task} score of {name} differed by up to {moved} ({n} seeds)."
                yield translatable(
                    form,
                    task=translatable(name),
                    name=method.name,
                    moved=moved,
                    n=len(known),
                )


def _standard_errors(rows: Sequence[Finding]) -> str:
    """How many standard errors a difference over seeds must be off 0, to be told apart: of the first and the last."""
    from scipy.special import stdtrit

    needed = [
        float(stdtrit(row.estimate.n - 1, (1 + row.estimate.level) / 2)) for row in rows
    ]
    return "–".join(dict.fromkeys((f"{min(needed):.1f}", f"{max(needed):.1f}")))
