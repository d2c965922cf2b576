"""The first screen: what differs from the base, in numbers; one table; what they rest on.

`sozo compare` prints what the page shows, and both only choose rows of `sozo.eval.findings`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sozo.eval.compare import Compared
from sozo.eval.curve import CURVE
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
from sozo.eval.report.labels import english, is_main, measure_label
from sozo.eval.report.tables import (
    TaskOnPage,
    duels_of,
    tasks_on_page,
    with_duels,
    without_empty,
)
from sozo.eval.seeds import Method, judges_of
from sozo.models.trained_on import NOT_KNOWN, YES
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import number
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable

MOST = 6  # pairs of models of which facts are told; of more the table tells them
_BESIDE = {
    HIGHER: "above {base}'s curve",
    LOWER: "below {base}'s curve",
    NOT_COMPARED: "not comparable with {base}'s curve",
    NO_INTERVAL: NO_INTERVAL,
}


# What tells a model apart from its base: a state's label, and a text a measure.
Lines = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The first screen, in texts that `sozo.eval.report.labels.wording` says in both languages."""

    heading: str
    facts: Sequence[
        tuple[str, Lines]
    ]  # by model; of several bases with the base's name
    notes: Sequence[str]

    def lines(self) -> Iterator[str]:
        """The facts, in English."""
        yield english(self.heading)
        for model, lines in self.facts:
            for k, (state, texts) in enumerate(lines):
                name = "" if k else f"{model}:"
                yield f"{name} {english(state)}: {'; '.join(map(english, texts))}"


def first_screen(found: Findings) -> FirstScreen:
    """What its rows say."""
    compared, facts = found.compared, list[tuple[str, Lines]]()
    for base, method in compared.pairs:
        pair, name = (method.name, base.name), method.name
        rows = [
            row for row in found.rows if row.first and (row.model, row.base) == pair
        ]
        if len(compared.base_names) > 1:
            name = translatable("{model} against {base}", model=name, base=base.name)
        if rows:
            facts.append((name, stated(rows, len(found.tasks) > 1)))
    form = "compared_with" if facts else "Nothing here was compared with a base."
    heading = translatable(form, base=_base(compared))
    return FirstScreen(heading, facts if len(facts) <= MOST else [], _notes(found))


def _base(compared: Compared) -> str:
    first, *others = compared.base_names or [""]
    return translatable("its base") if others else first


def stated(rows: Sequence[Finding], several: bool) -> Lines:
    """What is higher, lower and the rest; last what training went for, and what is not known of it."""
    lines: dict[str, list[str]] = {}
    targets = "rewarded or shown in training, or chosen by, so no evidence"

    def form(row: Finding) -> str:
        if row.kind == CURVE:
            return _BESIDE.get(row.state, "on {base}'s curve")
        if row.target == YES and row.state != NOT_COMPARED:
            return targets
        return f"{row.state} than {{base}}" if row.state in STATES[:2] else row.state

    for row in sorted(
        rows, key=lambda row: (form(row) == targets, STATES.index(row.state))
    ):
        label = translatable(form(row), base=row.base)
        lines.setdefault(label, []).append(fact(row, several))
    if any(row.target == NOT_KNOWN for row in rows):
        lines[translatable("not known")] = [translatable("what it was trained on")]
    return [*lines.items()]


def fact(row: Finding, several: bool) -> str:
    """A difference in one line: what, how much, and by how much that is more or less; `several` tasks are named."""
    name, known = translatable(measure_label(row.measure)), row.estimate
    main = is_main(row.measure)
    if row.by and (row.kind == CURVE or main) and " by " not in row.measure.name:
        name = translatable("{name} by {by}", name=name, by=row.by)
    if several:
        task = translatable(row.task)
        name = translatable("{task} {name}", task=task, name=name)
    if row.value is not None:
        value = number(row.value, row.measure)
        name = translatable("{name} {value}", name=name, value=value)
    told = known.value is not None
    texts = [Cell(change=row.bare).changed] if told else []
    texts += [known.reason] if known.low is None and known.reason else []
    texts += row.below if row.kind == CURVE else ()
    texts += ["target"] * (row.kind == CURVE and row.target == YES)
    texts += [translatable("less is better")] * (row.measure.better < 0)
    texts += row.caveats if main and told else ()
    return translatable("{name} ({texts})", name=name, texts=texts)


