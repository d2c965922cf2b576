"""`sozo train`, of the package alone: the same code as the repository's scripts, from any folder."""

import shutil
import subprocess

import pytest
import torch
from safetensors.torch import load_file

from grpo_runs import ROOT, environment, history, recipe, run
from sozo.training.plan import Hardware, make_plan


def by_module(command, method="grpo"):
    """The command of `recipe` launched as a module, not by the script in the repository."""
    at = command.index(str(ROOT / "recipes" / f"{method}_dat.py"))
    return [*command[:at], "-m", "sozo", "train", method, *command[at + 1 :]]


@pytest.fixture(scope="module")
def by_script(mini, tmp_path_factory):
    """A run of eight steps by the script, of which each completion makes two, and its command."""
    folder = tmp_path_factory.mktemp("script")
    settings = {"num_prompts": 4, "num_iterations": 2, "save_steps": 4}
    command = recipe(
        model_name_or_path=mini, output_dir="out", report_to="none", **settings
    )
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    return folder / "out", command


def same(one, other):
    assert history(one) == history(other)
    weights, others = (load_file(at / "model.safetensors") for at in (one, other))
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def test_the_module_trains_as_the_script_does_and_as_the_plan_says(by_script, tmp_path):
    whole, command = by_script
    done = run(by_module(command), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "The trained model is in out"
    same(tmp_path / "out", whole)
    words = command[command.index("--config") :]
    planned = make_plan("grpo", words, Hardware(1))
    # 4 prompts x 8 completions, eight of them a step, each twice.
    assert planned.steps == history(whole)[-1]["step"] == 8


def test_the_module_goes_on_with_what_the_script_began(by_script, tmp_path):
    whole, command = by_script
    begun = shutil.copytree(whole, tmp_path / "out")
    shutil.rmtree(begun / "checkpoint-8")  # as if it had been killed before
    for name in ("metrics.json", "model.safetensors"):
        (begun / name).unlink()
    done = run(by_module(command), tmp_path)
    assert done.returncode == 0, done.stderr
    same(begun, whole)


def test_of_two_processes_the_first_says_what_is_wrong(tmp_path):
    command = recipe("--lerning_rate", "1", launch="cpu2_ddp.yaml")
    # By pipes, which are read to their end: the last line comes when the launcher has ended.
    done = subprocess.run(
        by_module(command),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    # Once by the first process, and once more below the launcher's own traceback.
    line = "error: unknown setting: lerning_rate (did you mean learning_rate?)"
    assert said == [line, line]
    assert done.stderr.splitlines()[-1] == line


def test_of_two_processes_the_first_prints_the_plan(tmp_path):
    command = recipe("--dry-run", launch="cpu2_ddp.yaml", per_device_train_batch_size=4)
    done = run(by_module(command), tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith(
        "512 completions / 8 a step = 64 optimizer steps; 8 = 2 process(es) x 4 each"
    )
    assert done.stdout.count("nothing was run") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sftt", "--config", "x.yaml"], "there is no training method sftt; there are"),
        (["grpo", "--config", "x.yaml"], "x.yaml"),
        (["grpo", "--config"], "--config needs a file"),
        (["grpo", "--max_steps", "1"], "tasks is missing"),
    ],
)
def test_a_mistake_is_one_line(words, message, tmp_path):
    command = [*by_module(recipe())[:3], "train", *words]
    done = run(command, tmp_path)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("error: ")
    assert message in line
    assert not list(tmp_path.iterdir())
