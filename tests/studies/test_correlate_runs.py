"""`sozo correlate DIR...`: Tables 8, 9 and 10 of finished runs, by hand and as a user runs it."""

import json

import numpy as np
import pytest

from command_line import sozo
from finished_runs import (
    JUDGE,
    QUESTION_OF_TASK,
    SCORES,
    given_dat,
    given_jcq,
    given_sat,
)
from sentences import refused
from sixty_answers import scores_by
from sozo.data.published import load
from sozo.scoring.statistics import holm
from sozo.studies.correlate.run import correlate_models, correlate_raters
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question

MODELS = [row["model"] for row in load("dat")]
RNG = np.random.default_rng(0)
GRADES = {
    model: RNG.integers(1, 6, (7, 4)) for model in MODELS
}  # model -> task x criterion


def write_study(folder):
    """The paper's five models with its DAT and SAT scores, grades of one question for each task, and random nouns."""
    for model, dat, sat in zip(MODELS, load("dat"), load("sat"), strict=True):
        given_dat(folder / model / "dat", model, dat["score"])
        given_sat(
            folder / model / "sat",
            model,
            {"桃": sat["score"] + 0.01, "鶴": sat["score"] - 0.01, "犬": None},
        )
        grades = {
            q.id: [tuple(map(int, row))]
            for q, row in zip(QUESTION_OF_TASK, GRADES[model], strict=True)
        }
        given_jcq(folder / model / "jcq", model, grades)
    given_dat(folder / "random", "random", 0.555)
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def result(study, tmp_path_factory):
    run = correlate_models([str(study)], tmp_path_factory.mktemp("out") / "o")
    return json.loads((run.path / "correlations.json").read_text("utf-8")), run


def cell(table, task, criterion):
    (found,) = [
        one for one in table if (one["task"], one["criterion"]) == (task, criterion)
    ]
    return found


@pytest.mark.parametrize(("table", "other"), [("table_9", "dat"), ("table_10", "sat")])
def test_every_cell_is_numpys_correlation_of_the_models_means(result, table, other):
    cells = result[0][table]
    assert len(cells) == 40
    scores = [row["score"] for row in load(other)]
    for k, task in enumerate(TASKS):
        for i, criterion in enumerate(CRITERIA):
            column = [GRADES[model][k, i] for model in MODELS]
            found = cell(cells, task, criterion)
            if len(set(column)) == 1:
                assert found["r"] is None
                continue
            assert found["r"] == pytest.approx(
                np.corrcoef(column, scores)[0, 1], abs=1e-6
            )
            assert (found["n"], found["of"]) == (5, 5)
        means = [GRADES[model][k].mean() for model in MODELS]
        assert cell(cells, task, "mean")["r"] == pytest.approx(
            np.corrcoef(means, scores)[0, 1], abs=1e-6
        )
    everything = [GRADES[model].mean() for model in MODELS]
    assert cell(cells, "All", "mean")["r"] == pytest.approx(
        np.corrcoef(everything, scores)[0, 1], abs=1e-6
    )
    assert [one["p_holm"] for one in cells] == holm([one["p"] for one in cells])
    paper = load(f"jcq_{other}_correlation")
    assert [one["paper"] for one in cells] == [row["pearson"] for row in paper]


def test_a_model_that_lacks_a_benchmark_or_a_cell_is_left_out_of_it(tmp_path):
    for k, name in enumerate("abcd"):
        given_dat(tmp_path / name / "dat", name, 0.5 + 0.01 * k)
        good = (1 + k, 2, 3, 4)
        grades = {q.id: [good, None] for q in QUESTION_OF_TASK}
        if k == 3:
            grades["1"] = [None]  # nothing of unusual uses could be read
        given_jcq(tmp_path / name / "jcq", name, grades)
    given_sat(tmp_path / "a" / "sat", "a", {"桃": 0.5})
    run = correlate_models([str(tmp_path)], tmp_path / "out")
    values = json.loads((run.path / "correlations.json").read_text("utf-8"))
    assert (values["table_10"], values["dat_sat"]) == (None, None)
    assert "1 of the models have both: a correlation needs 3." in run.page
    first, other = (
        cell(values["table_9"], TASKS[0], "fluency"),
        cell(values["table_9"], TASKS[1], "fluency"),
    )
    assert (first["n"], first["of"], first["reason"]) == (
        3,
        4,
        "3 models: an interval needs at least 4",
    )
    assert (other["n"], other["r"], other["low"]) == (4, pytest.approx(1), None)
    assert (
        cell(values["table_9"], "All", "originality")["reason"]
        == "all 4 values of x are equal"
    )


def people(path, *rows):
    names = ("model", "item", "criterion", "rater", "score")
    path.write_text(
        "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows),
        "utf-8",
    )
    return path


def table_8(places, out, ratings):
    run = correlate_raters([*places, str(ratings)], out)
    return json.loads((run.path / "correlations.json").read_text("utf-8")), run


