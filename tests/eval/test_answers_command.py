"""`sozo answers`: a row for each answer of finished runs; and the sample of them that a page's reader holds."""

import csv
import io
import json
import math
import re
import tracemalloc
from collections import Counter
from random import Random

import pytest

from command_line import here
from finished_runs import dat_run, given_jcq, given_sat, jcq_run, write
from pages import read_packed
from sentences import refused
from sozo.data.run_folder import RunFolder
from sozo.data.schema import write_columns
from sozo.eval.answers import write_answers
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.run import score_answers
from sozo.tasks.dat.summary import summarise
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Complete
from toy_task import Lipogram

FIRST = [
    "model",
    "task",
    "item",
    "group",
    "asked",
    "id",
    "text",
    "score",
    "reason",
    "state",
]
CRITERIA = ["jcq/fluency", "jcq/flexibility", "jcq/originality", "jcq/elaboration"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """DAT and JCQ of two models; of the second one judgement is refused."""
    folder = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(("before", "after")):
        dat_run(folder / name / "dat", name, seed=number)
        jcq_run(
            folder / name / "jcq",
            name,
            lambda q: f"{q.id}、\n案",
            lambda q, n=number: scores(q, n),
        )
    return folder


def scores(question, number):
    return None if number and question.id == "trial-01" else (3 + number, 3, 2, 4)


def lists_run(path, n, *, rows=1024):
    """A table of `n` lists in parts, of which every tenth has no score."""
    folder = RunFolder(path, {"task": "dat", "num_answers": n, "seed": 0})
    folder.start({"scorer": {"embedding_model": "own"}}, {})
    for number, start in enumerate(range(0, n, rows)):
        here = range(start, min(start + rows, n))
        columns = {
            "id": [f"{k:08d}" for k in here],
            "source": ["m"] * len(here),
            "text": [f"1. 犬\n2. 猫\n10. {k}" for k in here],
            "words": [["犬", "猫"] if k % 10 else None for k in here],
            "score": [k / n if k % 10 else None for k in here],
            "reason": [None if k % 10 else "format" for k in here],
        }
        write_columns(folder.answers / f"part-{number:05d}.parquet", columns)
    folder.finish(summarise(path).metrics())
    return path


def read_csv(path):
    """The rows as a spreadsheet has them, by their headings."""
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def written(path, *places):
    write_answers(path, find_evaluated([str(place) for place in places]))
    return read_csv(path)


def numbers(rows, column):
    return [float(row[column]) for row in rows if row[column]]


def test_every_answer_is_a_row_with_its_score_or_why_it_has_none(runs, tmp_path):
    rows = written(tmp_path / "a.csv", runs / "before", runs / "after")
    assert list(rows[0]) == [*FIRST, "dat/usable", *CRITERIA, "run"]
    assert [row["model"] for row in rows] == ["before"] * 75 + ["after"] * 75
    for model in find_evaluated([str(runs)]):
        for run in model.runs.values():
            own = [
                row
                for row in rows
                if (row["model"], row["task"]) == (model.name, run.task)
            ]
            assert len(own) == run.metrics["num_answers"]
            assert {row["run"] for row in own} == {str(run.folder)}
            assert all(bool(row["score"]) != bool(row["reason"]) for row in own)
            reasons = Counter(row["reason"] for row in own if row["reason"])
            assert reasons == Counter(run.metrics["reasons"])
            mean = math.fsum(numbers(own, "score")) / run.metrics["usable"]
            assert mean == pytest.approx(run.estimate(run.main).value, abs=1e-7)
    refused = rows[75 + 40]
    assert (refused["score"], refused["reason"]) == ("", "refused")
    shares = [row["dat/usable"] for row in rows[:40]]
    assert shares == ["1.0" if row["score"] else "0.0" for row in rows[:40]]


def test_the_columns_of_a_task_do_not_depend_on_who_judged_or_what_came_out(
    runs, tmp_path
):
    given_jcq(tmp_path / "other", "other", {"1": [None]})
    assert list(written(tmp_path / "a.csv", tmp_path / "other")[0]) == [
        *FIRST,
        *CRITERIA,
        "run",
    ]
    assert list(written(tmp_path / "b.csv", runs / "before" / "jcq")[0]) == [
        *FIRST,
        *CRITERIA,
        "run",
    ]


def test_a_measure_of_another_task_has_no_value(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    answers = [{"item": item.id, "text": "犬"} for item in Lipogram().items()[:2]]
    score_answers(
        Lipogram(),
        write(tmp_path / "k.jsonl", answers),
        tmp_path / "k",
        source="before",
    )
    rows = written(tmp_path / "a.csv", tmp_path / "k", runs / "before" / "dat")
    assert list(rows[0]) == [*FIRST, "dat/usable", "lipogram/words", "run"]
    assert {
        (row["task"], row["dat/usable"] != "", row["lipogram/words"] != "")
        for row in rows
    } == {
        ("lipogram", False, True),
        ("dat", True, False),
    }


ODD = {
    "formula": "=HYPERLINK(A1)",
    "wide": "＋1+1",
    "lines": '一行目、\r\n二行目, "引用"\r三行目\n',
    "number": "-3.5",
    "surrogate": "犬\ud800",
    "mark": "\ufeff犬",
}


def test_a_text_stays_what_it_was_and_runs_nowhere(tmp_path):
    given_sat(tmp_path / "run", "=1+1", dict.fromkeys(ODD, 0.5), texts=ODD)
    rows = {row["item"]: row for row in written(tmp_path / "a.csv", tmp_path / "run")}
    assert {row["model"] for row in rows.values()} == {"'=1+1"}
    expected = ODD | {
        "formula": "'=HYPERLINK(A1)",
        "wide": "'＋1+1",
        "surrogate": "犬\\ud800",
    }
    assert {name: row["text"] for name, row in rows.items()} == expected
    assert rows["lines"]["asked"] == "linesの話"


def test_of_a_dat_run_with_a_number_of_lists_those_are_written_that_count(tmp_path):
    dat_run(tmp_path / "run", "m", seed=3)
    everything = written(tmp_path / "all.csv", tmp_path / "run")
    metrics = Dat().finish(Complete(tmp_path / "run", "m", 10)) | {"trials": 10}
    (tmp_path / "run" / "metrics.json").write_text(json.dumps(metrics), "utf-8")
    rows = written(tmp_path / "a.csv", tmp_path / "run")
    assert rows == everything[: metrics["num_answers"]]
    assert (len(numbers(rows, "score")), len(rows) < 40) == (10, True)
    assert sum(numbers(rows, "score")) / 10 == pytest.approx(
        metrics["measures"]["dat"]["value"], abs=1e-7
    )


def test_a_large_table_is_never_in_memory_as_a_whole(tmp_path):
    peaks = []
    for parts in (2, 24):
        models = find_evaluated([str(lists_run(tmp_path / str(parts), parts * 1024))])
        tracemalloc.start()
        assert write_answers(tmp_path / f"{parts}.csv", models) == parts * 1024
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
    assert (tmp_path / "24.csv").stat().st_size > 10 * (
        tmp_path / "2.csv"
    ).stat().st_size


def test_the_reader_holds_twenty_lists_drawn_by_seed_and_says_of_how_many(tmp_path):
    lists_run(tmp_path / "runs" / "many", 2500)
    dat_run(tmp_path / "few", "few", seed=1, n=18, bad=2)
    models = find_evaluated([f"many={tmp_path / 'runs'}", f"few={tmp_path / 'few'}"])
    rows = written(tmp_path / "a.csv", tmp_path / "runs")
    write_evaluation(tmp_path / "r.html", models)
    page = (tmp_path / "r.html").read_text("utf-8")
    ((drawn, all_of_few),) = [item["entries"] for item in read_packed(page)["items"]]
    places = [int(re.search("10. (.*)", answer["text"])[1]) for answer in drawn]
    assert places == sorted(Random(0).sample(range(2500), 20))
    assert [answer["score"] for answer in drawn] == [
        float(rows[k]["score"]) if k % 10 else None for k in places
    ]
    assert len(all_of_few) == 18
    assert "20 answers of each model" in page


def test_where_no_run_is_finished_there_is_nothing_to_write(runs, tmp_path):
    dat_run(tmp_path / "runs" / "cut", "cut", seed=1, n=8)
    (tmp_path / "runs" / "cut" / "metrics.json").unlink()
    with refused("runs: none finished"):
        written(tmp_path / "a.csv", tmp_path / "runs")
    with refused("runs: no such folder"):
        written(tmp_path / "a.csv", tmp_path / "nowhere")
    assert not (tmp_path / "a.csv").exists()
    dat_run(tmp_path / "runs" / "whole", "whole", seed=1, n=8)
    assert {row["model"] for row in written(tmp_path / "a.csv", tmp_path / "runs")} == {
        "whole"
    }


def test_a_file_that_is_there_is_left_alone(runs, tmp_path):
    (tmp_path / "own.csv").write_text("rating\n5\n")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "own.csv")
    for name in ("own.csv", "folder.csv", "a.xlsx"):
        with refused("table of answers: no new CSV file"):
            written(tmp_path / name, runs)
    with refused("table of answers: a link"):
        written(tmp_path / "link.csv", runs)
    assert (tmp_path / "own.csv").read_text() == "rating\n5\n"
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_the_command_says_how_many_answers_it_wrote(
    runs, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    here("answers", runs, "--output", "new/a.CSV")
    assert capsys.readouterr().out == "new/a.CSV (150 answers)\n"
    assert len(read_csv(tmp_path / "new" / "a.CSV")) == 150
