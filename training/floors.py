"""Floors of a training run: a measure that falls below a number, or rises above one, is said or stops the run."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import settings_of

logger = logging.getLogger(__name__)
_ACTIONS = ("warn", "stop")


@dataclass(frozen=True)
class Floor:
    """What must hold of one measure, whoever logs it: the evaluation, the trainer, or a reward."""

    measure: str = ""
    least: float | None = None
    most: float | None = None
    action: str = "warn"

    def broken(self, value: float) -> str | None:
        """What is wrong with a value; None if nothing is.

        >>> Floor("dat/valid", least=0.5).broken(0.25)
        'dat/valid is 0.25, below 0.5'
        """
        if self.least is not None and not value >= self.least:
            return f"{self.measure} is {value:.4g}, below {self.least:g}"
        if self.most is not None and not value <= self.most:
            return f"{self.measure} is {value:.4g}, above {self.most:g}"
        return None


def read_floors(given: Any) -> tuple[Floor, ...]:
    """The floors of a list of mappings, such as `{measure: entropy, least: 0.5, action: stop}`."""
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise UserError("evaluate: floors must be a list such as [{measure: dat/valid, least: 0.5, action: stop}]")
    floors = tuple(settings_of(Floor, each) for each in given)
    for floor in floors:
        ends = [end for end in (floor.least, floor.most) if end is not None]
        if not floor.measure or not ends or not all(type(end) in (int, float) for end in ends):
            raise UserError("evaluate: a floor needs a measure, and a number as least or as most")
        if floor.action not in _ACTIONS:
            raise UserError(f"evaluate: floor of {floor.measure}: action must be warn or stop, not {floor.action}")
    return floors


class FloorWatch:
    """Looks at what is logged; says once that a floor is broken, and again only after it held in between."""

    def __init__(self, floors: Iterable[Floor], *, say: bool) -> None:
        self._floors, self._say = tuple(floors), say
        self._seen: set[Floor] = set()
        self._broken: set[Floor] = set()

    def stop(self, values: Mapping[str, Any], step: int) -> str | None:
        """Why the run must stop; None if it need not."""
        reasons = []
        for floor in (floor for floor in self._floors if isinstance(values.get(floor.measure), int | float)):
            self._seen.add(floor)
            wrong = floor.broken(values[floor.measure])
            if wrong and floor not in self._broken and self._say:
                logger.warning("step %d: %s%s", step, wrong, "; training stops" * (floor.action == "stop"))
            (self._broken.add if wrong else self._broken.discard)(floor)
            if wrong and floor.action == "stop":
                reasons.append(f"step {step}: {wrong}")
        return "; ".join(reasons) or None

    def finish(self) -> None:
        """Say which floors nobody could look at."""
        for floor in (floor for floor in self._floors if floor not in self._seen and self._say):
            logger.warning("floor of %s: nothing of this name was logged", floor.measure)
