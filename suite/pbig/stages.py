"""How a judge rates ideas: in the stages of the paper's experts, a later criterion only where its gate was passed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import NOT_ASKED, JudgeSession, Judging
from sozo.suite.pbig.rows import CRITERIA, gate, in_stages
from sozo.suite.rubrics import Criterion
from sozo.suite.rubrics.criterion import criterion_rubric, read_verdict


@dataclass
class Opinion:
    """What a judge says of one idea."""

    scores: dict[str, int] = field(default_factory=dict)  # by criterion
    # Criterion -> reason and confidence
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Criterion -> the status of a judgement without score
    failed: dict[str, str] = field(default_factory=dict)


def judge_in_stages(
    session: JudgeSession,
    ideas: Sequence[ToJudge],
    ledger: Path,
) -> tuple[dict[str, Opinion], Judging]:
    """Ask what the ledger lacks, stage by stage: the opinions by the ideas' ids, and all judging together.

    The question's id of an idea is its patent's.
    """
    ledger.touch()  # also where no answer is an idea and nobody is asked: it is one of the run's files
    opinions, total = {idea.id: Opinion() for idea in ideas}, Judging()
    for criterion in in_stages(CRITERIA):
        behind = [idea for idea in ideas if gate(criterion, opinions[idea.id].scores)]
        if not behind:
            continue
        judging = session.judge_answers(criterion_rubric(criterion), behind, ledger)
        total.add(judging)
        for idea, judgement in zip(behind, judging.judgements, strict=True):
            _note(opinions[idea.id], criterion, judgement)
        if judging.stopped:  # which gates are open is not known beyond this
            break
    return opinions, total


def _note(opinion: Opinion, criterion: Criterion, judgement: Judgement | None) -> None:
    if judgement is None or judgement.scores is None:
        opinion.failed[criterion.name] = (
            NOT_ASKED if judgement is None else str(judgement.status)
        )
        return
    opinion.scores[criterion.name] = judgement.scores[criterion.name]
    verdict = read_verdict(judgement.reply or "", criterion)
    if verdict:
        opinion.notes[criterion.name] = {
            "reason": verdict.reason,
            "confidence": verdict.confidence,
        }
