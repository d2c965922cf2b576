"""Who judges ideas: a plain judge, or one judge for each expert, who is shown what she gave before; and how.

They judge in the stages of the paper's experts: a later criterion is asked only where the gate before it was passed.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.ratings import read_any_ratings
from sozo.data.rubrics import Criterion, RatingRubric
from sozo.scoring.judges.criterion import criterion_rubric, examples_text, read_verdict
from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import NOT_ASKED, JudgeSession, Judging
from sozo.tasks.pbig.ideas import rated_text, read_ideas, read_patents, trial_file
from sozo.tasks.pbig.rows import Opinion, gate, in_stages


@dataclass(frozen=True, slots=True)
class Rated:
    """One score that an expert gave."""

    rater: str
    item: str
    patent: str
    domain: str
    criterion: str
    score: int
    text: str  # what was rated, as a prompt shows it

    @property
    def id(self) -> str:
        """Unique among the ratings."""
        return f"{self.item} {self.criterion} {self.rater}"


def read_rated(
    ratings: str | Path | None, ideas: str | Path | None, patents: str | Path | None, rubric: RatingRubric
) -> list[Rated]:
    """The ratings of a file, in order, with the ideas that were rated and their patents; a domain may be the patent's.

    Without any of the files they are the trial's, whose experts are a rule.
    """
    files = {"ratings.csv": ratings, "ideas.jsonl": ideas, "technologies.jsonl": patents}
    if any(files.values()) and not all(files.values()):
        raise UserError("the files of ratings, of the ideas and of their patents go together; give all three")
    path, ideas, patents = (Path(file or trial_file(name)) for name, file in files.items())
    patent_of = {patent.id: patent for patent in read_patents(patents)}
    by_id = {idea.id: idea for idea in read_ideas(ideas, patent_of)}
    result: dict[str, Rated] = {}
    for rating in read_any_ratings(path, rubric):
        if (idea := by_id.get(rating.item)) is None:
            raise UserError(f"{path}: rates the item {rating.item!r}, which is not among the ideas; give its line")
        patent = patent_of[idea.patent]
        if rating.patent not in ("", patent.id):
            two = f"is of the patent {rating.patent!r}, and of {patent.id!r} among the ideas"
            raise UserError(f"{path}: the item {rating.item!r} {two}; correct one of them")
        domain, text = rating.domain or patent.domain, rated_text(patent, idea)
        rated = Rated(rating.rater, rating.item, patent.id, domain, rating.criterion, int(rating.score), text)
        if rated.id in result:
            raise UserError(f"{path}: {rated.rater!r} rates {rated.criterion} of {rated.item!r} twice; keep one")
        result[rated.id] = rated
    return list(result.values())


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
