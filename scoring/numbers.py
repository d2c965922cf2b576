"""How a number is written for people: each kind in one function, in one style."""

from sozo.scoring.measure import DASH, MEAN, RATIO, Measure
from sozo.scoring.translatable import translatable

COUNT, SHARE = Measure("count", 0), Measure("share", share=True)
P_VALUE = Measure("p", 3)


def number(value: float | None, measure: Measure, kind: str = MEAN) -> str:
    """A value of a measure, or of a difference or a ratio of it, with its sign and its unit; a dash for None.

    >>> from sozo.scoring.measure import DIFFERENCE
    >>> number(0.5, Measure("a", share=True)), number(1234, COUNT), number(None, Measure("c")), number(0.0004, P_VALUE)
    ('50.0%', '1,234', '–', '< 0.001')
    >>> number(-1.5, Measure("b", 2), DIFFERENCE), number(0.05, SHARE, DIFFERENCE), number(2 / 3, COUNT, RATIO)
    ('−1.50', '+5.0 points', '−33.3%')
    """
    if value is None:
        return DASH
    if measure is P_VALUE:
        return p_value(value).removeprefix("p ").removeprefix("= ")
    digits = _digits(value, measure, kind)
    if kind == RATIO or (measure.share and kind == MEAN):
        return f"{digits}%"
    if measure.share:
        return translatable("{n} points", n=digits)
    return translatable("{n} sd", n=digits) if measure.unit == "sd" else digits


def interval(
    low: float | None, high: float | None, measure: Measure, kind: str = MEAN
) -> str:
    """The ends of an interval in the unit of its number, `[low, high]`; nothing where there is none.

    >>> from sozo.scoring.measure import DIFFERENCE
    >>> interval(0.4, 0.6, SHARE), interval(-0.1, 0.25, Measure("a", 2), DIFFERENCE), interval(None, None, SHARE)
    ('[40.0, 60.0]', '[−0.10, +0.25]', '')
    >>> interval(0.0012, 0.25, Measure("a", 2), DIFFERENCE)
    '[+0.001, +0.25]'
    """
    if low is None or high is None:
        return ""
    none = 1.0 if kind == RATIO else 0.0
    apart = kind != MEAN and not low <= none <= high  # then neither end is written as 0
    return (
        f"[{_digits(low, measure, kind, apart)}, {_digits(high, measure, kind, apart)}]"
    )


def n_of(n: int, total: int) -> str:
    """How many of how many.

    >>> n_of(1, 1234)
    '1 of 1,234'
    """
    return translatable("{part:,} of {total:,}", part=n, total=total)


def share(n: int, total: int) -> str:
    """`n` of `total` in percent; a dash of nothing.

    >>> share(1, 4), share(0, 0)
    ('25.0%', '–')
    """
    return number(n / total if total else None, SHARE)


def p_value(p: float) -> str:
    """A p-value.

    >>> p_value(0.0004), p_value(0.0314)
    ('p < 0.001', 'p = 0.031')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def percent(level: float) -> str:
    """The level of an interval.

    >>> percent(0.95), percent(1 - 0.025 / 3)
    ('95%', '99.17%')
    """
    return f"{100 * level:.4g}%"


def cost_line(
    prompt_tokens: int, completion_tokens: int, cost: float, unknown_cost: int
) -> str:
    """What replies took: tokens, and dollars; `unknown_cost` is of how many the cost is not known.

    >>> cost_line(1200, 34, 0.5, 0), cost_line(0, 0, 0.0, 3)
    ('1,200 tokens in, 34 out, 0.5000 dollars', 'tokens not counted, cost of 3 unknown')
    """
    counted = prompt_tokens or completion_tokens
    form = "{read:,} tokens in, {written:,} out" if counted else "tokens not counted"
    tokens = translatable(form, read=prompt_tokens, written=completion_tokens)
    form = "{cost:.4f} dollars"
    if unknown_cost:
        form = f"{form}, cost of {{n:,}} unknown" if cost else "cost of {n:,} unknown"
    return translatable(
        "{tokens}, {cost}",
        tokens=tokens,
        cost=translatable(form, n=unknown_cost, cost=cost),
    )


def _digits(value: float, measure: Measure, kind: str, apart: bool = False) -> str:
    """Without the unit, of which percentages have one decimal; what rounds to 0 is not negative.

    What is `apart` from 0 has as many decimals as show it.
    """
    digits = measure.digits
    if kind == RATIO:
        value, digits = 100 * (value - 1), 1
    elif measure.share:
        value, digits = 100 * value, 1
    while apart and value and round(value, digits) == 0 and digits < 9:
        digits += 1
    rounded = round(value, digits) + 0.0
    sign = "−" if rounded < 0 else "" if kind == MEAN else "+"
    return f"{sign}{abs(rounded):,.{digits}f}"
