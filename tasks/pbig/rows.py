"""A judged answer as a line of `ideas.jsonl`, and its values by the task's measures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean

from sozo.data.jsonl import read_objects, write_objects
from sozo.data.rubrics import Criterion, load_rubric
from sozo.scoring.judges.run import NOT_ASKED
from sozo.scoring.measure import Measure
from sozo.tasks.pbig.staged import Opinion
from sozo.tasks.pbig.worth import worth

CRITERIA: tuple[Criterion, ...] = load_rubric("pbig").criteria
# Shares of ideas that pass a gate, by the criterion that it is: what an idea must have to be rated further.
GATES = {"specificity": "pbig/specific", "technical_validity": "pbig/feasible"}
WORTH, DISTANCE, SAME_TITLE = "pbig/worth", "pbig/distance", "pbig/same_title"
BY_CRITERION = {criterion.name: f"pbig/{criterion.name}" for criterion in CRITERIA}
MEASURES = (
    Measure(WORTH, 3),
    *(Measure(name, share=True) for name in GATES.values()),
    *(Measure(name, 2, group="axis_changes") for name in BY_CRITERION.values()),
    Measure(DISTANCE),
    Measure(SAME_TITLE, share=True, better=-1),
)


@dataclass(frozen=True)
class JudgedIdea:
    """One answer: an idea with what each expert's judge said of it, or the reason why it is none."""

    id: str
    item: str  # the patent's id
    text: str  # as it was written
    finish_reason: str | None = None
    reason: str | None = None  # why it is no idea
    fields: Mapping[str, str] | None = None
    cut: Sequence[str] = ()  # the fields that were too long
    opinions: Mapping[str, Opinion] = field(default_factory=dict)  # by expert; `judge` where nobody is imitated

    @property
    def status(self) -> str | None:
        """Why it has no worth: a reason, or how a judgement ended; None if it has one."""
        if self.reason is not None or any(self.worth(expert) is not None for expert in self.opinions):
            return self.reason
        failed = (status for opinion in self.opinions.values() for status in opinion.failed.values())
        return next(failed, NOT_ASKED)

    def values(self) -> dict[str, float]:
        """By the measures' names, each the mean over the experts who have it; not what takes several ideas."""
        every = [opinion.scores for opinion in self.opinions.values()]
        values = {
            name: _mean(float(s[gate] > _passing(gate)) if gate in s else None for s in every)
            for gate, name in GATES.items()
        }
        values[WORTH] = _mean(self.worth(expert) for expert in self.opinions)
        values |= {name: _mean(s.get(criterion) for s in every) for criterion, name in BY_CRITERION.items()}
        return {name: value for name, value in values.items() if value is not None}

    def worth(self, expert: str) -> float | None:
        """What it is worth to an expert, 0 to 1, by the criteria that she rates; None without her scores."""
        if (opinion := self.opinions.get(expert)) is None:
            return None
        return worth(opinion.scores, [criterion for criterion in CRITERIA if criterion.name in opinion.criteria])


def _passing(gate: str) -> int:
    """The score above which an idea is rated further."""
    return min(criterion.above[gate] for criterion in CRITERIA if criterion.above and gate in criterion.above)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def write_rows(path: Path, rows: Iterable[JudgedIdea]) -> None:
    """Write judged answers, whole or not at all."""
    write_objects(path, map(asdict, rows))


def read_rows(path: Path) -> list[JudgedIdea]:
    """What `write_rows` wrote."""
    rows = []
    for _, row in read_objects(path):
        opinions = {name: Opinion(**opinion) for name, opinion in row.pop("opinions").items()}
        rows.append(JudgedIdea(**row, opinions=opinions))
    return rows
