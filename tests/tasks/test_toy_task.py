"""A task in one file of at most 60 lines (`toy_task`) is in every command, and no other file knows it."""

import gzip
import json
import os
import random
import re
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

import warm
from fakes import list_text
from model_server import KEY, completion, server
from pages import cells_of
from sozo.data.errors import UserError, one_line_errors
from sozo.eval.cli import show_all
from sozo.eval.deliver.model_card import write_card
from sozo.eval.deliver.wandb_results import _values
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.run import TaskRun
from sozo.eval.terminal import print_answer, print_run
from sozo.scoring.measure import Measure
from sozo.scoring.table import Cell
from sozo.tasks import task_type
from sozo.tasks.task import Answer, Row
from sozo.tasks.view import RESULT, RunColumn, View
from toy_task import Lipogram

HELPERS = Path(__file__).parents[1] / "helpers"
MODELS = ("one", "two", "three")
NOUNS = [
    "犬",
    "猫",
    "水",
    "山",
    "川",
    "本",
    "車",
    "空",
    "海",
    "石",
    "花",
    "木",
    "雪",
    "雨",
    "窓",
    "机",
    "音楽",
    "病気",
    "天気",
    "法律",
    "数学",
]


def answer(body):
    """Model `two` never writes an e; DAT's lists are random ones."""
    prompt, model = body["messages"][-1]["content"], Path(body["model"]).name
    chance = random.Random(f"{model} {prompt} {body.get('seed')}")
    if "単語10" in prompt:
        return completion(list_text(chance.sample(NOUNS, 10)))
    if model == "three" and "music" in prompt:
        return completion("…")
    words = (
        ("a", "dog", "ran", "far")
        if model == "two"
        else ("the", "dog", "rests", "here", "a", "lot")
    )
    return completion(" ".join(chance.choices(words, k=chance.randrange(4, 9))))


