"""What came out of a study of arms: each measure over the seeds, the claims, and all of it as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sozo.scoring.statistics.seeds import SeedInterval, over_seeds
from sozo.tasks.dat.table11 import Table11
from study.arm import Arm
from study.claims import Values, Verdict, judge
from study.config import Study
from study.guards import NOBODY, Verdicts
from study.measures import MEASURES

Curves = Mapping[str, Sequence[tuple[float, float]]]  # (unique words, mean) by what was drawn


@dataclass(frozen=True)
class Result:
    """A study's table."""

    study: Study
    equal_size: int  # valid responses at which unique words are counted in every row and seed
    values: Mapping[str, Values]  # measure -> arm -> seed -> value
    verdicts: tuple[Verdict, ...]
    frontier: Curves  # at the same number of lists
    guarded: Verdicts = field(default_factory=dict)  # what the guards say of the rows

    @property
    def measures(self) -> list[str]:
        """Those that some row has."""
        given = {name: [v for seeds in arms.values() for v in seeds.values()] for name, arms in self.values.items()}
        return [name for name, values in given.items() if any(value is not None for value in values)]

    def interval(self, measure: str, arm: Arm) -> SeedInterval | None:
        """Over the seeds that have a number; None if none has."""
        given = {seed: value for seed, value in self.values[measure][arm.name].items() if value is not None}
        return over_seeds(given) if given else None

    def to_json(self) -> dict[str, Any]:
        """For `metrics.json`."""
        arms = {}
        for arm in self.study.rows:
            intervals = {name: self.interval(name, arm) for name in self.measures}
            measured = {
                name: {**(asdict(interval) if interval else {}), "by_seed": self.values[name][arm.name]}
                for name, interval in intervals.items()
            }
            arms[arm.name] = {"seeds": list(arm.seeds), **measured}
        verdicts = [
            {**asdict(v.claim), **(asdict(v.interval) if v.interval else {}), "verdict": v.verdict, "reason": v.reason}
            for v in self.verdicts
        ]
        said = {task: {row: v.to_json() for row, v in of_row.items()} for task, of_row in self.guarded.items()}
        facts = {"guards": said, "num_responses": self.study.num_responses, "equal_size": self.equal_size}
        return {**facts, "arms": arms, "claims": verdicts, "frontier": {k: list(v) for k, v in self.frontier.items()}}


def result(study: Study, table: Table11, frontier: Curves, guarded: Verdicts = NOBODY) -> Result:
    """The result of a study from the table of its rows (`study.at(arm, seed)`)."""
    rows = {row.summary.source: row for row in table.rows}
    values = {
        name: {arm.name: {seed: measure.of(rows[study.at(arm.name, seed)]) for seed in arm.seeds} for arm in study.rows}
        for name, measure in MEASURES.items()
    }
    verdicts = tuple(judge(claim, values[claim.measure]) for claim in study.claims)
    return Result(study, table.equal_size, values, verdicts, frontier, guarded)
