"""Whole runs with credit for each word, entropy, rarity and a target: killed and resumed, and on two processes."""

import json
import signal

import pytest
import torch
from safetensors.torch import load_file

from grpo_runs import logged, recipe, run, same_weights

SCORER = {"noun_checker": "jumandic"}
REWARDS = [f"sozo.rewards.make_dat_{name}" for name in ("usable", "distance", "rarity")]
BEYOND = {
    "multi_objective_aggregation": "normalize_then_sum",
    "credit": "word",
    "word_entropy": 0.1,
}
BEYOND |= {
    "different_words": 25,
    "different_words_of": 30,
    "max_steps": 6,
    "save_steps": 2,
    "save_total_limit": 10,
}
BEYOND |= {"output_dir": "out", "report_to": "none", "loss_type": "dapo"}


def command(mini, *others, **settings):
    task = {"task": "dat", **SCORER, "reward_funcs": [*REWARDS, *others]}
    task["reward_args"] = dict.fromkeys(REWARDS, SCORER)
    task["reward_weights"] = [1.0, 1.0, 0.3] + [0.0] * len(others)
    return recipe(model_name_or_path=mini, tasks=[task], **BEYOND | settings)


def states(output, step=6):
    """Word counts and the multiplier in a checkpoint."""
    folder = output / f"checkpoint-{step}"
    return [
        json.loads((folder / f"state_{number}.json").read_text("utf-8"))
        for number in (2, 3)
    ]


@pytest.mark.slow
def test_a_killed_run_resumes_with_its_counts_and_multiplier(mini, tmp_path):
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    words = command(mini, "stopping_reward.stop")
    unbroken = run(words, tmp_path / "whole")
    assert unbroken.returncode == 0, unbroken.stderr
    # What is paid by the word is no part of the logged reward.
    assert "reward: 1 x dat_usable + 0 x stop\n" in unbroken.stdout
    whole, output = tmp_path / "whole" / "out", tmp_path / "killed" / "out"
    killed = run(words, output.parent, STOP_AT="6", STOP_BY="SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = run(words, output.parent)
    assert resumed.returncode == 0, resumed.stderr
    assert states(output) == states(whole)
    counts, keep = states(whole)
    assert len(counts["words"]) > 20
    assert keep["multiplier"] != 1.0
    assert same_weights(output, whole)
    assert logged(output) == logged(whole)
    assert {"words/entropy", "words/multiplier"} <= logged(whole)[-1].keys()


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
        done = run(command(mini, max_steps=3, save_steps=3, **more), tmp_path / name)
        assert done.returncode == 0, done.stderr
    one, two = tmp_path / "one" / "out", tmp_path / "two" / "out"
    assert states(one, 3) == states(two, 3)
    weights, expected = (
        load_file(folder / "model.safetensors") for folder in (two, one)
    )
    assert all(
        torch.allclose(weights[name], expected[name], atol=1e-4) for name in expected
    )
    entropies = [
        [entry["words/entropy"] for entry in logged(folder)] for folder in (one, two)
    ]
    assert entropies[0] == pytest.approx(entropies[1], rel=1e-4)
