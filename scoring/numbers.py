"""How a number is written for people: each kind in one function, in one style."""

import math

from sozo.scoring.measure import DASH, Measure
from sozo.scoring.translatable import translatable

COUNT, SHARE = Measure("count", 0), Measure("share", share=True)
P_VALUE = Measure("p", 3)


def number(value: float | None, measure: Measure, *, signed: bool = False) -> str:
    """A value of a measure; a dash for None. `signed` is for differences, which of shares are percentage points.

    >>> number(0.5, Measure("a", share=True)), number(-1.5, Measure("b", digits=2)), number(None, Measure("c"))
    ('50.00%', '−1.50', '–')
    >>> number(0.05, SHARE, signed=True), number(1234, COUNT), number(0.0004, P_VALUE)
    ('+5.00 pp', '1,234', '< 0.001')
    >>> number(math.log(11 / 31), Measure("words", 0, ratio=True), signed=True)
    '−64.5%'
    """
    if value is None:
        return DASH
    if measure is P_VALUE:
        return p_value(value).removeprefix("p ").removeprefix("= ")
    return _digits(value, measure, signed) + _unit(measure, signed)


def signed(value: float | None, measure: Measure) -> str:
    """A difference of two values of a measure, with its sign; of shares in percentage points."""
    return number(value, measure, signed=True)


def interval(low: float | None, high: float | None, measure: Measure, *, signed: bool = False) -> str:
    """The ends of an interval, `[low, high unit]`, within the measure's scale; nothing where there is none.

    >>> interval(0.4, 0.6, SHARE), interval(-0.1, 0.25, Measure("a", 2), signed=True), interval(None, None, SHARE)
    ('[40.00, 60.00%]', '[−0.10, +0.25]', '')
    """
    low, high = measure.within(low, high, signed=signed)
    if low is None or high is None:
        return ""
    return f"[{_digits(low, measure, signed)}, {_digits(high, measure, signed)}{_unit(measure, signed)}]"


def n_of(part: int, total: int) -> str:
    """How many of how many.

    >>> n_of(1, 1234)
    '1 of 1,234'
    """
    return translatable("{part:,} of {total:,}", part=part, total=total)


def share(part: int, total: int) -> str:
    """`part` of `total` in percent; a dash of nothing.

    >>> share(1, 4), share(0, 0)
    ('25.00%', '–')
    """
    return number(part / total if total else None, SHARE)


def p_value(p: float) -> str:
    """A p-value.

    >>> p_value(0.0004), p_value(0.0314)
    ('p < 0.001', 'p = 0.031')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def cost_line(prompt_tokens: int, completion_tokens: int, cost: float, unknown_cost: int) -> str:
    """What a judge's replies took: tokens, and the cost in the prices' currency, unless that of some is unknown.

    >>> cost_line(1200, 34, 0.5, 0), cost_line(0, 0, 0.0, 3)
    ('1,200 tokens in, 34 out, cost 0.5000', 'tokens not counted, cost of 3 replies unknown')
    """
    counted = prompt_tokens or completion_tokens
    form = "{read:,} tokens in, {written:,} out" if counted else "tokens not counted"
    tokens = translatable(form, read=prompt_tokens, written=completion_tokens)
    form = "cost of {n:,} replies unknown" if unknown_cost else "cost {cost:.4f}"
    return translatable("{tokens}, {cost}", tokens=tokens, cost=translatable(form, n=unknown_cost, cost=cost))


def _digits(value: float, measure: Measure, signed: bool) -> str:
    """Without the unit; what rounds to 0 is not negative."""
    if signed and measure.ratio:
        value, digits = 100 * math.expm1(value), 1
    else:
        # The decimals are those of the number itself: of a percentage two fewer.
        value, digits = (100 * value, max(measure.digits - 2, 0)) if measure.share else (value, measure.digits)
    rounded = round(value, digits) + 0.0
    sign = "−" if rounded < 0 else "+" if signed else ""
    return f"{sign}{abs(rounded):,.{digits}f}"


def _unit(measure: Measure, signed: bool) -> str:
    if signed and measure.ratio:
        return "%"
    if not measure.share:
        return ""
    return " pp" if signed else "%"
