"""The first screen: which models differ and at what price, as one table and a word for each model.

No sentence ranks models or holds a mean: numbers stand in tables. `sozo compare` prints what the page shows.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sozo.eval.compare import Compared
from sozo.eval.outcome import FELL, WORDS, BoundState, MethodOutcome
from sozo.eval.report.cells import seed_cell
from sozo.eval.report.labels import english, measure_label
from sozo.eval.report.tables import Findings, TaskOnPage, task_label, without_empty
from sozo.eval.seeds import Method
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import signed
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types

MOST = 6  # models that have a line each; more are counted, and their words stand in the table
_NAMES = 3  # that a sentence gives
_LETTERS = 60  # of an answer on the first screen


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The first screen, in texts that `sozo.eval.report.labels.wording` says in both languages."""

    question: str
    sentence: str
    overview: Table
    words: Sequence[tuple[str, str]]  # model -> its word and what it rests on; of many models one line without a name
    samples: Sequence[tuple[str, Sequence[str]]]  # model -> two of its answers
    notes: Sequence[str]

    def lines(self) -> Iterator[str]:
        """What stands around the overview, in English."""
        yield from (f"{model}: {english(text)}" if model else english(text) for model, text in self.words)
        yield from map(english, self.notes)


def first_screen(found: Findings) -> FirstScreen:
    """What the outcomes of the comparison say."""
    compared, words = found.compared, found.verdicts
    many = len(words) > MOST
    if many:
        counts = Counter(words.values())
        each = [translatable("{n} {word}", n=counts[word], word=translatable(word)) for word in WORDS if counts[word]]
        lines: list[tuple[str, str]] = [("", translatable("{n} models: {counts}.", n=len(words), counts=each))]
    else:
        lines = [(model, _line(word, found.of(model), len(found.tasks))) for model, word in words.items()]
    return FirstScreen(
        "question_trained" if compared.trained else "question_differ",
        _sentence(found),
        _overview(found, words if many else {}),
        lines,
        _samples(compared, found.tasks) if len(compared.methods) <= MOST else [],
        _notes(compared, found.tasks),
    )


def _sentence(found: Findings) -> str:
    """What improved and what got worse, over all models, without a number."""
    models, tasks, every = len(found.verdicts), len(found.tasks), found.outcomes
    if not models:
        drawn = "Beside {base} there are only lists that a program drew."
        bases = {base.name for base in found.compared.against.values()}
        return translatable(drawn, base=min(bases)) if bases else translatable("Nothing here was compared with a base.")
    better = Counter(_name(part, one, tasks) for one in every for part in one.better)
    worse = Counter(_name(part, one, tasks) for one in every for part in one.worse)
    if not (better or worse):
        return translatable("No difference is shown.")
    missed = {one.task for one in every if one.direction > 0 and not one.target}
    targets = {translatable(one.task) for one in every if one.direction > 0 and one.task not in missed}
    gained = _clause("{names} improved{where}", better, targets, models) or translatable("no gain is shown")
    lost = _clause("{names} got worse{where}", worse, set(), models) or translatable("no loss is shown")
    return translatable("{gained}; {lost}.", gained=gained, lost=lost)


def _clause(form: str, names: Counter[str], targets: Collection[str], models: int) -> str:
    if not names:
        return ""
    shown: list[str] = [translatable("{name} (the target)", name=name) if name in targets else name for name in names]
    shown = [*shown[:_NAMES], *[translatable("others")] * (len(shown) > _NAMES)]
    first, last = shown[:-1], shown[-1]
    listed = translatable("{first} and {last}", first=first, last=last) if first else last
    where = translatable(" in some models") if min(names.values()) < models else translatable(" in all models")
    return translatable(form, names=listed, where=where if models > 1 else "")


def _name(part: MethodOutcome | BoundState, one: MethodOutcome, tasks: int) -> str:
    """What a part of an outcome is called: the task by its first measure, a bound by its own name."""
    task = translatable(one.task)
    if part is one:
        return task
    name = translatable(measure_label(part.measure))
    return translatable("{name} ({task})", name=name, task=task) if tasks > 1 else name


def _number(part: MethodOutcome | BoundState) -> str:
    if part.change.difference is None:
        return ""
    by_another = isinstance(part, BoundState) and part.encoder  # then in the base's standard deviations by that encoder
    number = signed(part.change.difference, part.measure)
    return translatable("{number} sd", number=number) if by_another else number


def _line(word: str, own: Sequence[MethodOutcome], tasks: int) -> str:
    """A model's word over its tasks together, at most two numbers that it rests on, and what is not shown to hold."""
    better, worse = ([(part, one) for one in own for part in getattr(one, side)] for side in ("better", "worse"))
    numbers = []
    for part, one in better[:1] + worse[:1] if better and worse else (better or worse)[:2]:
        name, form = _name(part, one, tasks), "{name} {number}"
        if part is one:
            less = [translatable("less is better")] * (one.measure.better < 0)
            name = task_label(one.task, [*one.caveats, *less])
            form += " (the target)" * one.target
        numbers.append(translatable(form, name=name, number=_number(part)))
    text = translatable(word)
    if numbers:
        text = translatable("{word}: {numbers}", word=text, numbers=numbers)
    names = list(dict.fromkeys(_name(bound, one, tasks) for one in own for bound in one.open))
    if names:
        return translatable("{word}; not shown to hold: {names}.", word=text, names=names)
    return translatable("{word}.", word=text)


