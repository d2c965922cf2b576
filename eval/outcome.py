"""Did training help, and at what price? A task's first measure against the base, and what it must not have cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sozo.eval.compare import Change, Compared, change_at
from sozo.eval.evaluated import not_alike
from sozo.eval.judge_noise import judge_noise, with_noise
from sozo.eval.second_encoder import SecondGain
from sozo.eval.seeds import Method
from sozo.scoring.measure import LEVEL, Measure
from sozo.scoring.numbers import n_of
from sozo.scoring.statistics import compare_paired
from sozo.scoring.statistics.comparison import Comparison
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Bound, Control, Task

HELD, FELL, NOT_SHOWN = "held", "fell", "not shown"
AHEAD, MIXED, BEHIND, SAME = "ahead", "gain with a loss", "behind", "no difference shown"
NOT_TO_HOLD = "no difference shown to hold"  # SAME, where something differs and its bounds are not shown
WORDS = (AHEAD, MIXED, BEHIND, SAME, NOT_TO_HOLD)


@dataclass(frozen=True, slots=True)
class BoundState:
    """Whether a gain cost what it must not cost; `state` is HELD, FELL or NOT_SHOWN."""

    measure: Measure
    state: str
    change: Comparison  # of its measure, with a 95% interval
    of_base: str = NOT_SHOWN  # the state if the base were the model: FELL where the model has what the base lacks
    counts: str = ""  # of a share: n of N of the base and of the model
    why: str = ""  # why it is not shown
    encoder: str = ""  # of a second encoder its name


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """What a method came out as in a task."""

    task: str
    model: str
    base: str
    measure: Measure
    change: Change  # of the task's first measure, with an interval of `level`
    target: bool = False  # whether training went for this task
    caveats: tuple[str, ...] = ()  # what stands beside the numbers of both (`RunResult.caveats`)
    level: float = LEVEL  # 1 - 0.05 / m of a method with m tasks
    p: float | None = None  # m times that of the change: below 0.05 exactly where the interval leaves 0
    bounds: tuple[BoundState, ...] = ()
    judge_noise: float = 0.0  # standard deviation of a mean from one judging to the next; it is in the interval
    is_control: bool = False  # whether the task is a control: nothing is won there, and its own measures are its bounds

    @property
    def direction(self) -> int:
        """Whether the first measure is better (1) or worse (-1) than the base's, whatever it cost; else 0."""
        return 0 if self.is_control else self.change.sign * (self.measure.better or 1)

    @property
    def rose(self) -> "list[MethodOutcome | BoundState]":
        """The bounds of which the base lacks what the model has: FELL, seen from the base."""
        return [bound for bound in self.bounds if bound.of_base == FELL]

    @property
    def better(self) -> "list[MethodOutcome | BoundState]":
        """What is better than the base's: the first measure, as this outcome itself, and bounds that rose."""
        return [] if self.is_control else [*[self] * (self.direction > 0), *self.rose]

    @property
    def worse(self) -> "list[MethodOutcome | BoundState]":
        """What is worse: the first measure, and bounds that fell."""
        return [*[self] * (self.direction < 0), *(bound for bound in self.bounds if bound.state == FELL)]

    @property
    def open(self) -> list[BoundState]:
        """The bounds not shown of whoever is higher; none needs a correction, since all of them must hold."""
        sides = {1: [bound.state for bound in self.bounds], -1: [bound.of_base for bound in self.bounds]}
        states = sides.get(self.direction, ())
        return [bound for bound, state in zip(self.bounds, states, strict=False) if state == NOT_SHOWN]


def verdict(found: Sequence[MethodOutcome]) -> str:
    """What a method came out as over all its tasks together: AHEAD, MIXED, BEHIND, or SAME (perhaps NOT_TO_HOLD).

    The rule is the same seen from the base: MIXED and SAME are their own mirror images, AHEAD and BEHIND each other's.
    So whoever is better alone is AHEAD only if it is shown to hold, and the other one is BEHIND only then. A control
    can only lose: who is better there alone is not AHEAD.
    """
    better, worse = any(one.better for one in found), any(one.worse for one in found)
    if worse and any(one.better or one.rose for one in found):
        return MIXED
    if not (better or worse):
        return SAME
    if any(one.open for one in found):
        return NOT_TO_HOLD
    return AHEAD if better else BEHIND


