"""A language model grades rewrites from 1 to 5 (paper, appendix C and Table 22; there GPT-4o).

A rewrite is judged as JCQ's answers are (`rewards.judges`), with the story as the question: every reply is one line of a
ledger, and what cannot be read as a grade never becomes a score and never vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.jcq import Answer, Question
from data.rewrites import Rewrite
from data.stories import Story
from rewards.judges import SAT_PROMPT, Judge, Judgement, Judging, Price, judge_answers
from rewards.judges.prompts import SAT_CRITERIA
from rewards.judges.run import NOT_ASKED
from rewards.tasks.sat.score import what_counts

MAX_GRADE = 5
NO_REWRITE = "no_rewrite"  # nothing to judge (empty, or half a reasoning block): never asked


@dataclass(frozen=True, slots=True)
class JudgedRewrite:
    """What a judge said of one rewrite.

    Attributes:
        rewrite_id: Of the rewrite, among its model's.
        story_id: Of its story.
        status: An `rewards.judges.Status` value, `not_asked` or `no_rewrite`.
        grade: 1 to 5; None unless `status` is ok.
    """

    rewrite_id: str
    story_id: str
    status: str
    grade: int | None

    @property
    def score(self) -> float | None:
        """The grade divided by 5, 0.2 to 1, as in Table 23; None without a grade.

        >>> JudgedRewrite("momotaro-0", "momotaro", "ok", 4).score
        0.8
        """
        return None if self.grade is None else self.grade / MAX_GRADE


@dataclass(frozen=True, slots=True)
class SatJudging:
    """What holds after judging.

    Attributes:
        by_model: Each model's rewrites, in order.
        judging: Of the rewrites that there was something to ask about: statuses, tokens, cost, why it stopped.
    """

    by_model: dict[str, tuple[JudgedRewrite, ...]]
    judging: Judging


def judge_rewrites(
    judge: Judge,
    rewrites: Mapping[str, Sequence[Rewrite]],
    stories: Mapping[str, Story],
    path: Path,
    *,
    price: Price | None = None,
    max_cost: float | None = None,
    retry_failed: bool = False,
    on_judgement: Callable[[Judgement], None] | None = None,
) -> SatJudging:
    """Ask the judge for the grade of every rewrite that the ledger at `path` has no judgement for.

    Equal rewrites of one story, by whichever models, are asked about once.

    Args:
        judge: Who judges.
        rewrites: Model -> its rewrites.
        stories: Id -> story, of every rewrite's.
        path: The ledger; see `rewards.judges.run.judge_answers_async`, as for the rest.
        price: Of the judge's tokens.
        max_cost: Nothing is sent that could cost more than this in all.
        retry_failed: Ask again for everything that has no grade.
        on_judgement: Called after each line is written.

    Raises:
        JudgeError: The judge cannot be used. What was judged is kept.
        LedgerError: The ledger is in use or cannot be read or written.
        KeyError: A rewrite's story is not among `stories`.
    """
    # What is judged is what is embedded: a judge that reads the reasoning too judges something else.
    wanted = {
        model: [Answer(f"{model}/{row.id}", row.story_id, text) for row in rows if (text := judged_text(row))]
        for model, rows in rewrites.items()
    }
    asked = [answer for answers in wanted.values() for answer in answers]
    judging = judge_answers(
        judge,
        [Question(story_id, "sat", stories[story_id].text) for story_id in dict.fromkeys(a.question_id for a in asked)],
        asked,
        path,
        prompt=SAT_PROMPT,
        price=price,
        max_cost=max_cost,
        retry_failed=retry_failed,
        on_judgement=on_judgement,
    )
    held = {answer.id: judgement for answer, judgement in zip(asked, judging.judgements, strict=True)}
    return SatJudging({m: tuple(_judged(m, row, held) for row in rows) for m, rows in rewrites.items()}, judging)


def judged_text(rewrite: Rewrite) -> str:
    """What of a rewrite is judged; empty where there is nothing to judge.

    >>> judged_text(Rewrite("a", "1", "<think>鶴か</think> 昔々")), judged_text(Rewrite("b", "1", "…"))
    ('昔々', '')
    """
    text, reason = what_counts(rewrite.text)
    return "" if reason else text


def _judged(model: str, row: Rewrite, held: Mapping[str, Judgement | None]) -> JudgedRewrite:
    key = f"{model}/{row.id}"
    if key not in held:
        return JudgedRewrite(row.id, row.story_id, NO_REWRITE, None)
    judgement = held[key]
    if judgement is None:
        return JudgedRewrite(row.id, row.story_id, NOT_ASKED, None)
    grade = judgement.scores[SAT_CRITERIA[0]] if judgement.scores else None
    return JudgedRewrite(row.id, row.story_id, str(judgement.status), grade)