def _overview(found: Findings, words: Mapping[str, str]) -> Table:
    """A row a method, the bases first: of each task the share with a score, the first measure, and its bounds."""
    compared, tasks = found.compared, len(found.tasks)
    names, against = [method.name for method in compared.methods], compared.against
    methods = sorted(
        compared.methods, key=lambda one: (names.index(against.get(one.name, one).name), one.name in against)
    )
    columns: dict[str, list[Cell]] = {}
    for page in found.tasks:
        usable, *bounds = (bound.measure for bound in page.task.bounds())
        for measure in (usable, page.task.measures[0], *bounds):
            cells = [_cell(page, method, measure) for method in methods]
            full = measure != page.task.measures[0] and all(cell.value in (1.0, None) for cell in cells)
            if not (full and measure.share):  # every answer keeps it
                columns[_heading(page, measure, tasks)] = cells
        second = [_pairing(page.found.get(method.name)) for method in methods]
        if page.task.second and any(cell.value is not None for cell in second):
            columns[_heading(page, page.task.second.measure, tasks)] = second
    if words:
        columns["all_tasks"] = [Cell(translatable(words[m.name])) if m.name in words else Cell() for m in methods]
    rows = [
        TableRow(method.name, tuple(cells), _base(compared, method), seeds=method.seeds)
        for method, *cells in zip(methods, *columns.values(), strict=True)
    ]
    return without_empty(Table("overview", ("model", *columns), tuple(rows), tuple(_legend(found))))


def _base(compared: Compared, method: Method) -> str:
    """The name of its base, where there are several."""
    several = len({base.name for base in compared.against.values()}) > 1
    return compared.against[method.name].name if several and method.name in compared.against else ""


def _heading(page: TaskOnPage, measure: Measure, tasks: int) -> str:
    if measure == page.task.measures[0]:
        return page.heading
    name = translatable(measure_label(measure))
    return translatable("{task}: {name}", task=translatable(page.task.name), name=name) if tasks > 1 else name


def _cell(page: TaskOnPage, method: Method, measure: Measure) -> Cell:
    """A method's number, with an arrow where the rule of the words says so.

    Its interval stands below it if it is the task's first measure; what else it rests on stands in files.
    """
    if not (runs := method.of_task(page.task.name)):
        return Cell(why="no_run")
    one, main = page.found.get(method.name), measure == page.task.measures[0]
    full = seed_cell([page.cell(page.column(measure), run) for run in runs])
    words = ("target",) if main and one is not None and one.target else ()
    low, high = (full.low, full.high) if main else (None, None)
    parts = {name: part for name, part in full.exact.items() if name != "value"}
    cell = Cell(full.value, full.measure, low, high, below=words, why=full.why, mark=_mark(one, measure), more=parts)
    return page.with_own_caveats(cell, runs) if main else cell


def _pairing(one: MethodOutcome | None) -> Cell:
    """The gain by a second encoder, which only a model with a base has."""
    for state in (state for state in (one.bounds if one else ()) if state.encoder):
        by, mark = (translatable("sd by {scorer}", scorer=state.encoder),), _mark(one, state.measure)
        ends = {name: end for name in ("low", "high") if (end := getattr(state.change, name)) is not None}
        return Cell(state.change.difference, state.measure, below=by, signed=True, mark=mark, more=ends)
    return Cell()


def _mark(one: MethodOutcome | None, measure: Measure) -> str:
    """An arrow where a first measure is higher or lower, and where a bound rose or fell."""
    if one is None:
        return ""
    if measure == one.measure and one.change.sign and not one.is_control:
        colour = {1: " good", -1: " bad"}.get(one.change.sign * measure.better, "")
        return ("up" if one.change.sign > 0 else "down") + colour
    states = [bound for bound in one.bounds if bound.measure == measure]
    return "".join("down bad" if b.state == FELL else "up good" if b.of_base == FELL else "" for b in states)


def _legend(found: Findings) -> list[str]:
    compared = found.compared
    names = dict.fromkeys(str(run.scale.get("score_name") or "") for page in found.tasks for run in page.runs)
    if not compared.against:
        return [*filter(None, names)]
    bases = {base.name for base in compared.against.values()}
    base = bases.pop() if len(bases) == 1 else translatable("its base")
    target = any(one.target for one in found.outcomes)
    return [translatable("legend", base=base), *[translatable("target_says")] * target, *filter(None, names)]


def _samples(compared: Compared, pages: Sequence[TaskOnPage]) -> list[tuple[str, list[str]]]:
    """Two answers of each model, drawn by seed from those that the reader shows of the first task."""
    samples = []
    for model in compared.models:
        runs = [(page.task.view, run) for page in pages if (run := model.run(page.task.name))]
        texts = [answer.text for view, run in runs[:1] for _, answers in view.reader(run) for answer in answers]
        chosen = random.Random(0).sample(range(len(texts)), min(2, len(texts)))
        samples.append((model.name, [_short(texts[k]) for k in sorted(chosen)]))
    return samples


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _LETTERS].split())
    return line if len(line) <= _LETTERS else f"{line[:_LETTERS]}…"


def _notes(compared: Compared, pages: Sequence[TaskOnPage]) -> list[str]:
    """What was not run, and on how many trainings it rests."""
    run = {page.task.name for page in pages}
    missing = [
        translatable(task.name) for task in task_types().values() if not task.only_if_named and task.name not in run
    ]
    notes = [translatable("Not run: {tasks}.", tasks=missing)] if missing else []
    if drawn := [method.name for method in compared.methods if method.reference]:
        notes.append(translatable("references", names=", ".join(drawn)))
    contestants = [method for method in compared.methods if method.name in (compared.against or {method.name})]
    if any(not method.several and method.first.trained for method in contestants):
        notes.append(translatable("one_training"))
    seeded = [method.name for method in compared.methods if method.several]
    return [*notes, *([translatable("over_seeds", names=", ".join(seeded))] if seeded else [])]
