"""The paper's tables from judgements, on hand-worked numbers."""

import pytest

from finished_runs import JUDGE, given_jcq, write_run
from sozo.scoring.judges.run import NOT_ASKED
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question
from sozo.tasks.jcq.run_result import ALL, MEAN, JcqRunResult, measure_of
from sozo.tasks.jcq.task import Jcq
from sozo.tasks.task import Answer, Item, Row

USES, STORIES = TASKS[0], TASKS[-1]
QUESTIONS = [
    Question("1", USES, "?"),
    Question("2", USES, "??"),
    Question("3", STORIES, "???"),
]


def run_of(folder, *of_questions):
    """A run whose questions got these scores: of each a list of what its answers got."""
    scores = dict(zip("123", of_questions, strict=False))
    given_jcq(folder, "m", scores, questions=QUESTIONS)
    return JcqRunResult("jcq", Jcq.measures[0], folder, {"judge": JUDGE}, {}, {})


@pytest.fixture
def a(tmp_path):
    return run_of(tmp_path / "a", [(5, 4, 3, 2)], [(3, 2, 1, 2)], [(1, 1, 1, 1)])


@pytest.fixture
def b(tmp_path):
    return run_of(
        tmp_path / "b", [(2, 2, 2, 2), (4, 4, 4, 4), None], [None], [(5, 5, 5, 5)]
    )


def cells(task, run):
    """The row of a task: mean, n and N of each criterion, and of all four."""
    of_row = [run.cell(measure_of(task, name)) for name in (*CRITERIA, MEAN)]
    return [(cell.value, cell.estimate.n, cell.of) for cell in of_row]


def test_a_model_by_criterion_and_by_task(a, b):
    assert [value for value, *_ in cells(ALL, a)] == pytest.approx(
        [3, 7 / 3, 5 / 3, 5 / 3, 26 / 12]
    )
    # B's first question counts once, with the mean of its two scored answers, and its second not at all.
    assert cells(ALL, b) == [(4.0, 2, 3)] * 5
    assert b.by_item(measure_of(ALL, MEAN)) == {"1": 3.0, "2": None, "3": 5.0}
    means = [cells(task, run)[-1] for run in (a, b) for task in (USES, STORIES)]
    assert means == [(2.75, 2, 2), (1.0, 1, 1), (3.0, 1, 2), (5.0, 1, 1)]
    assert cells("situation", b)[-1] == (None, 0, 0)


@pytest.mark.parametrize(("count", "ends"), [(9, (None, None)), (10, (2.418, 5.0))])
def test_means_of_fewer_than_ten_questions_have_no_interval(tmp_path, count, ends):
    questions = [Question(str(k), USES, f"?{k}") for k in range(count)]
    given_jcq(
        tmp_path,
        "m",
        {q.id: [(1 + 4 * (k % 4 > 0),) * 4] for k, q in enumerate(questions)},
        questions=questions,
    )
    run = JcqRunResult("jcq", Jcq.measures[0], tmp_path, {"judge": JUDGE}, {}, {})
    found = run.cell(measure_of(USES, MEAN)).estimate
    assert (found.low, found.high) == (
        ends if ends[0] is None else pytest.approx(ends, abs=1e-3)
    )


def test_nothing_scored_is_no_mean(tmp_path):
    assert cells(ALL, run_of(tmp_path, [None], [None])) == [(None, 0, 3)] * 5


def about(folder, answers, values=None):
    """A run of these answers, each with one value or none."""
    rows = [
        Row({"jcq/mean": value}) if value else Row(reason=NOT_ASKED)
        for value in values or [None] * len(answers)
    ]
    items = [Item("1", "?", group=USES)]
    write_run(folder, Jcq(Jcq.Settings(judgements="x")), items, answers, rows)
    return JcqRunResult("jcq", Jcq.measures[0], folder, {}, {}, {})


def test_answers_have_a_state_too(tmp_path):
    answers = [
        Answer("0", "1", "案", finish_reason="length"),
        Answer("1", "1", " 。"),
        Answer("2", "1", "申し訳ありませんが、お答えできません。"),
        Answer("3", "1", "", finish_reason="error"),
        Answer("4", "1", "案"),
    ]
    states = about(tmp_path, answers).states
    assert states == {
        **dict.fromkeys(("complete", "cut", "refusal", "no_text", "error"), 1),
        **dict.fromkeys(("filtered", "wrong_form"), 0),
    }


@pytest.mark.parametrize(
    ("values", "r", "n"),
    [
        ((1, 2, 3, 4), 1, 4),
        ((3, 2, 1, None), -1, 3),
        ((1, 2, None, None), None, 2),
        ((3, 3, 3, 3), None, 4),
    ],
)
def test_score_against_length(values, r, n, tmp_path):
    answers = [
        Answer(str(k), "1", "案" * length) for k, length in enumerate((1, 5, 20, 300))
    ]
    assert about(tmp_path, answers, values).length_and_score() == {
        "r": r and pytest.approx(r),
        "n": n,
    }
