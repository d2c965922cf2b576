"""The student's command, shortened: the same seed gives the same table, and the page stands alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import write_responses
from finished_runs import dat_run
from quickstart import COPIED, TARGETS
from sozo.data.record import read_json, write_json
from sozo.data.schema import Response
from sozo.eval.compare import compare_models
from sozo.eval.evaluated import find_evaluated
from sozo.scoring.second_encoder import Gain
from sozo.scoring.table import markdown
from sozo.studies.study.page import short_table
from sozo.tasks.dat.table11 import table11

QUICKSTART = Path(__file__).parents[2] / "recipes" / "quickstart.py"
HEADINGS = ["Lists", "Target", "Usable", "Score by ja-ginza", "Different words in 2 lists", "Pairing by e5"]


@pytest.fixture
def left(tmp_path):
    """What the quickstart leaves, without a model: four tables of answers, the lists that SFT copies, two trainings."""
    folders = {name: tmp_path / "responses" / name.replace(" ", "-") for name in ("after GRPO", "after SFT", "before")}
    folders |= {"random": tmp_path / "responses" / "random", COPIED: tmp_path / "lists"}
    for name, path in folders.items():
        words = ("犬", "猫") if name == "after GRPO" else ("水", "火")
        lists = [Response("0", "m", 0, "", ("犬", "猫"), 0.5), Response("1", "m", 0, "", words, 0.7)]
        if name == "before":
            lists.append(Response("2", "m", 0, "", None, None, "format"))
        dat_run(path, name, 0.6, valid=2)
        write_responses(path / "responses" / "part-00000.parquet", lists)
        model = {"random": "random", COPIED: "frontier"}.get(name, name)
        config = read_json(path / "config.json")
        config["settings"]["model"] = model
        write_json(path / "config.json", config)
    for training in ("grpo", "sft"):
        (tmp_path / training).mkdir()
        for name in ("config.json", "metrics.json"):  # a model's, and a training's
            write_json(tmp_path / training / name, {"model_type": "llama", "runtime": 1})
    return folders


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown(table).splitlines()]


def test_the_table_says_what_was_aimed_at_and_what_nobody_trained_on(left):
    pairing = {"after SFT": Gain(0.25, 0.125, 0.375, 9, 9), COPIED: Gain(0.5, 0.25, 0.75, 9, 9)}
    heading, _, *rows = cells(short_table(table11(left), pairing, TARGETS, {}))
    assert heading == HEADINGS
    by_name = {name: values for name, *values in rows}
    # Both lists of after GRPO are of the same two words; of any other row the two lists have four.
    assert by_name["after GRPO"] == ["score, usable", "100.00%, 2 of 2", "0.6000", "2", "–"]
    assert by_name["after SFT"][0] == "the words of SFT's lists"
    assert by_name["after SFT"][-1] == "+0.25 [+0.12, +0.38]"
    assert by_name["before"] == ["–", "66.67%, 2 of 3", "0.6000", "4", "–"]
    assert by_name[COPIED] == ["(they are SFT's target)", "100.00%, 2 of 2", "0.6000", "4", "+0.50 [+0.25, +0.75]"]


def test_without_e5_pairing_is_not_measured(left):
    _, _, *rows = cells(short_table(table11(left), {}, TARGETS, {}))
    assert {row[-1] for row in rows} == {"not measured"}


def test_what_it_leaves_is_compared_with_before_and_trainings_are_no_answers(left, tmp_path):
    compared = compare_models(find_evaluated([str(tmp_path)]))
    assert [method.name for method in compared.methods] == ["before", "random", COPIED, "after GRPO", "after SFT"]
    assert {method.name for method in compared.against.values()} == {"before"}
    assert [method.name for method in compared.methods if method.reference] == ["random", COPIED]


@pytest.mark.slow
def test_quickstart_twice_gives_the_same_table_and_page(tmp_path):
    def run(name, *command):
        environment = {**os.environ, "SOZO_CACHE": str(tmp_path / name / "cache"), "WANDB_MODE": "offline"}
        command = [sys.executable, *command]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def train(name):
        flags = ["--num_responses", "256", "--max_steps", "12", "--num_lists", "160"]
        return run(name, QUICKSTART, "--output_dir", name, *flags)

    first, second = train("one"), train("two")
    table = [line for line in first.splitlines() if re.search(r" of \d+ ", line)]
    assert [line.split("|")[1].strip() for line in table] == ["random", "before", "after GRPO", "after SFT", COPIED]
    assert "160 of 160" in table[-1]  # the very lists, all of them
    assert table == [line for line in second.splitlines() if re.search(r" of \d+ ", line)]
    page = (tmp_path / "one" / "report.html").read_text("utf-8")
    assert "after SFT" in page
    assert not re.search(r"""(?:src|href)=["']?https?:""", page)
    picture = (tmp_path / "one" / "plane.svg").read_text("utf-8")
    assert all(name in picture for name in ("random", "before", "after GRPO", "after SFT", COPIED))
    changes = run("one", "-m", "sozo", "compare", "one")
    assert "from before" in changes
    assert "from after" not in changes
    run("one", "-m", "sozo", "report", "one", "--output", "all.html")
    assert "after GRPO" in (tmp_path / "all.html").read_text("utf-8")
