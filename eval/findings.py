"""The one table of what came out: a row a number, with all that it must not be read without.

Terminal, page, CSV, LaTeX, W&B and notebook are loops over these rows: none of them computes or compares.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from sozo.eval.compare import Compared, Difference, all_pairs, compare, compare_models
from sozo.eval.curve import CURVE, CurveGap, curve_gap
from sozo.eval.evaluated import Evaluated, not_alike
from sozo.eval.judge_noise import column_by, judge_noise, judged_twice, with_noise
from sozo.eval.report.labels import english
from sozo.eval.seeds import Method, caveats_of, judges_of, over_runs
from sozo.models.trained_on import YES, different, target
from sozo.scoring.measure import DIFFERENCE, LEVEL, MEAN, RATIO, Estimate, Measure
from sozo.scoring.numbers import number, p_value, percent
from sozo.scoring.second_encoder import PARTS, GainOverRuns, SecondEncoder
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task
from sozo.tasks.view import RunColumn, measured

if TYPE_CHECKING:
    import pandas as pd

PART = "part"  # of a gain by an encoder, in standard deviations of the base's scores
HIGHER = "higher"
LOWER = "lower"
NOT_APART = "not told apart"
NO_INTERVAL = "no interval"
NOT_COMPARED = "not compared"
STATES = (HIGHER, LOWER, NOT_APART, NO_INTERVAL, NOT_COMPARED)
_EFFECT = Measure("effect", 2)


@dataclass(frozen=True, slots=True)
class Finding:
    """One number: of which model, of what, against whom."""

    model: str
    base: str  # what it is compared with; empty of a mean
    task: str
    column: str  # of a mean the column that shows it; else the measure's short name
    label: str  # what people call it: a key of `labels.yaml`
    measure: Measure  # its name, its unit, its decimals
    kind: str  # MEAN, DIFFERENCE (none is 0), RATIO (none is 1), PART, CURVE
    estimate: Estimate
    of: int | None = None  # of how many the estimate has its n
    counted: str = ""  # what n counts: answers, items, seeds
    # Of a difference the model's number and the base's: of pairs those of common items.
    value: float | None = None
    base_value: float | None = None
    effect: float | None = None  # Cohen's d
    by: str = ""  # the encoder or judge that scored
    seeds: int = 0  # over how many trainings it is; 0 of one model
    target: str = ""  # of a difference, whether training went for it: yes, no, not known; then it is no evidence
    first: bool = False  # whether it is among those that are told apart together, on the first screen
    caveats: tuple[str, ...] = ()  # what it must not be read without
    below: tuple[str, ...] = ()  # what else its column says: texts, and numbers by name
    more: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """Where a difference stands: an interval that leaves out 0, and nothing else, tells two models apart."""
        if self.kind == MEAN:
            return ""
        if self.estimate.value is None:
            return NOT_COMPARED
        if self.estimate.low is None:
            return NO_INTERVAL
        known = self.estimate
        sign = known.sign_of_ratio if self.kind == RATIO else known.sign
        return {1: HIGHER, -1: LOWER, 0: NOT_APART}[sign]

    @property
    def p_corrected(self) -> float | None:
        """The p-value times how often its level was divided: below 0.05 exactly where the interval leaves out 0."""
        p, level = self.estimate.p, self.estimate.level
        return None if p is None else min(1.0, p * (1 - LEVEL) / (1 - level))

    @property
    def unit(self) -> str:
        """Of its numbers: `share` (from 0 to 1), words, sd, or nothing of scores; a ratio has none."""
        if self.kind == RATIO:
            return ""
        return "share" if self.measure.share else self.measure.unit

    @property
    def cell(self) -> Cell:
        """As tables show it; a difference with its level, p, effect size and whether it is evidence."""
        known = self.estimate
        if self.kind == MEAN:
            of, why = self.of, known.reason or ""
            return Cell(known, self.measure, MEAN, of, self.below, why, more=self.more)
        lines = list[str]()
        if known.low is not None and known.level != LEVEL:
            level = percent(known.level)
            lines.append(translatable("interval of {level}", level=level))
        if self.p_corrected is not None:
            lines.append(p_value(self.p_corrected))
        if self.effect is not None:
            lines.append(f"d = {number(self.effect, _EFFECT, DIFFERENCE)}")
        lines += [known.reason] if known.reason else []
        lines += ["target"] * (self.target == YES)
        numbers: dict[str, Any] = {
            "level": known.level,
            "p": self.p_corrected,
            "effect": self.effect,
            "base_n": known.base_n,
            "model_value": self.value,
            "base_value": self.base_value,
        }
        return Cell(
            known,
            self.measure,
            RATIO if self.kind == RATIO else DIFFERENCE,
            None if self.kind == RATIO else self.of,
            (*lines, *self.below),
            known.reason or "",
            mark=self.state if self.state in (HIGHER, LOWER) else "",
            more=numbers if known.value is not None else {},
        )

    @property
    def bare(self) -> Cell:
        """The number and its interval alone."""
        known = replace(self.estimate, n=0, base_n=None)
        return replace(self.cell, content=known, of=None, below=(), why="", more={})

    def to_json(self) -> dict[str, object]:
        """The row as files and data frames have it: the same names in every report."""
        known = self.estimate
        return {
            "model": self.model,
            "base": self.base,
            "task": self.task,
            "measure": self.measure.name,
            "kind": self.kind,
            "unit": self.unit,
            "value": known.value,
            "low": known.low,
            "high": known.high,
            "level": known.level if known.low is not None else None,
            "p": known.p,
            "p_corrected": self.p_corrected,
            "n": known.n or None,
            "base_n": known.base_n,
            "of": self.of,
            "counted": self.counted,
            "model_value": self.value,
            "base_value": self.base_value,
            "effect": self.effect,
            "by": self.by,
            "seeds": self.seeds or None,
            "target": self.target,
            "state": self.state,
            "first_screen": self.first,
            "caveats": "; ".join(map(english, self.caveats)),
            "reason": english(known.reason or ""),
        }


@dataclass(frozen=True)
class Findings:
    """All rows of a report, and what they are of."""

    compared: Compared
    rows: Sequence[Finding]
    columns: Mapping[str, Sequence[RunColumn]]  # of each task that has runs

    @cached_property
    def tasks(self) -> dict[str, type[Task]]:
        """The tasks that have runs, in their order."""
        return {name: task_types()[name] for name in self.columns}

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str, str], Finding]:
        return {(row.model, row.base, row.task, row.column): row for row in self.rows}

    def mean(self, model: str, task: str, column: str) -> Finding | None:
        """The row of what a model has in a column."""
        return self._by_place.get((model, "", task, column))

    def difference(self, model: str, base: str, measure: Measure) -> Finding | None:
        """The row of a difference."""
        return self._by_place.get((model, base, measure.task, measure.short))

    def runs(self, task: str) -> list[RunResult]:
        """The run of each model that says most."""
        return [run for model in self.compared.models if (run := model.run(task))]


def findings(
    models: Sequence[Evaluated],
    base: str | None = None,
    second: SecondEncoder | None = None,
) -> Findings:
    """The rows of models, held against the one called `base` (`compare_models`): means by task, then what differs."""
    found, pairs = _prepared(compare_models(models, base), second)
    rows = chain(found.rows, *(pair.rows() for pair in pairs))
    return replace(found, rows=list(rows))


def findings_of_all(models: Sequence[Evaluated]) -> Findings:
    """Their means, and what every two differ in by what each task is known by, in intervals that all hold at once."""
    found, pairs = _prepared(all_pairs(models))
    known = [row for pair in pairs for row in pair.known_by(LEVEL)]
    among = sum(row.estimate.low is not None for row in known)
    level = 1 - (1 - LEVEL) / max(1, among)
    rows = chain(found.rows, *(pair.known_by(level) for pair in pairs))
    return replace(found, rows=list(rows))


def _prepared(
    compared: Compared, second: SecondEncoder | None = None
) -> "tuple[Findings, list[_Pair]]":
    """The means by task, and the pairs."""
    columns = {}
    rows = list[Finding]()
    for task in task_types().values():
        if runs := [run for model in compared.models if (run := model.run(task.name))]:
            columns[task.name] = _columns(task, runs)
            for method in compared.methods:
                rows += means(method, task, columns[task.name])
            for judge in judges_of(compared.methods, task.name):
                columns[task.name] += [column := column_by(task, judge)]
                for method in compared.methods:
                    rows += means(method.by(judge), task, [column])
    tasks = [task_types()[name] for name in columns]
    noises = {
        one.name: judge_noise(twice, one)
        for task in tasks
        if (twice := judged_twice(compared, task))
        for one in compared_measures(task)
        if not one.share
    }
    shared = _Shared(compared.methods, tasks, noises, second)
    pairs = [_Pair(base, method, shared) for base, method in compared.pairs]
    return Findings(compared, rows, columns), pairs


def frame(found: Findings) -> "pd.DataFrame":
    """The rows as a pandas data frame; its columns are told in docs/reports.md."""
    import pandas as pd

    return pd.DataFrame([row.to_json() for row in found.rows])


def first_measures(task: type[Task]) -> tuple[Measure, ...]:
    """The task's measures that stand on the first screen, the one that it is known by first."""
    if task.control:
        return *task.control.measures, *task.control.beside
    return task.known_by(), *task.beside()


