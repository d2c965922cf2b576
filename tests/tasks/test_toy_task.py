"""A task in one file of at most 60 lines (`toy_task`) is in every command, and no other file knows it."""

import json
import os
import random
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import warm
from fakes import FakeJudge, list_text
from model_server import KEY, completion, server
from pages import cells_of
from sentences import refused
from sozo.data.settings import deciding
from sozo.eval.evaluated import find_evaluated
from sozo.tasks import task_type, task_types
from sozo.tasks.jcq.task import JcqSettings
from sozo.tasks.task import Answer, Row

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
    """Three models through DAT and the toy task, with W&B each; the folder, and what was printed."""
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
        printed = evaluate(folder, "run", "--model", *MODELS, *words, "--wandb")
    return folder, printed


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text("utf-8"))


def test_run_and_the_terminal(runs):
    folder, printed = runs
    result = metrics(folder / "out" / "three" / "lipogram")
    assert (
        result["num_items"],
        result["num_answers"],
        result["usable"],
        result["reasons"],
    ) == (6, 6, 5, {"no_text": 1})
    assert (
        result["measures"]["lipogram"]["n"],
        result["measures"]["lipogram"]["of"],
    ) == (5, 6)
    assert (
        metrics(folder / "out" / "two" / "lipogram")["measures"]["lipogram"]["value"]
        == 1
    )
    # Clopper and Pearson: 0.025 ** (1 / 6)
    assert re.search(r"lipogram +100\.0% \[54\.1, 100\.0\], 6 of 6", printed)
    assert re.search(r"Unusable: without text +1 of 6, 16\.7%", printed)


def test_a_finished_run_is_scored_again(runs, tmp_path):
    folder = runs[0] / "out" / "one" / "lipogram"
    evaluate(tmp_path, "score", "lipogram", folder, "--output", "again")
    before = metrics(folder)
    del before["bill"]  # nobody is paid for scoring
    assert metrics(tmp_path / "again") == before


def test_report(runs, tmp_path):
    evaluate(tmp_path, "report", runs[0] / "out", "--base", "one", "--output", "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    table = cells_of(page, "lipogram</h3>", escape=False)
    rows = {row[0].partition(" against ")[0]: row[1:] for row in table}
    assert rows["Model"] == ["lipogram", "words"]
    assert rows["two"][0].startswith("100.0% [54.1, 100.0] 6 of 6 +")
    columns = cells_of(page, "lipogram: all columns")[0]
    assert "Unusable: without text" in columns


def test_a_run_of_a_task_that_is_not_installed_is_told(runs):
    with refused("evaluated: a task that is not installed"):
        find_evaluated([str(runs[0] / "out" / "two")])


def test_a_value_that_no_measure_names_is_refused(monkeypatch):
    monkeypatch.syspath_prepend(str(HELPERS))
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    task = task_type("lipogram")()
    item = task.items()[0]
    with refused("task: a value that no measure names"):
        task.with_others([item], [Answer("1", item.id, "x")], [Row({"lipo": 1.0})])


@pytest.mark.parametrize("name", task_types())
def test_what_a_setting_is_marked_as_decides_whether_a_folder_goes_on(name):
    task = task_type(name)(JcqSettings(trial=True) if name == "jcq" else None)
    task.judge = FakeJudge(str)
    names = {field.name for field in fields(task.settings)}
    compared = task.deciding().keys() & names
    assert compared == deciding(task.settings).keys()
