"""Who judges ideas: a plain judge, or one judge for each expert, who is shown what she gave before; and how.

They judge in the stages of the paper's experts: a later criterion is asked only where the gate before it was passed.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sozo.data.rubrics import Criterion
from sozo.scoring.judges.criterion import criterion_rubric, examples_text, read_verdict
from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import NOT_ASKED, JudgeSession, Judging
from sozo.tasks.pbig.rows import Opinion, gate, in_stages


@dataclass(frozen=True, slots=True)
class RatedIdea:
    """An idea with what one expert gave it."""

    patent: str  # the patent's id
    text: str  # patent and idea, as a prompt shows them
    scores: dict[str, int]  # by criterion


@dataclass(frozen=True, slots=True)
class Expert:
    """One point of view: which criteria it rates, and which ratings stand for it."""

    name: str
    criteria: tuple[Criterion, ...]
    history: tuple[RatedIdea, ...] = ()  # none of a plain judge
    shots: int = 0  # examples that are shown at most

    def examples(self, patent: str, criterion: Criterion | None = None) -> str:
        """The section of examples of a prompt about an idea for `patent`, by one criterion or by all.

        None of them is about that patent. The draw is a function of the names and the ratings, so that a run that is
        continued asks the same.
        """
        name = criterion.name if criterion else ""
        pool = [idea for idea in self.history if idea.patent != patent and (not name or name in idea.scores)]
        chosen = random.Random(f"{self.name}\0{name}\0{patent}").sample(pool, min(self.shots, len(pool)))
        return examples_text((idea.text, idea.scores[name] if name else json.dumps(idea.scores)) for idea in chosen)

    def describe(self) -> list[Any]:
        """What decides a judge's prompts, as JSON values."""
        return [self.name, self.shots, [[idea.patent, idea.text, idea.scores] for idea in self.history]]


Opinions = dict[tuple[str, str], Opinion]  # by the expert's name and the idea's id


def judge_in_stages(
    session: JudgeSession, experts: Sequence[Expert], ideas: Sequence[ToJudge], ledger: Path
) -> tuple[Opinions, Judging]:
    """Ask what the ledger lacks, stage by stage: the opinions, and all judging together.

    Of each of `ideas`, the question's id is the patent's; the question itself will be the expert's examples.
    """
    ledger.touch()  # also where no answer is an idea and nobody is asked: it is one of the run's files
    opinions: Opinions = {}
    for expert in experts:
        names = tuple(criterion.name for criterion in expert.criteria)
        opinions |= {(expert.name, idea.id): Opinion(names) for idea in ideas}
    total = Judging()
    criteria = {criterion.name: criterion for expert in experts for criterion in expert.criteria}
    for criterion in in_stages(criteria.values()):
        to_judge, about = [], []
        for expert in experts:
            for idea in ideas:
                opinion = opinions[expert.name, idea.id]
                if criterion in expert.criteria and gate(criterion, opinion.scores):
                    examples = expert.examples(idea.question_id, criterion)
                    row_id = f"{idea.id} {expert.name}"
                    to_judge.append(replace(idea, id=row_id, question=examples, group=expert.name))
                    about.append(opinion)
        if not to_judge:
            continue
        judging = session.judge_answers(criterion_rubric(criterion), to_judge, ledger)
        total.add(judging)
        for opinion, judgement in zip(about, judging.judgements, strict=True):
            _note(opinion, criterion, judgement)
        if judging.stopped:  # which gates are open is not known beyond this
            break
    return opinions, total


def _note(opinion: Opinion, criterion: Criterion, judgement: Judgement | None) -> None:
    if judgement is None or judgement.scores is None:
        opinion.failed[criterion.name] = NOT_ASKED if judgement is None else str(judgement.status)
        return
    opinion.scores[criterion.name] = judgement.scores[criterion.name]
    verdict = read_verdict(judgement.reply or "", criterion)
    if verdict:
        opinion.notes[criterion.name] = {"reason": verdict.reason, "confidence": verdict.confidence}
