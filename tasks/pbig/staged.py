"""Judging in the stages of the paper's experts: a later criterion is asked only where the gate before it was passed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sozo.data.rubrics import Criterion
from sozo.scoring.judges.criterion import criterion_rubric, read_verdict
from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import Asked, Judge, Status
from sozo.scoring.judges.run import NOT_ASKED, Judging, judge_with_bar
from sozo.tasks.pbig.experts import Expert
from sozo.tasks.pbig.settings import PbigSettings
from sozo.tasks.pbig.worth import gate, stages


@dataclass(frozen=True, slots=True)
class Target:
    """An idea to be judged."""

    id: str  # unique among the ideas
    patent: str  # the patent's id
    text: str  # patent and idea, as a prompt shows them


@dataclass
class Opinion:
    """What one expert's judge says of one idea."""

    criteria: tuple[str, ...]  # what the expert rates
    scores: dict[str, int] = field(default_factory=dict)  # by criterion
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)  # criterion -> reason and confidence
    failed: dict[str, str] = field(default_factory=dict)  # criterion -> the status of a judgement without score


@dataclass
class Bill:
    """All judgements together, for `metrics.json`."""

    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*map(str, Status), NOT_ASKED), 0))
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unknown_cost: int = 0
    cost_at_most: float = 0.0

    def add(self, judged: Judging) -> None:
        """Count one more set of judgements."""
        for status, n in judged.statuses.items():
            self.statuses[status] += n
        self.prompt_tokens += judged.prompt_tokens
        self.completion_tokens += judged.completion_tokens
        self.cost += judged.cost
        self.unknown_cost += judged.unknown_cost
        self.cost_at_most += judged.cost_at_most


@dataclass
class Staged:
    """What came of judging."""

    opinions: Mapping[tuple[str, str], Opinion]  # by the expert's name and the idea's id
    bill: Bill = field(default_factory=Bill)
    stopped: str | None = None  # why not everything was asked; None if it was


def judge_in_stages(
    judge: Judge,
    experts: Sequence[Expert],
    targets: Sequence[Target],
    ledger: Path,
    settings: PbigSettings,
    left: float | None,
) -> Staged:
    """Ask what the ledger lacks, stage by stage, for as much money as is `left` (None: no limit)."""
    ledger.touch()  # also where no answer is an idea and nobody is asked: it is one of the run's files
    result = Staged({(e.name, t.id): Opinion(tuple(c.name for c in e.criteria)) for e in experts for t in targets})
    criteria = {criterion.name: criterion for expert in experts for criterion in expert.criteria}
    for criterion in (criterion for stage in stages(tuple(criteria.values())) for criterion in stage):
        open_to = [
            (expert, target)
            for expert in experts
            for target in targets
            if criterion in expert.criteria and gate(criterion, result.opinions[expert.name, target.id].scores)
        ]
        if not open_to:
            continue
        asked = [_asked(expert, criterion, target) for expert, target in open_to]
        judged = judge_with_bar(judge, criterion_rubric(criterion), asked, ledger, settings, left)
        result.bill.add(judged)
        left = None if left is None else max(0.0, left - judged.cost_at_most)
        for (expert, target), judgement in zip(open_to, judged.judgements, strict=True):
            _note(result.opinions[expert.name, target.id], criterion, judgement)
        if judged.stopped:  # which gates are open is not known beyond this
            result.stopped = judged.stopped
            break
    return result


def _asked(expert: Expert, criterion: Criterion, target: Target) -> Asked:
    examples = expert.examples(target.patent, criterion)
    return Asked(f"{target.id} {expert.name}", target.patent, examples, target.text, expert.name)


def _note(opinion: Opinion, criterion: Criterion, judgement: Judgement | None) -> None:
    if judgement is None or judgement.scores is None:
        opinion.failed[criterion.name] = NOT_ASKED if judgement is None else str(judgement.status)
        return
    opinion.scores[criterion.name] = judgement.scores[criterion.name]
    verdict = read_verdict(judgement.reply or "", criterion)
    if verdict:
        opinion.notes[criterion.name] = {"reason": verdict.reason, "confidence": verdict.confidence}
