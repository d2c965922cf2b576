"""How answers are drawn, by name: `temperature=1.3,min_p=0.1`, `best-of=4`. Each makes a row of its own.

A model is trained, or only hotter: the untrained one at other temperatures, truncated, or chosen among
several answers, is what it has to be compared with (docs/measure.md).
"""

from dataclasses import asdict
from typing import Annotated, Any, Self

import pydantic
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.foreign import brief
from sozo.data.settings import from_validation
from sozo.data.study_folder import without_seed

_Share = Annotated[float, Field(gt=0, le=1)]
_Several = Annotated[int, Field(ge=2, le=100)]
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
_BEST_OF = "best-of"


@pydantic.dataclasses.dataclass(frozen=True, config=_STRICT)
class Sampling:
    """How a model draws its answers; None is as the task says (temperature), or not at all (the others).

    `top_k`, `top_p` and `min_p` truncate, in this order, at the temperature. Of `best_of` answers to one prompt the one
    with the best score is kept.

    >>> Sampling.parse("min_p=.10,temperature=1.30").text
    'temperature=1.3,min_p=0.1'
    """

    temperature: Annotated[float, Field(gt=0, le=100)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    top_p: _Share | None = None
    min_p: _Share | None = None
    best_of: _Several | None = None

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """From names with their numbers, joined by commas; of nothing, as the task says. UserError tells the mistake."""
        pairs = [part.split("=", 1) for part in (text or "").split(",") if part]
        given = {name.strip().replace(_BEST_OF, "best_of"): n for name, *n in pairs}
        if len(given) < len(pairs):
            raise UserError(
                f"sampling {brief(text or '')}: one name stands there twice"
            )
        try:
            values = {name: "".join(number).strip() for name, number in given.items()}
            return TypeAdapter(cls).validate_python(values)
        except ValidationError as error:
            known = cls.__dataclass_fields__
            raise from_validation(error, "sampling", known) from error

    @property
    def text(self) -> str:
        """The one way to write it: in names of rows, and in `config.json`."""
        given = {name: value for name, value in asdict(self).items() if value}
        named = ",".join(f"{name}={value:.15g}" for name, value in given.items())
        return named.replace("best_of", _BEST_OF)

    @property
    def truncation(self) -> dict[str, Any]:
        """What of the distribution is cut off, by the names that transformers, vLLM and servers have."""
        given = {"top_k": self.top_k, "top_p": self.top_p, "min_p": self.min_p}
        return {name: value for name, value in given.items() if value}

    @property
    def replies(self) -> int:
        """How many are asked for to get one answer."""
        return self.best_of or 1

    def named(self, model: str) -> str:
        """A row's name: the model's, how it draws, and last the seed of its training.

        >>> Sampling(best_of=4).named("own@1")
        'own best-of=4@1'
        """
        name, seed = without_seed(model)
        return f"{name} {self.text}".strip() + seed