def evaluate(folder, *words):
    environment = os.environ | {
        "OPENAI_API_KEY": KEY,
        "WANDB_MODE": "offline",
        "SOZO_TASKS": "toy_task.Lipogram",
    }
    environment["PYTHONPATH"] = os.pathsep.join(
        [environment["PYTHONPATH"], str(HELPERS)]
    )
    command = [sys.executable, "-m", "sozo", *map(str, words)]
    done = warm.run(command, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three models through DAT and the toy task, with a card and W&B each; the folder, and what was printed."""
    folder = tmp_path_factory.mktemp("toy")
    for model in MODELS:
        (folder / model).mkdir()
    with server(answer) as (url, _):
        words = (
            "--tasks",
            "dat",
            "lipogram",
            "--base-url",
            url,
            "--num-answers",
            12,
            "--output",
            "out",
        )
        printed = evaluate(
            folder, "run", "--model", *MODELS, *words, "--model-card", "--wandb"
        )
    return folder, printed


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text("utf-8"))


def test_it_is_short():
    assert len((HELPERS / "toy_task.py").read_text("utf-8").splitlines()) <= 60


def test_run_and_the_terminal(runs):
    folder, printed = runs
    result = metrics(folder / "out" / "three" / "lipogram")
    assert (
        result["num_items"],
        result["num_answers"],
        result["usable"],
        result["reasons"],
    ) == (6, 6, 5, {"empty": 1})
    assert (
        result["measures"]["lipogram"]["n"],
        result["measures"]["lipogram"]["of"],
    ) == (5, 6)
    assert (
        metrics(folder / "out" / "two" / "lipogram")["measures"]["lipogram"]["value"]
        == 1
    )
    assert len(re.findall("^lipogram", printed, re.MULTILINE)) == 3
    # Clopper and Pearson: 0.025 ** (1 / 6)
    assert re.search(r"lipogram +100\.0% \[54\.1, 100\.0\], 6 of 6", printed)
    assert re.search(r"lipogram +\d\d\.\d% \[\d\d?\.\d, \d\d\.\d\], n = 5", printed)
    assert re.search(r"Unusable: empty +1 of 6, 16\.7%", printed)
    assert re.search(
        r"words +\d\.\d, 5 of 6", printed
    )  # whole numbers, too few for an interval


def test_score(runs, tmp_path):
    rows = [
        {"item": "rain", "text": "it rains"},
        {"item": "snow", "text": "the snow"},
        {"item": "snow", "text": ""},
    ]
    (tmp_path / "mine.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), "utf-8"
    )
    evaluate(tmp_path, "score", "lipogram", "mine.jsonl", "--output", "out")
    assert metrics(tmp_path / "out")["measures"]["lipogram"]["value"] == 0.75
    evaluate(
        tmp_path,
        "score",
        "lipogram",
        runs[0] / "out" / "one" / "lipogram",
        "--output",
        "again",
    )
    before = metrics(runs[0] / "out" / "one" / "lipogram")
    del before["bill"]  # nobody is paid for scoring
    assert metrics(tmp_path / "again") == before


def test_report(runs, tmp_path):
    evaluate(tmp_path, "report", runs[0] / "out", "--base", "one", "--output", "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    overview = cells_of(page)
    assert [column for column in overview[0] if "lipogram" in column] == [
        "lipogram score",
        "lipogram with a score",
        "lipogram complete",
    ]
    assert [row[0] for row in overview[1:]] == ["one", "three", "two"]
    table = cells_of(page, "lipogram</h3>", escape=False)
    rows = {row[0].partition(" against ")[0]: row[1:] for row in table}
    assert rows["Model"] == ["lipogram", "words"]
    assert rows["two"][0].startswith("100.0% [54.1, 100.0] 6 of 6 +")
    assert re.fullmatch(
        r"\S+% \[\S+, \S+\] n = 5 \S+ points \[\S+, \S+\]",
        rows["three"][0],
    )
    changed = cells_of(page, "lipogram: differences")
    assert changed[0] == ["Model", "score", "with a score", "complete", "words"]
    assert "5 of 6" in next(row for row in changed if row[0] == "three against one")[1]
    assert cells_of(page, "lipogram: answers without a score")[0] == [
        "Model",
        "Unusable: empty",
    ]
    held = json.loads(
        gzip.decompress(b64decode(re.search(r'id="packed">([^<]+)<', page)[1]))
    )
    items = [item for item in held["items"] if item["kind"] == "lipogram"]
    assert [item["title"] for item in items][:2] == ["rain", "a cat"]
    assert items[3]["entries"][held["models"].index("three")] == [
        {"text": "…", "score": None, "status": "empty", "states": ["empty"]}
    ]
    numbers = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert {run["run"] for run in numbers["runs"]} == {"answers", "lipogram"}


def test_a_run_of_a_task_that_is_not_installed_is_told(runs, capsys):
    folder = runs[0] / "out" / "two"
    with pytest.raises(SystemExit) as caught, one_line_errors("sozo"):
        find_evaluated([str(folder)])
    assert caught.value.code == 2
    task = folder / "lipogram"
    said = f"sozo: {task}: is a run of the task 'lipogram', which is not installed; install the package that brings it, "
    assert (
        capsys.readouterr().err
        == said + "name its class in SOZO_TASKS, or leave the folder out\n"
    )


def test_compare(runs, tmp_path):
    printed = evaluate(tmp_path, "compare", runs[0] / "out", "--base", "one")
    assert "At a glance" in printed
    assert "lipogram: differences" in printed
    assert "against one" in printed


class _WithVowels(View):
    """One more column, declared once."""

    def columns(self, measures, runs):
        vowels = RunColumn(
            "share of vowels", lambda run: Cell.share(1, 4), shown=RESULT, key="vowels"
        )
        return [*super().columns(measures, runs), vowels]


def test_a_column_that_is_declared_once_is_everywhere(
    runs, tmp_path, monkeypatch, capsys
):
    folder = runs[0] / "out" / "two" / "lipogram"
    monkeypatch.syspath_prepend(str(HELPERS))
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    monkeypatch.setattr("toy_task.Lipogram.view", _WithVowels())
    run = TaskRun(task_type("lipogram")(), folder, metrics(folder), True)
    print_run(run)
    assert re.search(r"share of vowels +25\.0%, 1 of 4", capsys.readouterr().out)
    assert dict(_values(run))["vowels"] == 0.25
    (folder.parent / "model").mkdir(exist_ok=True)
    card = ModelCard.load(write_card(folder.parent / "model", run))
    assert "lipogram_vowels" in {
        result.metric_type for result in card.data.eval_results
    }
    write_evaluation(tmp_path / "r.html", find_evaluated([str(folder)]))
    table = cells_of((tmp_path / "r.html").read_text("utf-8"), "lipogram: all columns")
    assert dict(zip(*table, strict=True))["share of vowels"] == "25.0% 1 of 4"
    for suffix in ("csv", "tex"):
        text = (tmp_path / "r-tables" / f"lipogram-all-columns.{suffix}").read_text(
            "utf-8-sig"
        )
        assert "share of vowels" in text


class Later(Lipogram):
    """The same task with one more measure."""

    measures = (*Lipogram.measures, Measure("lipogram/long_words"))


def test_a_measure_that_came_later_is_told_once_a_run(runs, monkeypatch, capsys):
    folder = runs[0] / "out" / "two"
    line = "two: scored before lipogram/long_words existed: sozo score lipogram FOLDER --output NEW"
    for task, times in ((Lipogram, 0), (Later, 1)):
        monkeypatch.setenv("SOZO_TASKS", f"{task.__module__}.{task.__name__}")
        run = task(), folder / "lipogram", metrics(folder / "lipogram"), True
        print_run(TaskRun(*run))
        assert joined_lines(capsys).count(line) == times
        print_answer(findings(find_evaluated([str(folder)])))
        assert joined_lines(capsys).count(line) == times


def test_a_task_without_labels_is_explained_by_its_title(runs, monkeypatch, capsys):
    monkeypatch.setenv("SOZO_TASKS", "test_toy_task.Later")
    folder = runs[0] / "out" / "two" / "lipogram"
    show_all([TaskRun(Later(), folder, metrics(folder), True)], explain=True)
    said = joined_lines(capsys)
    assert "lipogram: A sentence without the letter e." in said
    assert "long words: more is better" in said


def joined_lines(capsys):
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.studies
def test_correlate(runs, tmp_path):
    evaluate(tmp_path, "correlate", runs[0] / "out", "--output", "c")
    page = (tmp_path / "c" / "correlations.md").read_text("utf-8")
    assert "## DAT and LIPOGRAM, over models" in page
    assert "JCQ and LIPOGRAM" not in page
    values = json.loads((tmp_path / "c" / "correlations.json").read_text("utf-8"))
    assert (
        values["models_with_both"]["DAT and LIPOGRAM"]
        == values["dat_lipogram"]["n"]
        == 3
    )
    row = next(row for row in values["models"] if row["model"] == "three")
    mean = metrics(runs[0] / "out" / "three" / "lipogram")["measures"]["lipogram"][
        "value"
    ]
    assert row["lipogram"] == {"value": mean, "n": 5, "of": 6}


def test_the_card(runs):
    results = ModelCard.load(runs[0] / "three" / "README.md").data.eval_results
    (result,) = [result for result in results if result.metric_type == "lipogram_score"]
    assert (result.dataset_type, result.metric_name) == (
        "lipogram",
        "LIPOGRAM: lipogram (n = 5)",
    )
    assert result.metric_args["n"] == 5


def test_wandb_rows(runs):
    folder, printed = runs
    assert printed.count("W&B: lipogram of") == 3
    logged = json.loads((folder / "out" / "three" / "wandb.json").read_text("utf-8"))[
        "logged"
    ]["lipogram"]["values"]
    estimate = metrics(folder / "out" / "three" / "lipogram")["measures"]["lipogram"]
    assert logged["eval/lipogram/score"] == estimate["value"]
    assert (logged["eval/lipogram/score_n"], logged["eval/lipogram/num_answers"]) == (
        5,
        6,
    )
    names = {"low": "_ci95_low", "high": "_ci95_high", "n": "_n", "of": "_of"}
    for part, name in names.items():
        assert logged[f"eval/lipogram/score{name}"] == estimate[part]


def test_a_value_that_no_measure_names_is_refused(monkeypatch):
    monkeypatch.syspath_prepend(str(HELPERS))
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    task = task_type("lipogram")()
    item = task.items()[0]
    with pytest.raises(
        UserError,
        match="lipogram: score gives lipo, which is none of its measures: lipogram, ",
    ):
        task.with_others([item], [Answer("1", item.id, "x")], [Row({"lipo": 1.0})])


@pytest.mark.suite
def test_a_measure_that_is_called_usable_is_not_hidden_by_the_count():
    from sozo.suite.sentences.task import Sentences

    columns = Sentences.view.columns(Sentences.measures, [])
    names = [column.name for column in columns]
    assert len(names) == len(set(names))
    assert next(
        column for column in columns if column.name == "usable"
    ).measure == Sentences.measure_named("sentences/usable")
