"""The paper's tables from judgements, on hand-worked numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import Status
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question
from sozo.tasks.jcq.tables import MeanScore, answer_states, length_and_score, means, model_scores, question_means
from sozo.tasks.task import Answer

USES, STORIES = TASKS[0], TASKS[-1]
QUESTIONS = [Question("1", USES, "?"), Question("2", USES, "?"), Question("3", STORIES, "?")]


def judged(*values):
    scores = dict(zip(CRITERIA, values, strict=True)) if values else None
    return Judgement("k", "1", "a", "judge", "jcq-v1", Status.OK if scores else Status.REFUSED, scores)


def scored(*judgements_of_questions, questions=QUESTIONS):
    pairs = [(question.id, j) for question, many in zip(questions, judgements_of_questions, strict=True) for j in many]
    answers = [Answer(str(k), question_id, "...") for k, (question_id, _) in enumerate(pairs)]
    return model_scores(questions, answers, [j for _, j in pairs])


A = scored([judged(5, 4, 3, 2)], [judged(3, 2, 1, 2)], [judged(1, 1, 1, 1)])
B = scored([judged(2, 2, 2, 2), judged(4, 4, 4, 4), judged()], [None], [judged(5, 5, 5, 5)])


def test_model_by_criterion():
    cells = means([A])
    assert [cell.mean for cell in cells] == pytest.approx([3, 7 / 3, 5 / 3, 5 / 3, 26 / 12])
    assert {(cell.scored, cell.asked) for cell in cells} == {(3, 3)}
    # B's first question counts once, with the mean of its two scored answers, and its second not at all.
    assert means([B]) == (MeanScore(4.0, 3, 5),) * 5


def test_model_by_task():
    assert means([A], USES)[-1] == MeanScore(2.75, 2, 2)
    assert means([A], STORIES)[-1] == MeanScore(1.0, 1, 1)
    assert means([B], USES)[-1] == MeanScore(3.0, 2, 4)
    assert means([B], "situation")[-1] == MeanScore(None, 0, 0)


def test_task_by_criterion_is_over_all_models():
    assert means([A, B], USES)[0] == MeanScore(11 / 3, 4, 6)  # 5, 3 and B's 3
    assert means([A, B], STORIES)[-1] == MeanScore(3.0, 2, 2)


def test_questions_are_shared_by_the_models():
    # The first: 5, 4, 3, 2 and B's 3 of each. The second has scores of A alone.
    assert question_means([A, B], USES) == pytest.approx(np.array([[4, 3.5, 3, 2.5, 3.25], [3, 2, 1, 2, 2]]))
    assert question_means([A], "situation").shape == (0, 5)


def test_nothing_scored_is_no_mean():
    nothing = scored([judged()], [None], [])
    assert means([nothing]) == (MeanScore(None, 0, 2),) * 5
    assert [question.id for question in nothing.questions] == ["1", "2"]
    assert means([], USES)[-1] == MeanScore(None, 0, 0)


def test_a_judgement_for_each_answer():
    with pytest.raises(ValueError, match="shorter"):
        model_scores(QUESTIONS, [Answer("0", "1", "...")], [])


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 4), min_size=6, max_size=6))
def test_with_every_answer_scored_it_is_the_plain_mean(values):
    *cells, mean = means([scored(*([judged(*v) for v in values[k : k + 2]] for k in (0, 2, 4)))])
    assert [cell.mean for cell in cells] == pytest.approx(np.mean(values, axis=0))
    assert mean.mean == pytest.approx(np.mean(values))


def test_answers_have_a_state_too():
    reasons = {"whole": ("stop", None), "truncated": ("length",), "filtered": ("content_filter",), "error": ("abort",)}
    answers = [Answer(f"{k}-{reason}", "1", "案", finish_reason=reason) for k in reasons for reason in reasons[k]]
    answers += [Answer("6", "1", " 。"), Answer("7", "1", "<think>案"), Answer("8", "1", "", finish_reason="length")]
    assert answer_states(answers) == {"whole": 2, "truncated": 2, "filtered": 1, "error": 1, "empty": 2}


def test_score_against_length():
    answers = [Answer(str(k), "1", "案" * length) for k, length in enumerate((1, 5, 20, 300))]

    def alike(*values):
        return [value and SimpleNamespace(scores=dict.fromkeys(CRITERIA, value)) for value in values]

    assert length_and_score(answers, alike(1, 2, 3, 4)) == {"r": pytest.approx(1), "n": 4}
    assert length_and_score(answers, alike(3, 2, 1, None)) == {"r": pytest.approx(-1), "n": 3}
    for nothing in (alike(1, 2, None, None), alike(3, 3, 3, 3), alike(None, None, None, None)):
        assert length_and_score(answers, nothing)["r"] is None
