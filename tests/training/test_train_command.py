"""`sozo train`, of the package alone: the same code as the repository's scripts, from any folder."""

import subprocess
import sys

import pytest

from grpo_runs import ROOT, history, recipe, run, same_weights
from sentences import says
from sozo.training.command import launch
from sozo.training.plan import Hardware, make_plan


def by_module(command, method="grpo"):
    """The command of `recipe` launched as a module, not by the script in the repository."""
    at = command.index(str(ROOT / "recipes" / f"{method}_dat.py"))
    return [*command[:at], "-m", "sozo", "train", method, *command[at + 1 :]]


def test_the_module_trains_as_the_script_does_and_as_the_plan_says(mini, tmp_path):
    # Eight steps, of which each completion makes two.
    command = recipe(
        model_name_or_path=mini,
        output_dir="out",
        report_to="none",
        num_prompts=4,
        num_iterations=2,
        save_strategy="no",
    )
    one, other = (tmp_path / name / "out" for name in ("script", "module"))
    for output, words in ((one, command), (other, by_module(command))):
        output.parent.mkdir()
        done = run(words, output.parent)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "The trained model is in out"
    assert history(one) == history(other)
    assert same_weights(one, other)
    planned = make_plan("grpo", command[command.index("--config") :], Hardware(1))
    # 4 prompts x 8 completions, eight of them a step, each twice.
    assert planned.steps == history(one)[-1]["step"] == 8


@pytest.mark.launches
def test_of_two_processes_the_first_says_what_is_wrong_and_prints_the_plan(tmp_path):
    two = {"launch": "cpu2_ddp.yaml", "per_device_train_batch_size": 4}
    done = run(by_module(recipe("--lerning_rate", "1", **two)), tmp_path)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    # Once by the first process, and once more below the launcher's own traceback.
    assert len(said) == 2
    assert says("train command: unknown setting", said[0])
    assert done.stderr.splitlines()[-1] == said[0] == said[1]
    done = run(by_module(recipe("--dry-run", **two)), tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith(
        "512 completions / 8 a step = 64 optimizer steps; 8 = 2 process(es) x 4 each"
    )
    assert done.stdout.count("nothing was run") == 1


WRONG_NAME = """
import sys
from sozo.training.command import launch
try:
    launch("grpo", ["--lerning_rate", "1"])
except SystemExit:
    sys.exit(any(name in sys.modules for name in ("torch", "transformers", "trl")))
"""


def test_a_name_is_refused_before_trl_is_imported():
    done = subprocess.run(
        [sys.executable, "-c", WRONG_NAME], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert says("train command: unknown setting", done.stderr)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("no such method", ["sftt", "--config", "x.yaml"]),
        ("no such file", ["grpo", "--config", "x.yaml"]),
        ("no tasks", ["grpo", "--max_steps", "1"]),
        ("no answers", ["dpo", "--use_cpu", "true", "--bf16", "false"]),
    ],
)
def test_a_mistake_is_one_line(row, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        launch(*words[:1], words[1:])
    assert end.value.code == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says(f"train command: {row}", said.err)
    assert not list(tmp_path.iterdir())
