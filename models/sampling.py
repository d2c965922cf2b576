"""How answers are drawn, by name: `temperature=1.3,min_p=0.1`, `best-of=4`, `verbalized=5`. Each makes a row of its own.

A model is trained, or only hotter: the untrained one at other temperatures, truncated, chosen among several answers or
asked for several at once, is what it has to be compared with (docs/evaluation.md).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

from sozo.data.errors import UserError
from sozo.data.foreign import brief
from sozo.data.settings import hint
from sozo.models import verbalized


class _Number(NamedTuple):
    """What a name's number may be."""

    of: Callable[[str], Any]
    allowed: Callable[[Any], bool]
    says: str


_SHARE = _Number(float, lambda value: 0 < value <= 1, "a number above 0, 1 at most")
_SEVERAL = _Number(int, lambda value: 2 <= value <= 100, "a whole number from 2 to 100")
_NUMBERS = {
    "temperature": _Number(
        float, lambda value: 0 < value <= 100, "above 0, 100 at most"
    ),
    "top_k": _Number(int, lambda value: value > 0, "a whole number from 1 on"),
    "top_p": _SHARE,
    "min_p": _SHARE,
    "best_of": _SEVERAL,
    "verbalized": _SEVERAL,
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model draws its answers; None is as the task says (temperature), or not at all (the others).

    `top_k`, `top_p` and `min_p` truncate, in this order, at the temperature. Of `best_of` answers to one prompt the one
    with the best score is kept. `verbalized` answers are asked for in one reply, of which one is drawn.

    >>> Sampling.parse("min_p=.10,temperature=1.30").text
    'temperature=1.3,min_p=0.1'
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    best_of: int | None = None
    verbalized: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """From names with their numbers, joined by commas; of nothing, as the task says. UserError tells the mistake."""
        values = dict[str, Any]()
        for part in text.split(",") if text else ():
            name, _, number = part.strip().partition("=")
            field = "best_of" if name == "best-of" else name
            if field not in _NUMBERS or name == "best_of":
                known = [_name(known) for known in _NUMBERS]
                remedy = hint(name, known, f"; there are {', '.join(known)}")
                raise UserError(f"unknown sampling {brief(name)}{remedy}")
            if field in values:
                raise UserError(f"sampling {brief(text or '')} has {name} twice")
            values[field] = _value(name, number, _NUMBERS[field])
        return cls(**values)

    @property
    def text(self) -> str:
        """The one way to write it: in names of rows, and in `config.json`."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return ",".join(
            f"{_name(name)}={value:.15g}" for name, value in given if value is not None
        )

    @property
    def truncation(self) -> dict[str, Any]:
        """What of the distribution is cut off, by the names that transformers, vLLM and servers have."""
        given = {"top_k": self.top_k, "top_p": self.top_p, "min_p": self.min_p}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def answers(self) -> int:
        """How many replies are asked for to get one answer."""
        return self.best_of or 1

    def asked(self, prompt: str) -> str:
        """What is asked for a prompt."""
        return verbalized.asked(prompt, self.verbalized) if self.verbalized else prompt

    @property
    def in_one_reply(self) -> int:
        """How many answers a reply holds: it may have as many times the tokens of one."""
        return self.verbalized or 1

    def named(self, model: str) -> str:
        """A row's name: the model's, and how it draws."""
        return " ".join(filter(None, (model, self.text)))


def _name(field: str) -> str:
    return field.replace("best_of", "best-of")


def _value(name: str, text: str, number: _Number) -> Any:
    try:
        value = number.of(text)
    except ValueError:
        value = None
    if value is None or not number.allowed(value):
        raise UserError(f"sampling {name} must be {number.says}, not {brief(text)!r}")
    return value
