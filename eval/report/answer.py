"""Did training help, and at what price? What every method came out as, in words that no number stands in alone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sozo.eval.outcome import FELL, KINDS, NOT_SHOWN, WORDS, GuardState, Outcome, verdict
from sozo.eval.report.labels import labels, wording
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import interval, number, p_value, signed
from sozo.scoring.said import said
from sozo.scoring.statistics.means import FEW, unseen_share
from sozo.tasks.finished import Finished

Pair = tuple[str, str]  # in English and in Japanese

_MOST = 6  # methods that the first sentence names; more are counted
_ONE_DIGIT = Measure("share", 3, share=True)
_PERCENT = Measure("percent", 4, share=True)
_COMMAS = (", ", "、")


def answer(found: Sequence[Outcome], gains: Mapping[str, Sequence[float]]) -> list[tuple[str, Pair]]:
    """Method -> its word and a clause for each task; of many methods one line without a name: how many have which word.

    `gains` are what the paper's trainings gained, by task.
    """
    methods = list(dict.fromkeys(one.model for one in found))
    own = {model: [one for one in found if one.model == model] for model in methods}
    words = {model: verdict(tasks) for model, tasks in own.items()}
    if len(methods) > _MOST:
        return [("", wording("answer_counts", n=len(methods), counts=counts(words.values(), WORDS)))]
    sentences = []
    for model, tasks in own.items():
        clauses = [clause(one, gains.get(one.task, ()), unseen=True) for one in tasks]
        sentences.append((model, _joined([wording(words[model]), *clauses], (". ", "。"))))
    return sentences


def in_english(found: Sequence[Outcome]) -> list[str]:
    """The answer as lines, one a method."""
    return [f"{model}: {text}." if model else f"{text}." for model, (text, _) in answer(found, {})]


def task_label(task: str, caveats: Sequence[str]) -> str:
    """A task's name with what its numbers must not be read without.

    >>> task_label("jcq", [said("{n} trial questions", n=35)])
    'jcq, 35 trial questions'
    """
    return said("{task}, {caveats}", task=said(task), caveats=list(caveats)) if caveats else task


def shared_caveats(runs: Sequence[Finished]) -> list[str]:
    """The caveats that all these runs have."""
    every = [run.caveats for run in runs]
    return [caveat for caveat in dict.fromkeys(chain(*every)) if all(caveat in own for own in every)]


def few(numbers: Iterable[int]) -> Pair | None:
    """What is true of intervals over so few values, if the smallest of these numbers of values is small."""
    least = min(numbers, default=FEW)
    if not 1 < least < FEW:
        return None
    return wording("answer_few", n=least, share=number(unseen_share(least), _ONE_DIGIT))


def clause(one: Outcome, gains: Sequence[float] = (), *, unseen: bool = False) -> Pair:
    """What a method came out as in a task; what could be seen if it is `unseen` only where the paper's gains are.

    The paper's gains stand only beside numbers that are as the paper's are.
    """
    task = wording(task_label(one.task, one.caveats))
    if one.control is not None:
        facts = [
            _joined([*([wording(name)] if name else []), (figure, figure)], (" ", ""))
            for name, figure in one.control.figures
        ]
        facts += [wording(one.control.reason)] if one.control.reason else []
        verdict = {"verdict": wording(one.control.verdict), "facts": _joined(facts)}
        return wording("answer_control", task=task, **verdict)
    gains = () if one.caveats else gains
    less = "_less" if one.measure.better < 0 else ""
    sign = "lower" if one.lower else "higher" if one.higher else "none" if one.kind == "none" else "same"
    why = wording(one.change.reason or "no interval")
    parts = [wording(f"answer_{sign}{less if sign != 'none' else ''}", task=task, number=difference(one), why=why)]
    fell, rose = one.of_state(FELL), one.rose
    parts += [wording("answer_fell", guard=_guard(state)) for state in fell]
    parts += [wording("answer_rose", guard=_guard(state)) for state in rose]
    if sign in ("lower", "higher") and one.guards:
        of_gain = [(state, state.state if one.higher else state.of_base) for state in one.guards]
        if hidden := [_guard(state) for state, of in of_gain if of == NOT_SHOWN]:
            parts.append(wording(f"answer_hidden_{sign}", open=_joined(hidden)))
        elif one.shown:
            parts.append(wording("answer_held"))
    if one.judge_noise and sign != "none":
        finer = replace(one.measure, digits=one.measure.digits + 1)
        parts.append(wording("answer_noise", noise=number(one.judge_noise, finer)))
    least = one.detectable() if sign == "same" else None
    if least is not None and not (unseen and least <= min(gains, default=0.0)):
        parts.append(wording("answer_power", least=number(least, one.measure), n=f"{one.change.n:,}"))
        if gains:
            ends = {name: number(end, one.measure) for name, end in (("low", min(gains)), ("high", max(gains)))}
            parts.append(wording("answer_paper", **ends))
    return _joined(parts, ("; ", "；"))


def difference(one: Outcome) -> str:
    """A method's difference with its interval, the interval's level and p."""
    change, parts = one.change, []
    if ends := interval(change.low, change.high, one.measure, signed=True):
        parts.append(f"{ends} ({number(one.level, _PERCENT).rstrip('%').rstrip('0').rstrip('.')}%)")
    if one.p is not None:
        parts.append(p_value(one.p))
    return " ".join((signed(change.difference, one.measure), ", ".join(parts))).strip()


def guards(one: Outcome) -> list[Pair]:
    """The guards of a method's gain, each with its change and state; of one without a gain those that moved."""
    shown = one.guards if one.higher else [*one.of_state(FELL), *one.rose]
    return [_guard(state, with_state=True) for state in shown]


def _guard(state: GuardState, *, with_state: bool = False) -> Pair:
    """A guard's name with its change, and why it is not shown, where it is not."""
    key, change = f"guard_{state.measure.short}", state.change
    name = wording(key if key in labels() else state.measure.short)
    figures = [signed(change.difference, state.measure)] if change.difference is not None else []
    figures += filter(None, [interval(change.low, change.high, state.measure, signed=True), state.encoder])
    facts = [(" ".join(figures),) * 2] if figures else []
    facts += [(state.counts, state.counts)] if state.counts else []
    facts += [wording("state_rose" if state.of_base == FELL else f"state_{state.state}")] if with_state else []
    facts += [wording(state.why)] if state.why and state.of_base != FELL else []
    return wording("guard_of", name=name, facts=_joined(facts)) if facts else name


def counts(names: Iterable[str], order: Sequence[str] = KINDS) -> Pair:
    """How often which kind of outcome, or which word."""
    count = Counter(names)
    return _joined([wording(f"count_{name}", n=count[name]) for name in order if count[name]])


def _joined(parts: Sequence[Pair], between: Pair = _COMMAS) -> Pair:
    english, japanese = (between[k].join(part[k] for part in parts) for k in range(2))
    return english, japanese