def test_table_8_by_hand_in_both_languages(tmp_path):
    # Judge's fluency of question 1: 1, 3, 2, 5, 4; people's means 1, 2, 3, 4, 5: r = 0.8 (and one more model unread).
    for name, grade in zip("abcdef", (1, 3, 2, 5, 4, None), strict=True):
        given_jcq(
            tmp_path / "runs" / name,
            name,
            {"1": [grade and (grade, 3, 3, 3)], "2": [(3, 3, 3, 3)]},
        )
    rows = [("a", "1", "流暢性", "A", 1), ("a", "1", "fluency", "B", 1)]
    rows += [(name, 1, "流暢性", "A", k) for k, name in enumerate("bcde", 2)] + [
        ("f", "1", "Fluency ", "A", 3)
    ]
    rows += [
        ("z", "1", "流暢性", "A", 3),
        ("a", "99", "流暢性", "A", 3),
        ("a", "1", "楽しさ", "A", 5),
    ]
    values, _ = table_8(
        [str(tmp_path / "runs")], tmp_path / "out", people(tmp_path / "r.jsonl", *rows)
    )
    found = values["table_8"][0]
    assert (found["r"], found["n"], found["of"]) == (pytest.approx(0.8), 5, 6)
    assert values["ratings"] == [
        "18 ratings; people: A, B; judges: j (a judge's name begins with judge or 評価モデル).",
        "Left out: 1 ratings (no run of the model z).",
        "Left out: 1 ratings (no answer 99 of a).",
        "Left out: 1 ratings (no criterion 楽しさ).",
    ]


def test_people_who_score_the_system_agree_with_a_judge_over_answers_and_not_within(
    tmp_path,
):
    """r = 0.697 of 60 answers, beside the paper's 0.654, is all between systems: within them it is 0.03."""
    given_people, judge = scores_by(np.random.default_rng(19053))
    questions = [Question(str(k), TASKS[0], f"問い{k}番") for k in range(15)]
    rows = []
    for k in range(60):
        name, item = "abcd"[k // 15], str(k % 15)
        for rater, scores in zip("xyz", given_people, strict=True):
            rows.append((name, item, "流暢性", rater, scores[k]))
    for k, name in enumerate("abcd"):
        own = {q.id: [(int(judge[15 * k + int(q.id)]), 3, 3, 3)] for q in questions}
        given_jcq(tmp_path / "runs" / name, name, own, questions=questions)
    file = people(tmp_path / "r.jsonl", *rows)
    values, run = table_8([str(tmp_path / "runs")], tmp_path / "out", file)
    found = cell(values["table_8"], "All", "fluency")
    over, within = found["over systems"], found["within systems"]
    assert (round(found["r"], 3), round(over["r"], 2)) == (0.697, 1.0)
    assert round(within["r"], 2) == 0.03
    assert within["low"] < 0 < within["high"]
    path = tmp_path / "out" / "agreement.json"
    (row,) = json.loads(path.read_text("utf-8"))["compared"]
    assert (row["evaluation"], row["models"]) == ("judge j", 4)
    assert row["pearson"] == pytest.approx(over["r"])  # sozo report --paper cites it
    ends = f"[−{-within['low']:.3f}, {within['high']:.3f}]"
    sentence = f"- fluency: r is {within['r']:.3f} {ends} within systems (60 answers)"
    assert f"{sentence}, which does not show that they agree" in run.page


def test_a_second_judge_in_the_folder_is_another_rater(tmp_path):
    for name, grade in (("a", 1), ("b", 3), ("c", 4)):
        for judge in "jk":
            grades = {"1": [(grade + (judge == "k"), 3, 3, 3)]}
            of = JUDGE | {"model": judge}
            given_jcq(tmp_path / "runs" / name / judge, name, grades, judge=of)
    rows = [(name, "1", "流暢性", "A", s) for name, s in (("a", 2), ("b", 3), ("c", 5))]
    file = people(tmp_path / "r.jsonl", *rows)
    values, _ = table_8([str(tmp_path / "runs")], tmp_path / "out", file)
    for judge in "jk":
        (_, found) = values[f"people and {judge}"]
        expected = np.corrcoef([1, 3, 4], [2, 3, 5])[0, 1]
        assert found["r"] == pytest.approx(expected)


def test_of_several_answers_the_one_that_was_rated_counts(tmp_path):
    for name, first, second in (("a", 1, 5), ("b", 2, 1), ("c", 3, 4)):
        given_jcq(
            tmp_path / "runs" / name, name, {"1": [(first, 3, 3, 3), (second, 3, 3, 3)]}
        )
    rows = [
        (name, f"1-{k}", "fluency", "A", s)
        for k in (0, 1)
        for name, s in zip("abc", (1, 2, 3), strict=True)
    ]
    values, _ = table_8(
        [str(tmp_path / "runs")], tmp_path / "out", people(tmp_path / "r.jsonl", *rows)
    )
    expected = np.corrcoef([1, 2, 3, 5, 1, 4], [1, 2, 3, 1, 2, 3])[0, 1]
    assert values["table_8"][0]["r"] == pytest.approx(expected)
    with refused("correlate: rating of a question with two answers"):
        table_8(
            [str(tmp_path / "runs")],
            tmp_path / "x",
            people(tmp_path / "q.jsonl", ("b", "1", "fluency", "A", 3)),
        )
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("rating", "row"),
    [
        (("M", "1", "fluency", "A", 3), "correlate: rating of no model"),
        (("m", "uu-1", "fluency", "A", 3), "correlate: rating of no answer"),
        (("m", "1", "beauty", "A", 3), "correlate: rating by no criterion"),
    ],
)
def test_ratings_that_fit_nothing_are_refused(rating, row, tmp_path):
    given_jcq(tmp_path / "m", "m", {"1": [(3, 3, 3, 3)]})
    with refused(row):
        table_8(
            [str(tmp_path / "m")],
            tmp_path / "out",
            people(tmp_path / "r.jsonl", rating),
        )


