"""The experiment of two tastes: its experts are rules, its recipe loads, and shortened it runs, stops and goes on."""

import doctest
import json
import os
import subprocess
import sys

import pytest
import yaml

from sozo.training.config import parse
from test_recipes import METHODS, ON_CPU, ROOT

IDEAS = ROOT / "examples" / "ideas"


@pytest.fixture(autouse=True)
def examples_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.chdir(ROOT)


def test_the_experts_answer_by_their_rules():
    from ideas import grammar, tastes

    for module in (grammar, tastes):
        results = doctest.testmod(module)
        assert (results.attempted > 0, results.failed) == (True, 0)
    liked = [word for words in tastes.LIKES["home"] for word in words]
    assert len(liked) == 40
    assert not {word for words in tastes.LIKES["work"] for word in words} & set(liked)


def test_the_recipe_is_paid_by_an_expert():
    plan = yaml.safe_load((IDEAS / "two_tastes.yaml").read_text("utf-8"))
    script, training, _ = parse(*METHODS["grpo"], ["--config", plan["config"], *ON_CPU])
    names = [reward.__name__ for entry in script.entries for reward in entry.rewards]
    assert names == ["idea_reward", "idea_format_reward"]
    assert (training.learning_rate, training.generation_batch_size) == (3e-4, 64)


@pytest.mark.slow
def test_shortened_it_runs_and_what_is_finished_is_left_alone(tmp_path):
    plan = yaml.safe_load((IDEAS / "two_tastes.yaml").read_text("utf-8"))
    recipe = yaml.safe_load((ROOT / plan["config"]).read_text("utf-8"))
    recipe["tasks"][0] |= {"num_prompts": 8, "pbig_patents": str(ROOT / "recipes" / "ideas" / "technologies.jsonl")}
    plan |= {"config": "grpo.yaml", "reporting": [4], "answers": 2}
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(recipe), "utf-8")
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan), "utf-8")
    command = [sys.executable, str(ROOT / "examples" / "two_tastes.py"), "--config", "plan.yaml"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}

    def run():
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout[done.stdout.index("| seed | policy |") :]

    table = run()
    assert [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| 4 |")] == ["base", "home", "work"]
    (row,) = json.loads((tmp_path / plan["output"] / "reporting.json").read_text("utf-8"))["rows"]
    assert row["policies"]["base"]["home"]["pbig/worth"]["of"] == 16
    trained = (tmp_path / plan["output"] / "seed-4" / "home" / "metrics.json").stat().st_mtime_ns
    assert run() == table
    assert (tmp_path / plan["output"] / "seed-4" / "home" / "metrics.json").stat().st_mtime_ns == trained