def overview(found: Findings) -> Table:
    """A line a method, the bases first: of each task the score, what a second encoder says, and what stands beside."""
    compared, bases = found.compared, found.compared.bases
    names = [method.name for method in compared.methods]
    of = {name: bases[name].name if name in bases else name for name in names}
    methods = sorted(
        compared.methods, key=lambda one: (names.index(of[one.name]), one.name in bases)
    )
    columns: dict[str, list[Cell]] = {}
    for page in tasks_on_page(found):
        main, *beside = first_measures(page.task)
        judges = map(main.by, judges_of(methods, page.task.name))
        for measure in (main, *judges, page.task.second, *beside):
            cells = [_cell(page, method, measure) for method in methods if measure]
            if measure and any(
                cell.value is not None or measure == main for cell in cells
            ):
                name = translatable(measure_label(measure))
                if len(found.tasks) > 1:
                    task = translatable(page.task.name)
                    name = translatable("{task} {name}", task=task, name=name)
                columns[name] = cells
    several = len({base.name for base in bases.values()}) > 1
    rows = []
    for method, *cells in zip(methods, *columns.values(), strict=True):
        base = of[method.name] if several and method.name in bases else ""
        own = (method.name, tuple(cells), base, method.seeds, method.one_training)
        rows.append(TableRow(*own, all_caveats(found, method)))
    table = Table(
        "overview", ("model", *columns), tuple(rows), _legend(found), scope=scope(found)
    )
    return without_empty(with_duels(table, duels_of(methods)))


def _cell(page: TaskOnPage, method: Method, measure: Measure) -> Cell:
    """A method's number with its difference from its base, or why there is none, and an arrow where that leaves out 0."""
    if not method.of_task(page.task.name):
        return Cell(why="no_run")
    found, bases = page.found, page.found.compared.bases
    base, column = bases.get(method.name), page.column_of(measure)
    mean = found.mean(method.name, page.task.name, column)
    change = found.difference(method.name, base.name, measure) if base else None
    if mean is None:  # a gain has no number of its own
        cell = change.bare if change else Cell()
        return replace(cell, mark="") if method.reference else cell
    # Beside differences no interval of a number alone: two intervals that overlap say nothing of the difference.
    known = replace(mean.estimate, n=0)
    known = replace(known, low=None, high=None) if bases else known
    cell = replace(mean.cell, content=known, of=None, below=())
    if change is None:
        return cell
    target = ["target"] * (change.target == YES)
    if change.estimate.value is not None:
        return replace(cell, change=change.bare, below=tuple(target))
    why = [translatable("not compared"), *filter(None, [change.estimate.reason])]
    return replace(cell, below=(*why, *target))


def all_caveats(found: Findings, method: Method) -> tuple[str, ...]:
    """What a method's numbers must not be read without, behind the task where there are several."""
    form = "{task}: {caveat}" if len(found.tasks) > 1 else "{caveat}"
    return tuple(
        translatable(form, task=translatable(page.task.name), caveat=caveat)
        for page in tasks_on_page(found)
        for caveat in page.caveats(method)
    )


def scope(found: Findings) -> str:
    """Who scored each task, where one scored all of it."""
    said = ""
    for page in (page for page in tasks_on_page(found) if page.scope != page.task.name):
        form = "{first}; {second}" if said else "{second}"
        said = translatable(form, first=said, second=page.scope)
    return said


def _legend(found: Findings) -> tuple[str, ...]:
    """What arrows and columns mean."""
    notes, base = list[str](), _base(found.compared)
    if found.compared.bases:
        notes.append(translatable("legend", base=base))
    if any(row.target == YES for row in found.rows):
        notes.append(translatable("target_says"))
    for page in tasks_on_page(found):
        names = (run.scale.get("score_name") for run in page.runs)
        notes += dict.fromkeys(filter(None, names))
    ratios = [row for row in found.rows if row.measure.ratio and row.kind == "mean"]
    if sizes := [row.estimate.n for row in ratios if row.estimate.n]:
        form = "Different words: in {n:,} answers each."
        notes.append(translatable(form, n=min(sizes)))
    if encoders := [row.by for row in found.rows if row.column == "gain_pairing"]:
        notes.append(translatable("pairing_by", encoder=encoders[0]))
    if any(row.kind == CURVE for row in found.rows):
        notes.append(translatable("curve_says", base=base))
    return tuple(notes)


def _notes(found: Findings) -> list[str]:
    """What the base is, what was not run, on how many trainings it rests, and what these cannot show."""
    compared, notes = found.compared, list[str]()
    base = _base(compared)
    if drawn := [method.name for method in compared.methods if method.reference]:
        notes.append(translatable("references", names=", ".join(drawn), base=base))
    if len(compared.bases) > 1:
        notes.append(translatable("not_each_other", base=base))
    if any(method.one_training for method in compared.methods):
        notes.append(translatable("one_training"))
    for method in compared.methods:
        if method.seeds:
            said = {"name": method.name, "n": method.seeds}
            notes.append(translatable("over_seeds", **said))
    return notes