def test_one_rating_under_two_names_is_refused(tmp_path):
    given_jcq(tmp_path / "m", "m", {"1": [(3, 3, 3, 3)]})
    file = people(
        tmp_path / "r.jsonl",
        ("m", "1", "fluency", "A", 3),
        ("m", "1", "流暢性", "A", 4),
    )
    with refused("correlate: rated twice under two names"):
        table_8([str(tmp_path / "m")], tmp_path / "out", file)


def test_a_sheet_alone_correlates_each_two_people(tmp_path):
    random, lines = (
        np.random.default_rng(1),
        ["番号,モデル,質問,評価者A 独創性,評価者B 独創性"],
    )
    for k in range(30):
        a, b = random.integers(1, 6, 2)
        lines.append(f"{k},{'xyz'[k % 3]},q{k // 3},{a},{b}")
    (tmp_path / "sheet.csv").write_text("\n".join(lines) + "\n", "utf-8")
    run = correlate_raters([str(tmp_path / "sheet.csv")], tmp_path / "out")
    values = json.loads((run.path / "correlations.json").read_text("utf-8"))
    (found,) = values["評価者A and 評価者B"]
    assert (found["n"], found["within systems"]["n"]) == (30, 30)
    assert found["low"] < found["r"] < found["high"]
    sheet = (
        (tmp_path / "sheet.csv").read_text("utf-8").replace("評価者B", "評価モデルB")
    )
    (tmp_path / "judged.csv").write_text(sheet, "utf-8")
    run = correlate_raters([str(tmp_path / "judged.csv")], tmp_path / "judged")
    values = json.loads((run.path / "correlations.json").read_text("utf-8"))
    assert values["people and 評価モデルB"][0]["r"] == pytest.approx(found["r"])
    (tmp_path / "unknown.csv").write_text(sheet.replace("モデル,", "手法,"), "utf-8")
    run = correlate_raters([str(tmp_path / "unknown.csv")], tmp_path / "unknown")
    values = json.loads((run.path / "correlations.json").read_text("utf-8"))
    (found,) = values["people and 評価モデルB"]
    assert found["within systems"]["reason"] == "no column says which system"
    assert "Not read: 手法." in run.page
    with refused("correlate: one rater"):
        (tmp_path / "one.csv").write_text("番号,評価者A 独創性\n1,3\n", "utf-8")
        correlate_raters([str(tmp_path / "one.csv")], tmp_path / "x")


@pytest.mark.parametrize("change", ["judge", "encoder", "stories"])
def test_scores_on_different_scales_are_not_correlated(change, tmp_path):
    for name in "abc":
        other = change if name == "c" else ""
        encoder = "other" if other == "encoder" else "ja-ginza"
        scorer = SCORES | {"embedding_model": encoder}
        given_dat(tmp_path / name / "dat", name, 0.5, scorer=scorer)
        story = "鶴" if other == "stories" else "桃"
        given_sat(tmp_path / name / "sat", name, {story: 0.5})
        judge = JUDGE | {"model": "k" if other == "judge" else "j"}
        given_jcq(tmp_path / name / "jcq", name, {"1": [(3, 3, 3, 3)]}, judge=judge)
    with refused(f"correlate: another scale by {change}"):
        correlate_models([str(tmp_path)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command(study, tmp_path):
    rows = ((model, "1", "流暢性", "A", k) for k, model in enumerate(MODELS, 1))
    ratings = people(tmp_path / "r.jsonl", *rows)
    words = (str(study), str(ratings), "--output", "out")
    done = sozo(tmp_path, "correlate", *words)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "out" / "correlations.md").read_text("utf-8")
    assert page in done.stdout
    with refused("correlate: other models in this folder"):
        correlate_models([str(study)], tmp_path / "out")


def test_two_models_are_too_few(tmp_path):
    for name in "ab":
        given_dat(tmp_path / name / "dat", name, 0.5)
        given_jcq(tmp_path / name / "jcq", name, {"1": [(3, 3, 3, 3)]})
    with refused("correlate: too few models"):
        correlate_models([str(tmp_path)], tmp_path / "out")
