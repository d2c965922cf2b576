"""The folder of a paper: its numbers are those of the raw answers, it says all that it lacks, and holds nothing else."""

import csv
import re
from functools import partial

import numpy as np
import pytest
from scipy.stats import t as student

from finished_runs import dat_run, jcq_run
from run_files import change_config
from sentences import refused
from sozo.data.record import write_json
from sozo.data.schema import iter_tables
from sozo.eval.report.paper import write_paper
from sozo.eval.report.tables import DUELS
from sozo.scoring.embeddings import make_encoder
from sozo.tasks import finished_run
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.judge_check import CHECK, judge_key

DAT = "Divergent Association Task (DAT)"
JCQ = "Japanese Creativity Questions (JCQ)"
MODELS = ("a", "b", "c")


def scores_of(k, question, judge="judge-a"):
    """What a judge gives: four whole numbers that no two models have alike."""
    n = int(question.id[-2:])
    return 1 + (n + k) % 5, 2 + k, 1 + (n * n) % 4, 4 if judge == "judge-a" else 2


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    for k, name in enumerate(MODELS):
        for judge in ("judge-a", "judge-b"):
            jcq_run(
                folder / "runs" / name / f"jcq-{judge}",
                name,
                lambda q, name=name: f"{name}の{q.id}",
                lambda q, k=k, judge=judge: scores_of(k, q, judge),
                judge,
            )
        dat_run(folder / "runs" / name / "dat", name, seed=k, n=30, bad=2 + k)
    a = folder / "runs" / "a" / "jcq-judge-a"
    key = judge_key(finished_run(a).settings)
    kinds = {"off topic": {}, "no text": {}, "twice as long": {}}
    check = {"failed": ["off topic"], "undecided": ["no text"], "kinds": kinds}
    write_json(folder / "runs" / CHECK, {key: check})
    change_config(a, "settings", model="gpt-x", temperature=0.0, max_new_tokens=99)
    row = {"evaluation": "judge judge-b", "reference": "human", "models": 11}
    write_json(
        folder / "runs" / "people" / "agreement.json",
        {"compared": [{**row, "pearson": 0.5}]},
    )
    won = {"value": 0.75, "low": 0.5, "high": 0.9, "n": 20}
    columns = {"chosen_creative": won, "strength_creative": {"value": 0.5}}
    write_json(folder / "runs" / "people" / DUELS, {"a": columns})
    write_paper(folder / "paper", [str(folder / "runs")])
    return folder


def read(folder, name):
    with (folder / "paper" / f"{name}.csv").open(encoding="utf-8-sig") as file:
        return {row.pop(next(iter(row))): row for row in csv.DictReader(file)}


def lists_of(folder, name):
    """The texts of a model's lists that have ten words, as they were written."""
    texts = [
        text
        for part in iter_tables(folder / "runs" / name / "dat", ["text"])
        for text in part["text"].to_pylist()
    ]
    lists = [[line.split(". ")[1] for line in text.splitlines()] for text in texts]
    return [words for words in lists if len(words) == 10]


def distances(folder, name):
    """Of each list the mean cosine distance of its 45 pairs, by plain loops."""
    found = []
    for words in lists_of(folder, name):
        vectors = [np.float64(v) for v in make_encoder("ja-ginza").encode(words)]
        found.append(
            np.mean(
                [
                    1 - v @ w / np.sqrt((v @ v) * (w @ w))
                    for k, v in enumerate(vectors)
                    for w in vectors[:k]
                ]
            )
        )
    return np.array(found)