def outcomes(compared: Compared, gains: Sequence[SecondGain] = ()) -> list[MethodOutcome]:
    """Of each method that is compared, task by task; lists of nouns that were drawn from a dictionary are no methods.

    `gains` are those by a second encoder; without any nobody can be ahead in a task that asks for one.
    """
    found: list[MethodOutcome] = []
    noises = {task.name: judge_noise(compared, task) for task in task_types().values()}  # of all models together
    for method in compared.methods:
        if method.name in compared.against and not method.reference:
            found += _of_method(compared, method, gains, noises)
    return found


def _of_method(
    compared: Compared, method: Method, gains: Sequence[SecondGain], noises: Mapping[str, tuple[float, int]]
) -> Iterator[MethodOutcome]:
    tasks = [task for task in task_types().values() if (method.name, task.measures[0].name) in compared.changes]
    base = compared.against[method.name]
    targets = [task.measures[0].name for task in tasks if task.control is None]
    family = max(1, sum(compared.changes[method.name, name].p is not None for name in targets))
    for task in tasks:
        measure = task.measures[0]
        change = compared.changes[method.name, measure.name]
        runs = [run for side in (base, method) for run in side.of_task(task.name)]
        caveats = tuple(dict.fromkeys(caveat for run in runs for caveat in run.caveats))
        target = any(task.name in model.targets for model in method.runs.values())
        one = MethodOutcome(task.name, method.name, base.name, measure, change, target, caveats)
        if task.control is not None:
            yield replace(one, bounds=_control(task.control, compared, method), is_control=True)
            continue
        level = 1 - (1 - LEVEL) / family
        change, (noise, times) = change_at(compared, method, measure, level), noises[task.name]
        if noise and not method.several:
            change = with_noise(change, level, noise, times)
        bounds = [_bound(bound, compared, method) for bound in task.bounds()]
        if task.second is not None:
            bounds.append(_second(task.second, task, method, gains))
        p = None if change.p is None else min(1.0, family * change.p)
        yield replace(one, change=change, level=level, p=p, bounds=tuple(bounds), judge_noise=noise)


def _control(control: Control, compared: Compared, method: Method) -> tuple[BoundState, ...]:
    """The states of a control's measures; of several seeds those of the one that came out worst."""
    task = control.measure.task
    seeds = [
        control_states(control, before, after)
        for base, model in compared.pairs
        if model in method.runs.values() and (before := base.run(task)) and (after := model.run(task))
    ]
    return min(seeds, key=lambda states: min((FELL, NOT_SHOWN, HELD).index(one.state) for one in states), default=())


def control_states(control: Control, base: RunResult, model: RunResult) -> tuple[BoundState, ...]:
    """Whether a model understands what its base did: the state of a control's measure, and that of its errors.

    Each must hold, and the control's measure fell if the whole interval is below minus its margin. Nothing is shown by
    too few answers, nor where the base is not above chance, for then it has nothing to lose.
    """
    answers = min(len(run.by_answer(control.measure)) for run in (base, model))
    ends = [run.estimate(control.measure).low for run in (base, model)]
    before, after = (low is not None and low > control.chance for low in ends)
    of_chance = translatable("one side is not above chance ({chance:.1%})", chance=control.chance)
    apart = not_alike(base, model)
    why = apart or ("" if before or after else of_chance)
    if answers < control.least:
        why = translatable("{n} controls, and it takes {least}", n=answers, least=control.least)
    if why:
        change = Comparison(reason=apart) if apart else model.against(base, control.measure)
        return (BoundState(control.measure, NOT_SHOWN, change, why=why),)
    states = []
    for measure in filter(None, (control.measure, control.errors)):
        sides = base.by_item(measure), model.by_item(measure)
        if all(sides):
            change = compare_paired(*sides)
            if change.low is None:  # where all differences are equal, mostly 0, it takes what is added to a share's
                change = compare_paired(*sides, share=True)
            bound = replace(control, measure=measure, least=0, fall=control.margin)
            states.append(_of_what_is_there(judged(bound, change), before, after, of_chance))
    return tuple(states)


