"""Did training help, and at what price? What every method came out as, in words that no number stands in alone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sozo.eval.outcome import FELL, KINDS, NOT_SHOWN, GuardState, Outcome
from sozo.eval.report.labels import labels, wording
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import interval, number, p_value, signed
from sozo.scoring.statistics.means import FEW, unseen_share

Pair = tuple[str, str]  # in English and in Japanese

_MOST = 6  # methods that the first sentence names; more are counted
_ONE_DIGIT = Measure("share", 3, share=True)
_PERCENT = Measure("percent", 4, share=True)
_COMMAS = (", ", "、")


def answer(found: Sequence[Outcome], gains: Mapping[str, Sequence[float]]) -> list[tuple[str, Pair]]:
    """Method -> its clauses, one a task; of many methods one clause without a name, of how many came out as what.

    `gains` are what the paper's trainings gained, by task.
    """
    methods = list(dict.fromkeys(one.model for one in found))
    if len(methods) > _MOST:
        return [("", _of_many(found))]
    said = []
    for model in methods:
        clauses = [clause(one, gains.get(one.task, ()), unseen=True) for one in found if one.model == model]
        said.append((model, _joined(clauses, ("; ", "；"))))
    return said


def in_english(found: Sequence[Outcome]) -> list[str]:
    """The answer as lines, one a method."""
    return [f"{model}: {said}." if model else f"{said}." for model, (said, _) in answer(found, {})]


def few(numbers: Iterable[int]) -> Pair | None:
    """What is true of intervals over so few values, if the smallest of these numbers of values is small."""
    least = min(numbers, default=FEW)
    if not 1 < least < FEW:
        return None
    return wording("answer_few", n=least, share=number(unseen_share(least), _ONE_DIGIT))


def clause(one: Outcome, gains: Sequence[float] = (), *, unseen: bool = False) -> Pair:
    """What a method came out as in a task; what could be seen if it is `unseen` only where the paper's gains are."""
    if one.control is not None:
        facts = [
            _joined([*([wording(name)] if name else []), (figure, figure)], (" ", ""))
            for name, figure in one.control.figures
        ]
        facts += [wording(one.control.reason)] if one.control.reason else []
        verdict = {"verdict": wording(one.control.verdict), "facts": _joined(facts)}
        return wording("answer_control", task=wording(one.task), **verdict)
    values = {"task": wording(one.task), "number": difference(one)}
    less = "_less" if one.measure.better < 0 else ""
    fell = [wording("answer_fell", guard=_guard(state)) for state in one.of_state(FELL)]
    if one.kind == "none":
        why = wording(one.change.reason or "no interval")
        return _joined([wording("answer_none", **values, why=why), *fell], ("; ", "；"))
    if one.kind == "price":
        price = list(fell)
        if one.independent_words is not None:
            price.append(wording("answer_independent", n=f"{one.independent_words:,}"))
        return wording(f"answer_price{less}", **values, price=_joined(price))
    if one.kind == "unsure":
        return wording(
            f"answer_unsure{less}", **values, open=_joined([_guard(state) for state in one.of_state(NOT_SHOWN)])
        )
    said = _joined([wording(f"answer_{one.kind}{less}", **values), *fell], ("; ", "；"))
    if one.judge_noise:
        finer = replace(one.measure, digits=one.measure.digits + 1)
        noise = wording("answer_noise", noise=number(one.judge_noise, finer))
        said = _joined([said, noise], ("; ", "；"))
    if one.kind != "same" or (least := one.detectable()) is None or (unseen and least <= min(gains, default=least)):
        return said
    parts = [said, wording("answer_power", least=number(least, one.measure), n=f"{one.change.n:,}")]
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
    """The guards of a method's gain, each with its change and state; of one without a gain those that fell."""
    return [_guard(state, with_state=True) for state in (one.guards if one.higher else one.of_state(FELL))]


def _guard(state: GuardState, *, with_state: bool = False) -> Pair:
    """A guard's name with its change, and why it is not shown, where it is not."""
    key, change = f"guard_{state.measure.short}", state.change
    name = wording(key if key in labels() else state.measure.short)
    figures = [signed(change.difference, state.measure)] if change.difference is not None else []
    figures += filter(None, [interval(change.low, change.high, state.measure, signed=True), state.encoder])
    facts = [(" ".join(figures),) * 2] if figures else []
    facts += [wording(f"state_{state.state}")] if with_state else []
    facts += [wording(state.why)] if state.why else []
    return wording("guard_of", name=name, facts=_joined(facts)) if facts else name


def _of_many(found: Sequence[Outcome]) -> Pair:
    """How many methods came out as what, each by its best task."""
    best: dict[str, str] = {}
    for one in (one for one in found if one.control is None):
        best[one.model] = min(best.get(one.model, KINDS[-1]), one.kind, key=KINDS.index)
    return wording("answer_counts", n=len(best), counts=counts(best.values()))


def counts(kinds: Iterable[str]) -> Pair:
    """How often which kind of outcome."""
    count = Counter(kinds)
    return _joined([wording(f"count_{kind}", n=count[kind]) for kind in KINDS if count[kind]])


def _joined(parts: Sequence[Pair], between: Pair = _COMMAS) -> Pair:
    english, japanese = (between[k].join(part[k] for part in parts) for k in range(2))
    return english, japanese
