"""The paper's tables from judgements, on hand-worked numbers."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.jcq import CRITERIA, TASKS, Answer, Question
from rewards.judges.judgement import Judgement
from rewards.judges.protocol import Status
from rewards.tasks.jcq.tables import Cell, jcq_tables, model_scores

USES, STORIES = TASKS[0], TASKS[-1]
QUESTIONS = [Question("1", USES, "?"), Question("2", USES, "?"), Question("3", STORIES, "?")]


def judged(*values):
    scores = dict(zip(CRITERIA, values, strict=True)) if values else None
    return Judgement("k", "1", "a", "judge", "jcq-v1", Status.OK if scores else Status.REFUSED, scores)


def scored(model, *judgements_of_questions, questions=QUESTIONS):
    pairs = [(question.id, j) for question, many in zip(questions, judgements_of_questions, strict=True) for j in many]
    answers = [Answer(str(k), question_id, "...") for k, (question_id, _) in enumerate(pairs)]
    return model_scores(model, questions, answers, [j for _, j in pairs])


A = scored("A", [judged(5, 4, 3, 2)], [judged(3, 2, 1, 2)], [judged(1, 1, 1, 1)])
B = scored("B", [judged(2, 2, 2, 2), judged(4, 4, 4, 4), judged()], [None], [judged(5, 5, 5, 5)])


def test_model_by_criterion():
    table = jcq_tables([A, B]).model_by_criterion
    assert (table.rows, table.columns) == (("A", "B"), (*CRITERIA, "mean"))
    assert [cell.mean for cell in table.cells[0]] == pytest.approx([3, 7 / 3, 5 / 3, 5 / 3, 26 / 12])
    assert {(cell.scored, cell.asked) for cell in table.cells[0]} == {(3, 3)}
    # B's first question counts once, with the mean of its two scored answers, and its second not at all.
    assert table.cells[1] == (Cell(4.0, 3, 5),) * 5


def test_model_by_task():
    table = jcq_tables([A, B]).model_by_task
    assert table.columns == (*TASKS, "mean")
    assert table.cell("A", USES) == Cell(2.75, 2, 2)
    assert table.cell("A", STORIES) == Cell(1.0, 1, 1)
    assert table.cell("B", USES) == Cell(3.0, 2, 4)
    assert table.cell("B", "situation") == Cell(None, 0, 0)
    assert table.cell("B", "mean") == Cell(4.0, 3, 5)


def test_task_by_criterion_is_over_all_models():
    table = jcq_tables([A, B]).task_by_criterion
    assert table.rows == TASKS
    assert table.cell(USES, "fluency") == Cell(11 / 3, 4, 6)  # 5, 3 and B's 3
    assert table.cell(STORIES, "mean") == Cell(3.0, 2, 2)


def test_nothing_scored_is_no_mean():
    nothing = scored("C", [judged()], [None], [])
    tables = jcq_tables([nothing])
    assert tables.model_by_criterion.cells == ((Cell(None, 0, 2),) * 5,)
    assert [question.id for question in nothing.questions] == ["1", "2"]
    json.dumps([tables.to_json(), nothing.to_json()], allow_nan=False)
    assert jcq_tables([]).task_by_criterion.cell(USES, "mean") == Cell(None, 0, 0)


def test_to_json_says_what_was_scored():
    rows = B.to_json()["questions"]
    assert rows[0] == {"id": "1", "task": USES, "scored": 2, "asked": 3, "scores": dict.fromkeys(CRITERIA, 3.0)}
    assert rows[1]["scores"] is None
    assert jcq_tables([A]).to_json()["model_by_task"]["cells"][0][0] == {"mean": 2.75, "scored": 2, "asked": 2}


def test_refusals():
    with pytest.raises(ValueError, match="answer '0' is to question '9'"):
        model_scores("A", QUESTIONS, [Answer("0", "9", "...")], [None])
    with pytest.raises(ValueError, match="two models have one name"):
        jcq_tables([A, A])
    with pytest.raises(ValueError, match="shorter"):
        model_scores("A", QUESTIONS, [Answer("0", "1", "...")], [])


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 4), min_size=6, max_size=6))
def test_with_every_answer_scored_it_is_the_plain_mean(values):
    model = scored("A", *([judged(*v) for v in values[k : k + 2]] for k in (0, 2, 4)))
    [row] = jcq_tables([model]).model_by_criterion.cells
    assert [cell.mean for cell in row[:4]] == pytest.approx(np.mean(values, axis=0))
    assert row[4].mean == pytest.approx(np.mean(values))
