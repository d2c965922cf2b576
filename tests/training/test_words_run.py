"""Whole runs with credit for each word and rarity, on two processes."""

import json

import pytest
import torch
from safetensors.torch import load_file

from grpo_runs import recipe, run

SCORER = {"noun_checker": "jumandic"}
REWARDS = [f"sozo.rewards.make_dat_{name}" for name in ("usable", "distance", "rarity")]
BEYOND = {
    "multi_objective_aggregation": "normalize_then_sum",
    "credit": "word",
}
BEYOND |= {"max_steps": 3, "save_steps": 3}
BEYOND |= {"output_dir": "out", "report_to": "none", "loss_type": "dapo"}


def command(mini, **settings):
    task = {"task": "dat", **SCORER, "reward_funcs": REWARDS}
    task["reward_args"] = dict.fromkeys(REWARDS, SCORER)
    task["reward_weights"] = [1.0, 1.0, 0.3]
    return recipe(model_name_or_path=mini, tasks=[task], **BEYOND | settings)


def counts(output):
    """Rarity's counts of words in the last checkpoint."""
    file = output / "checkpoint-3" / "state_2.json"
    return json.loads(file.read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "launch", ["cpu2_ddp.yaml", "cpu2_zero2.yaml", "cpu2_zero3.yaml"]
)
def test_two_processes_do_what_one_does(launch, mini, tmp_path):
    for name, more in (
        ("one", {}),
        ("two", {"launch": launch, "per_device_train_batch_size": 4}),
    ):
        (tmp_path / name).mkdir()
        done = run(command(mini, **more), tmp_path / name)
        assert done.returncode == 0, done.stderr
    one, two = tmp_path / "one" / "out", tmp_path / "two" / "out"
    assert counts(one) == counts(two)
    weights, expected = (
        load_file(folder / "model.safetensors") for folder in (two, one)
    )
    assert all(
        torch.allclose(weights[name], expected[name], atol=1e-4) for name in expected
    )