def compared_measures(task: type[Task]) -> list[Measure]:
    """Those of the first screen, and the others that are compared, once each."""
    others = (measure for measure in task.measures if measure.compared)
    named = {one.name: one for one in (*first_measures(task), *others)}
    return [*named.values()]


def means(
    method: Method, task: type[Task], columns: Iterable[RunColumn]
) -> Iterator[Finding]:
    """What a method's runs of a task say in their columns, over its seeds; texts are no findings."""
    if not (runs := method.of_task(task.name)):
        return
    caveats = tuple(caveats_of(runs))
    for column in columns:
        cell = over_runs([column.fill(run) for run in runs])
        if isinstance(cell.content, str):
            continue
        name = column.change.name if column.change else f"{task.name}/{column.name}"
        named, several = replace(cell.measure, name=name), len(runs) > 1
        # Nobody asks whether it is 0.
        known = replace(cell.estimate, p=None, reason=cell.why or cell.estimate.reason)
        scored = column.change is not None or column.measure in task.measures
        yield Finding(
            method.name,
            "",
            task.name,
            column.name,
            column.label,
            named,
            MEAN,
            known,
            cell.of,
            "seeds" if several else _counts(named) if scored else "",
            by=_by(runs[0], named) if scored else "",
            seeds=len(runs) if several else 0,
            caveats=caveats,
            below=cell.below,
            more=cell.more,
        )


