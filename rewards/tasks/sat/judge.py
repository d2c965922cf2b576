"""A language model grades rewrites from 1 to 5 (paper, appendix C and Table 22; there GPT-4o).

The story is the question, the rewrite its answer (`rewards.judges`): every reply is one line of a ledger, and what
cannot be read as a grade never becomes a score and never vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.rewrites import Rewrite
from data.stories import Story
from rewards.judges.judgement import Judgement
from rewards.judges.price import Price
from rewards.judges.protocol import Judge
from rewards.judges.rubric import Asked
from rewards.judges.run import NOT_ASKED, Judging, judge_answers
from rewards.tasks.sat.rubric import CRITERION, SAT_V1
from rewards.tasks.sat.score import what_counts

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
        return None if self.grade is None else self.grade / SAT_V1.highest


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
        path: The ledger; see `rewards.judges.run.judge_answers`, as for the rest.
        price: Of the judge's tokens.
        max_cost: Nothing is sent that could cost more than this in all.
        retry_failed: Ask again for everything that has no grade.
        on_judgement: Called after each line is written.

    Raises:
        UserError: The judge or the ledger cannot be used. What was judged is kept.
        KeyError: A rewrite's story is not among `stories`.
    """
    # What is judged is what is embedded: a judge that reads the reasoning too judges something else.
    asked = [
        Asked(f"{model}/{row.id}", row.story_id, stories[row.story_id].text, text)
        for model, rows in rewrites.items()
        for row in rows
        if (text := judged_text(row))
    ]
    judging = judge_answers(
        judge,
        SAT_V1,
        asked,
        path,
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
    grade = judgement.scores[CRITERION] if judgement.scores else None
    return JudgedRewrite(row.id, row.story_id, str(judgement.status), grade)
