"""JCQ results: from judgements to means by criterion and by task (ACL, tables 3 to 5, 12, 13), each with its n of N."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sozo.scoring.final_text import STATES, answer_state
from sozo.scoring.judges.ledger import Judgement
from sozo.tasks.jcq.questions import CRITERIA, Question
from sozo.tasks.task import Answer


@dataclass(frozen=True, slots=True)
class MeanScore:
    """A mean beside what it rests on."""

    mean: float | None  # 1 to 5; None if nothing was scored
    scored: int  # n, answers with scores
    asked: int  # N, all answers that should have been judged, whatever became of them


@dataclass(frozen=True, slots=True, eq=False)
class ModelScores:
    """One model's scores, question by question: what means, intervals and comparisons are made of."""

    questions: tuple[Question, ...]  # those that have answers, in their order
    values: np.ndarray  # shape (questions, 4), 1 to 5: mean over the question's scored answers; NaN where there is none
    scored: np.ndarray  # shape (questions,): how many answers have scores
    asked: np.ndarray  # shape (questions,): how many answers there are


def model_scores(
    questions: Sequence[Question], answers: Sequence[Answer], judgements: Sequence[Judgement | None]
) -> ModelScores:
    """Gather one model's judgements, one for each answer (None where it was not asked), by question.

    A question's answers are averaged first: every question weighs the same, however many of them have scores.

    >>> from sozo.scoring.judges.protocol import Status
    >>> questions, answers = [Question("1", "situation", "?")], [Answer("a", "1", "x"), Answer("b", "1", "y")]
    >>> ok = Judgement("k", "1", "a", "judge", "jcq-v1", Status.OK, dict.fromkeys(CRITERIA, 4))
    >>> means([model_scores(questions, answers, [ok, None])])[0]
    MeanScore(mean=4.0, scored=1, asked=2)
    """
    place = {question.id: k for k, question in enumerate(questions)}
    sums = np.zeros((len(questions), len(CRITERIA)))
    scored, asked = np.zeros(len(questions), np.int64), np.zeros(len(questions), np.int64)
    for answer, judgement in zip(answers, judgements, strict=True):
        k = place[answer.item]
        asked[k] += 1
        if judgement is not None and judgement.scores is not None:
            sums[k] += [judgement.scores[criterion] for criterion in CRITERIA]
            scored[k] += 1
    answered = np.flatnonzero(asked).tolist()
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN of a question without scores
        values = sums[answered] / scored[answered, None]
    return ModelScores(tuple(questions[k] for k in answered), values, scored[answered], asked[answered])


def means(models: Sequence[ModelScores], task: str | None = None) -> tuple[MeanScore, ...]:
    """Over all models' questions, or those of one task: a cell for each criterion, and the last for their mean."""
    values, scored, asked = [np.zeros((0, len(CRITERIA)))], 0, 0
    for scores in models:
        of_task = np.array([task in (None, question.task) for question in scores.questions], bool)
        values.append(scores.values[of_task & (scores.scored > 0)])
        scored += int(scores.scored[of_task].sum())
        asked += int(scores.asked[of_task].sum())
    rows = np.concatenate(values)
    if not len(rows):
        return (MeanScore(None, scored, asked),) * (len(CRITERIA) + 1)
    by_criterion = rows.mean(axis=0)
    return tuple(MeanScore(float(mean), scored, asked) for mean in (*by_criterion, by_criterion.mean()))


def question_means(models: Sequence[ModelScores], task: str) -> np.ndarray:
    """Of a task's questions the mean over those models that have scores: shape (questions, 5), the last of all four."""
    by_question: dict[str, list[np.ndarray]] = {}
    for scores in models:
        for question, values, scored in zip(scores.questions, scores.values, scores.scored, strict=True):
            if question.task == task and scored:
                by_question.setdefault(question.id, []).append(values)
    rows = np.array([np.mean(values, axis=0) for values in by_question.values()]).reshape(-1, len(CRITERIA))
    return np.column_stack([rows, rows.mean(axis=1)])


def answer_states(answers: Sequence[Answer]) -> dict[str, int]:
    """How many answers are whole, how many were cut off, and so on: a judge gives scores to all of them alike."""
    count = Counter(answer_state(answer.text, answer.finish_reason) for answer in answers)
    return {state: count[state] for state in STATES}


def judged_by(judgements: Sequence[Judgement | None]) -> list[dict[str, Any]]:
    """How many judgements came from which model, in the server's own words and in which set-up; most first."""
    count = Counter((line.reply_model, line.fingerprint) for line in judgements if line and line.reply)
    return [{"model": m, "fingerprint": f, "judgements": n} for (m, f), n in count.most_common()]


def length_and_score(answers: Sequence[Answer], judgements: Sequence[Judgement | None]) -> dict[str, Any]:
    """Spearman's correlation of an answer's characters and its mean score, over the n answers that have one.

    `r` is None with fewer than three, or where all are alike.
    """
    from scipy.stats import spearmanr

    pairs = [
        (len(answer.text), sum(judgement.scores.values()))
        for answer, judgement in zip(answers, judgements, strict=True)
        if judgement and judgement.scores
    ]
    lengths, scores = ({pair[k] for pair in pairs} for k in (0, 1))
    differ = len(pairs) > 2 and len(lengths) > 1 and len(scores) > 1
    return {"r": float(spearmanr(pairs).statistic) if differ else None, "n": len(pairs)}