def _columns(task: type[Task], runs: Sequence[RunResult]) -> list[RunColumn]:
    """What the task's view declares, and the measures of the first screen that are in no column."""
    columns = task.view.all_columns(task.measures, runs)
    known = {column.change.name for column in columns if column.change}
    lacking = (one for one in first_measures(task) if one.name not in known)
    return [*columns, *(measured(one, key=one.name) for one in lacking)]


def _counts(measure: Measure) -> str:
    return "items" if measure.per_item else "answers"


def _by(run: RunResult, measure: Measure) -> str:
    """Who scored."""
    return (run.scorer or "") if measure.needs_scorer else ""


@dataclass(frozen=True)
class _Shared:
    """What all pairs of a report have in common."""

    methods: Sequence[Method]
    tasks: Sequence[type[Task]]
    noises: Mapping[str, tuple[float, int]]  # the judge's, by measure (`judge_noise`)
    second: SecondEncoder | None


@dataclass(frozen=True)
class _Pair:
    """A base and a method that is held against it."""

    base: Method
    method: Method
    shared: _Shared

    def rows(self) -> Iterator[Finding]:
        score_level, other_level = self._levels
        for task in self.shared.tasks:
            main = task.known_by()
            first = [measure.name for measure in first_measures(task)]
            # Drawn lists are no contestants: of them only gains are told, which have no number of their own.
            for measure in compared_measures(task) if not self.method.reference else ():
                shown = measure.name in first and not self._full(task, measure)
                level = other_level if shown else LEVEL
                if shown and measure.name == main.name and not task.control:
                    level = score_level
                if found := compare(self.base, self.method, measure, level):
                    yield self._row(task, measure, found, first=shown)
            for judge, pair in self._by_judges(task).items():
                if found := compare(pair.base, pair.method, main, score_level):
                    row, by = pair._row(task, main, found), main.by(judge)
                    known = replace(row.measure, name=by.name)
                    yield replace(row, measure=known, column=by.short, label=by.name)
            if line := self._curves.get(task.name):
                found = line.difference(other_level)
                own: Any = {"kind": CURVE, "went_for": line.up, "notes": line.notes}
                yield self._row(task, line.measure, found, **own)
            if task.second and self.shared.second:
                yield from self._gains(task, task.second, self.shared.second)

    def known_by(self, level: float) -> Iterator[Finding]:
        """What they differ in by what each task is known by."""
        for task in self.shared.tasks:
            if found := compare(self.base, self.method, task.known_by(), level):
                yield self._row(task, task.known_by(), found)

    def _row(
        self,
        task: type[Task],
        measure: Measure,
        found: Difference,
        *,
        kind: str = "",
        first: bool = True,
        went_for: Measure | None = None,
        notes: Sequence[str] = (),
    ) -> Finding:
        """What `compare` or a curve found; `went_for` is what training may have gone for, the measure by default."""
        runs = [*self.method.of_task(task.name), *self.base.of_task(task.name)]
        shown = runs[0].adapt(measure)
        estimate, below = found.estimate, [*filter(None, [found.seeds]), *notes]
        kind = kind or (RATIO if measure.ratio else DIFFERENCE)
        noise, times = self.shared.noises.get(measure.name, (0.0, 0))
        # Seeds that are judged one by one show their judge's noise in their spread, but not that of a base's one run.
        sides = (
            2 - bool(self.method.seeds) - bool(self.method.seeds and self.base.seeds)
        )
        if noise and sides and estimate.low is not None:
            estimate = with_noise(estimate, noise, times, sides)
            said = f"{noise:.{measure.digits + 1}f}"
            below.append(translatable("with the judge's noise, {noise}", noise=said))
        several = self.method.seeds or self.base.seeds
        return self._finding(
            task,
            shown,
            kind,
            # Last: the noise is added to the whole interval.
            shown.inside(estimate, RATIO if kind == RATIO else DIFFERENCE),
            of=found.of,
            counted="seeds" if several else _counts(measure),
            value=found.value,
            base_value=found.base_value,
            effect=found.effect,
            by=_by(runs[0], measure),
            target=self._target(task, went_for or measure),
            first=first,
            below=tuple(below),
        )

    def _by_judges(self, task: type[Task]) -> dict[str, "_Pair"]:
        """The two by each further judge of the same answers, who decides no measure but the score."""
        return {
            judge: replace(self, base=self.base.by(judge), method=self.method.by(judge))
            for judge in judges_of((self.base, self.method), task.name)
        }

    @cached_property
    def _curves(self) -> dict[str, CurveGap]:
        """How the method lies beside its base's curve, of tasks where there is one."""
        own = self.base, self.method, self.shared.methods
        found = [(task.name, curve_gap(*own, task)) for task in self.shared.tasks]
        return {name: line for name, line in found if line}

    def _gains(
        self, task: type[Task], pairing: Measure, second: SecondEncoder
    ) -> Iterator[Finding]:
        """Gains in the base's standard deviations: by the runs' own encoder, and by the second one."""
        runs = [
            (before, after)
            for seed, model in self.method.runs.items()
            if (before := self.base.at(seed).run(task.name))
            and (after := model.run(task.name))
        ]
        if not runs:
            return
        name, pairs, bases = second.encoder.name, [], set[str]()
        for before, after in runs:
            scores = before.by_answer(before.main), after.by_answer(after.main)
            seen = second.see(before), second.see(after)
            pairs.append((seen, scores, not_alike(before, after)))
            bases.add(str(before.folder))
        lacking, from_one = len(self.method.runs) - len(runs), len(bases) < len(runs)
        alone = bool(self.base.seeds and not self.method.seeds)
        _, level = self._levels
        gains = GainOverRuns.of([] if lacking else pairs, level, from_one, alone)
        for part in PARTS:
            paired = part == "gain_pairing"
            yield self._finding(
                task,
                pairing if paired else replace(pairing, name=f"{task.name}/{part}"),
                DIFFERENCE if paired else PART,
                gains.estimate(part),
                counted="seeds" if self.method.seeds else "answers",
                by=(runs[0][1].scorer or "") if part == "gain_own" else name,
                target=self._target(
                    task, pairing if paired else task.measures[0], name
                ),
                first=paired and not self.method.reference,
            )
        known = Measure(f"{task.name}/known_pairs", share=True)
        share = self._finding(task, known, MEAN, Estimate(gains.known_pairs), by=name)
        yield replace(share, caveats=())

    def _finding(
        self,
        task: type[Task],
        measure: Measure,
        kind: str,
        estimate: Estimate,
        **more: Any,
    ) -> Finding:
        """A row of the two, with the method's caveats and those that the base alone has."""
        own, of_base = (
            caveats_of(side.of_task(task.name)) for side in (self.method, self.base)
        )
        own += [
            translatable("{model}: {caveat}", model=self.base.name, caveat=caveat)
            for caveat in of_base
            if caveat not in own
        ]
        return Finding(
            self.method.name,
            self.base.name,
            measure.task,
            measure.short,
            measure.name,
            measure,
            kind,
            estimate,
            seeds=self.method.seeds,
            caveats=tuple(own),
            **more,
        )

    def _target(self, task: type[Task], measure: Measure, encoder: str = "") -> str:
        """Of the model, or of the base: what went for one of both tells them apart without more."""
        ours, theirs = (
            target(
                different(chain(*(one.trainings for one in side.runs.values()))),
                task,
                measure,
                encoder,
            )
            for side in (self.method, self.base)
        )
        return YES if theirs == YES else ours

    @cached_property
    def _levels(self) -> tuple[float, float]:
        """Levels at which all intervals of the first screen hold at once: of the tasks' scores, and of all others.

        Half of 5% is for the scores, half for the others, in equal parts for what chance could tell apart, whatever
        flags were given.
        """
        scores, others = list[bool](), list[bool]()
        for task in self.shared.tasks:
            main = task.known_by()
            for one in filter(None, (*first_measures(task), task.second)):
                score = one.name == main.name and not task.control
                (scores if score else others).append(self._could_differ(task, one))
            for pair in self._by_judges(task).values():
                scores.append(pair._could_differ(task, main))
            if line := self._curves.get(task.name):
                others.append(not line.reason)
        half = (1 - LEVEL) / 2
        return 1 - half / max(1, sum(scores)), 1 - half / max(1, sum(others))

    def _could_differ(self, task: type[Task], measure: Measure) -> bool:
        """A target is no evidence, what both sides always have cannot differ, what is not compared has no interval."""
        sides = [side.of_task(task.name) for side in (self.base, self.method)]
        second = self.shared.second if measure == task.second else None
        return (
            all(sides)
            and not_alike(sides[0][0], sides[1][0], measure) is None
            and not self._full(task, measure)
            and self._target(task, measure, second.encoder.name if second else "")
            != YES
        )

    def _full(self, task: type[Task], measure: Measure) -> bool:
        """Whether it is a share that both sides always have, which cannot differ."""
        sides = [side.of_task(task.name) for side in (self.base, self.method)]
        return (
            measure.share
            and all(sides)
            and all(run.estimate(measure).value == 1 for run in chain(*sides))
        )