def test_ten_numbers_are_those_of_the_raw_answers(paper):
    shown, apart, judged = (read(paper, n) for n in ("scores", "differences", "judges"))
    a, b = (distances(paper, name) for name in "ab")
    jcq = {
        (k, judge): np.array(
            [np.mean(scores_of(k, q, judge)) for q in trial_questions()]
        )
        for k in range(3)
        for judge in ("judge-a", "judge-b")
    }
    level = 1 - 0.05 / 6  # three pairs in two tasks
    errors = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    df = sum(errors) ** 2 / sum(
        e**2 / (len(x) - 1) for e, x in zip(errors, (a, b), strict=True)
    )
    half = student.ppf((1 + level) / 2, df) * np.sqrt(sum(errors))
    at_95 = student.ppf(0.975, len(a) - 1) * np.sqrt(errors[0])
    p = 2 * student.sf(abs(b.mean() - a.mean()) / np.sqrt(sum(errors)), df)
    pair, by = apart["b − a"], f"{JCQ} by judge-b"
    close = {"abs": 2e-6}  # vectors are float32
    for number, expected in (
        (shown["a"][DAT], a.mean()),
        (shown["b"][DAT], b.mean()),
        (shown["a"][f"{DAT} low"], a.mean() - at_95),
        (shown["a"][JCQ], jcq[0, "judge-a"].mean()),
        (shown["c"][JCQ], jcq[2, "judge-a"].mean()),
        (judged["c"][by], jcq[2, "judge-b"].mean()),
        (pair[DAT], b.mean() - a.mean()),
        (pair[f"{DAT} low"], b.mean() - a.mean() - half),
        (pair[f"{DAT} high"], b.mean() - a.mean() + half),
        (
            apart["c − b"][JCQ],
            np.mean(jcq[2, "judge-a"] - jcq[1, "judge-a"]),
        ),
    ):
        assert float(number) == pytest.approx(expected, **close)
    text = (paper / "paper" / "differences.tex").read_text("utf-8")
    assert f"p = {min(1, 6 * p):.3f}" in text
    assert r"each interval is of 99.17\%" in text
    assert list(apart) == ["b − a", "c − a", "c − b"]
    assert float(shown["a"][f"{DAT} n"]) == len(a)
    chosen = "Chosen as more creative"
    assert [shown[m][chosen] for m in MODELS] == ["0.75", "", ""]


def test_methods_say_what_is_recorded_and_what_is_not(paper):
    text = (paper / "paper" / "methods.txt").read_text("utf-8")
    english, japanese = text.split("\n\n\n")
    for said in (
        "できるだけ互いに異なる意味や用途を持つ単語を10個考え",
        "a: answers by the model gpt-x, server or weights not recorded, settings temperature 0.0, max_new",
        "35 answers; as they ended: 35 complete; as they were scored: 35 scored.",
        "as they ended: 28 complete, 2 in the wrong form; as they were scored: 2 in the wrong form, 28 scored.",
        "embedding_model ja-ginza, embedding_revision ",
        "its check by planted answers: passed twice as long; failed off topic; undecided no text",
        "Judge judge-b: prompt jcq-v1, temperature 0.0, not tried on planted answers, ",
        ", agreement with people over 11 models: Pearson's r = 0.50.",
        "its agreement with people not recorded here",
        "The 6 differences that have an interval share 5%",
        "Kinds of items are fixed",
        "Paid for the judge: not recorded.",
    ):
        assert said in english, said
    plain = re.sub(
        r"gpt-x|max_new_tokens|temperature|jcq-v1|https:\S+|verdicts|noun_checker",
        "",
        japanese,
    )
    assert not re.search(r"[a-z]{6,} [a-z]{4,}", plain)
    assert "仕掛けた回答による検証なし" in japanese


def test_the_folder_is_written_again_and_no_other_is(paper, tmp_path):
    before = {f.name: f.read_bytes() for f in (paper / "paper").iterdir()}
    write_paper(paper / "paper", [str(paper / "runs")])
    assert {f.name: f.read_bytes() for f in (paper / "paper").iterdir()} == before
    (tmp_path / "mine.tex").write_text("x", "utf-8")
    with refused("paper: a folder of others"):
        write_paper(tmp_path, [str(paper / "runs")])


def test_what_no_table_has_is_said_with_why(tmp_path):
    for k, name in enumerate("ab"):
        judge = f"judge-{name}"
        scores = partial(scores_of, k, judge=judge)
        jcq_run(tmp_path / "runs" / name, name, lambda q: q.id, scores, judge)
    dat_run(tmp_path / "runs" / "dat", "a", seed=0, n=12, bad=1)
    names = [
        path.name for path in write_paper(tmp_path / "p", [str(tmp_path / "runs")])
    ]
    assert names == ["methods.txt", "scores.csv", "scores.tex"]
    english, japanese = (tmp_path / "p/methods.txt").read_text("utf-8").split("\n\n\n")
    assert f"Not shown, since they have no values: {JCQ} (scored by judge-b" in english
    assert "値がないため省略" in japanese
    assert "–: not run, or not compared; the CSV file says which." in (
        tmp_path / "p/scores.tex"
    ).read_text("utf-8").replace("--", "–")
