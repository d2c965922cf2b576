"""A study of the tiny model, run as a user runs it."""

import os
import sys
from pathlib import Path

import pytest
import yaml

import warm

ROOT = Path(__file__).parents[2]


LAUNCHER = f"{sys.executable} {ROOT / 'tests/helpers/standin_launch.py'}"


@pytest.fixture
def study(tmp_path):
    """A folder with a copy of the tiny study at toy counts."""
    return small_study(tmp_path)


def small_study(folder):
    """Write it."""
    recipes = folder / "recipes"
    for name in ("reproduce", "sft", "dpo", "grpo"):
        values = yaml.safe_load(
            (ROOT / "recipes" / "tiny" / f"{name}.yaml").read_text("utf-8")
        )
        if name == "reproduce":
            launcher = str(ROOT / "recipes" / "accelerate" / "single.yaml")
            values |= {
                "num_answers": 16,
                "num_training_answers": 32,
                "top_k": 64,
                "num_pairs": 64,
            }
            values["sampling"]["launcher"] = values["training"]["launcher"] = launcher
        write(recipes / f"{name}.yaml", values)
    return folder


def write(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(values, sort_keys=False), "utf-8")


def change(path, **values):
    write(path, yaml.safe_load(path.read_text("utf-8")) | values)


def command(*words, launcher=LAUNCHER):
    file = [] if words and words[0].endswith(".yaml") else ["recipes/reproduce.yaml"]
    return [
        sys.executable,
        "-m",
        "sozo",
        "study",
        *file,
        "--output",
        "out",
        "--launcher",
        launcher,
        *words,
    ]


def environment(folder, **variables):
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "helpers")])
    return os.environ | {
        "STANDIN_CALLS": str(folder / "calls"),
        "PYTHONPATH": paths,
        **variables,
    }


def run(folder, *words, status=0, **variables):
    """Run the study; the steps that were launched, and what it said."""
    calls = folder / "calls"
    calls.unlink(missing_ok=True)
    done = warm.run(command(*words), cwd=folder, env=environment(folder, **variables))
    assert done.returncode == status, done.stderr
    return (calls.read_text().split() if calls.exists() else []), done


def study_file(folder, **changes):
    values = (
        yaml.safe_load(
            (ROOT / "recipes" / "tiny" / "reproduce.yaml").read_text("utf-8")
        )
        | changes
    )
    values["sampling"]["launcher"] = str(
        ROOT / "recipes" / "accelerate" / "single.yaml"
    )
    values["training"] = {
        k: str(ROOT / "recipes" / "tiny" / v) for k, v in values["training"].items()
    }
    values["training"]["launcher"] = values["sampling"]["launcher"]
    path = folder / "reproduce.yaml"
    path.write_text(yaml.safe_dump(values), "utf-8")
    return path