def _of_what_is_there(bound: BoundState, before: bool, after: bool, why: str) -> BoundState:
    """Nothing is kept of which a side (the base `before`, the model `after`) has next to none, nor lost there."""

    def shown(state: str, own: bool, other: bool) -> str:
        return state if {HELD: own and other, FELL: own}.get(state, True) else NOT_SHOWN

    state, of_base = shown(bound.state, before, after), shown(bound.of_base, after, before)
    return replace(bound, state=state, of_base=of_base, why=bound.why if state == bound.state else why)


def _bound(bound: Bound, compared: Compared, method: Method) -> BoundState:
    measure = bound.measure
    change = compared.changes.get((method.name, measure.name), Comparison(reason="no_run"))
    one = judged(bound, change, several=method.several)
    if not measure.share:
        return one
    sides = [
        [run.estimate(measure) for run in side.of_task(measure.task)]
        for side in (compared.against[method.name], method)
    ]
    before, after = (all(run.mean is None or run.mean >= bound.margin for run in side) for side in sides)
    one = _of_what_is_there(one, before, after, "one side has next to none")
    counts = [
        n_of(round(side[0].mean * side[0].of), side[0].of)
        for side in sides
        if len(side) == 1 and side[0].mean is not None
    ]
    if len(counts) < len(sides):
        return one
    return replace(one, counts=translatable("{base} → {model}", base=counts[0], model=counts[1]))


def _second(bound: Bound, task: type[Task], method: Method, gains: Sequence[SecondGain]) -> BoundState:
    """What pairing gains by a second encoder, in the base's standard deviations; over a method's seeds."""
    names = {model.name for model in method.runs.values()}
    own = [gained for gained in gains if gained.task == task.name and gained.model in names]
    known = [gained.parts.pairing for gained in own if gained.parts and gained.parts.pairing]
    if not known or len(known) < len(names):
        why = "the second encoder scores too few" if gains else "none was asked: --second-encoder"
        return BoundState(bound.measure, NOT_SHOWN, Comparison(), why=why)
    if method.several:
        mean = over_seeds({k: gain.deviations for k, gain in enumerate(known)})
        change = Comparison(mean.n, mean.n, mean.mean, mean.low, mean.high, reason=mean.reason)
    else:
        (gain,) = known
        change = Comparison(min(gain.n, gain.base_n), gain.n, gain.deviations, gain.low, gain.high)
    return replace(judged(bound, change, several=method.several), encoder=own[0].encoder)


def judged(bound: Bound, change: Comparison, *, several: bool = False) -> BoundState:
    """Held: the whole 95% interval of the change is above minus the margin. Fell: all of it is below 0. Else neither.

    A change for the better is positive here, whatever the measure's direction; `of_base` is the same of the opposite
    change.

    >>> valid = Bound(measure=Measure("valid", share=True), margin=0.05, least=30)
    >>> changes = [Comparison(99, 99, 0, *ends) for ends in ((-0.01, 0.01), (-0.3, -0.1), (-0.1, 0.1))]
    >>> [judged(valid, change).state for change in changes]
    ['held', 'fell', 'not shown']
    """
    one = BoundState(bound.measure, NOT_SHOWN, change)
    if change.low is None or change.high is None:
        return replace(one, why=change.reason or "no interval")
    if change.n < bound.least and not several:
        return replace(one, why=translatable("cannot be said from {n}", n=change.n))
    ends = ((change.low, change.high), (-change.high, -change.low))[:: bound.measure.better or 1]
    state, of_base = (HELD if low > -bound.margin else FELL if high < -bound.fall else NOT_SHOWN for low, high in ends)
    seeds = "cannot be said from {n} seeds" if several else "cannot be said from {n}"
    why = "" if state != NOT_SHOWN else change.reason or translatable(seeds, n=change.n)
    return replace(one, state=state, of_base=of_base, why=why)
