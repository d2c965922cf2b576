"""What a mix trains and logs is what TRL does: grouping a step's completions by prompt changes no weight, no key.

However the completions are cut into micro-batches. With weights in double precision, so that what another order of sums
changes stays below the tolerance; what the two log-probabilities are rounded to is single.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mix_steps
from mix_steps import differences, mixtral
from mixes import batches, rows_of
from scripted_grpo import tiny_llama
from sozo.training.grpo_trainer import by_prompt

CLIPPED = {"clip_ratio/region_mean", "cispo_clip_ratio"}
OF_THE_POLICY = {
    "clip_ratio/low_mean",
    "clip_ratio/low_min",
    "clip_ratio/high_mean",
    "clip_ratio/high_max",
}
SHORT, MIDDLE, LONG = "1. 犬 2. 猫 3. 犬", "1. 山", "1. 猫 2. 水"
MIXES = {
    "1 and 20": {SHORT: 1, LONG: 20},
    "2, 7 and 20": {SHORT: 2, MIDDLE: 7, LONG: 20},
    "alike": {SHORT: 9, LONG: 9},
    "one prompt": {LONG: 20},
}


def double(vocabulary, kind=tiny_llama):
    """A model in double precision, which is how it is saved and loaded."""
    return kind(vocabulary).double()


def check(difference, moved, logged, of_trl, tolerance=1e-6):
    """Same weights, same keys, same values."""
    assert moved > 1e-3
    assert difference < 1e-6
    assert len(logged) == len(of_trl) > 0
    for ours, theirs in zip(logged, of_trl, strict=True):
        assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance, nan_ok=True)


def compared(folder, loss="dapo", **settings):
    """Check what is trained and logged; that there is something to see of what settings ask for."""
    fixed = {"model_init_kwargs": {"dtype": "auto"}, "loss_type": loss, "beta": 0.04}
    fixed |= {"epsilon": 1e-3, "epsilon_high": 1e-3, "num_iterations": 2}
    if loss == "luspo":
        fixed["importance_sampling_level"] = "sequence"
    if loss == "cispo":
        fixed["epsilon_high"] = 1.0  # a bound for the ratio itself
    fixed |= {"per_device_train_batch_size": 4} | settings
    difference, moved, logged, of_trl = differences(folder, double, **fixed)
    check(difference, moved, logged, of_trl)
    names = of_trl[0].keys()
    assert {"loss", "entropy", "reward", "grad_norm"} <= names
    if fixed["beta"]:
        assert max(entry["kl"] for entry in of_trl) > 1e-4
    if loss in ("grpo", "bnpo", "dr_grpo", "dapo", "luspo"):
        assert names >= OF_THE_POLICY
    for name in CLIPPED & names:
        if fixed["num_iterations"] > 1:
            assert max(entry[name] for entry in of_trl) > 0


@pytest.mark.parametrize(
    ("loss", "size"),
    [
        ("grpo", 4),
        ("dr_grpo", 16),
        ("dapo", 32),
        ("dapo", 1),
        ("bnpo", 2),  # whose mean is a micro-batch's
        ("bnpo", 16),
        ("cispo", 8),
        ("sapo", 4),
        ("luspo", 16),
        ("vespo", 4),
    ],
)
def test_every_loss_of_trl(loss, size, tmp_path):
    compared(tmp_path, loss, per_device_train_batch_size=size)


@pytest.mark.parametrize("mix", MIXES)
def test_other_mixes(mix, tmp_path, monkeypatch):
    monkeypatch.setattr(mix_steps, "PROMPTS", MIXES[mix])
    three = {"completions_per_step": 48} if len(MIXES[mix]) == 3 else {}
    compared(tmp_path, **three)


@pytest.mark.parametrize(
    ("loss", "settings"),
    [
        ("dapo", {"beta": 0.0, "num_iterations": 1}),
        ("grpo", {"num_iterations": 3, "max_steps": 4, "logging_steps": 2}),
        ("dapo", {"num_generations": 8, "shuffle_dataset": False}),
        # Eight micro-batches are a step: a generation of two steps, and one that ends in the middle of a step.
        ("bnpo", {"steps_per_generation": 16, "num_generations": 8}),
        ("grpo", {"steps_per_generation": 12, "num_generations": 8}),
        (
            "dapo",
            {
                "steps_per_generation": 4,
                "gradient_accumulation_steps": 8,
                "completions_per_step": None,
                "num_iterations": 1,
            },
        ),
        ("dapo", {"mask_truncated_completions": True, "max_completion_length": 10}),
        ("grpo", {"scale_rewards": "batch", "delta": 1.5}),
        ("cispo", {"importance_sampling_level": "sequence"}),
        # Smaller steps: with gradients of norm 100 what one step rounds is 200 times as much in the next.
        ("luspo", {"importance_sampling_level": "token", "learning_rate": 0.01}),
        ("dr_grpo", {"off_policy_mask_threshold": 0.01}),
        ("dapo", {"use_bias_correction_kl": True}),
        ("dapo", {"entropy_coef": 0.5}),
        (
            "dapo",
            {"entropy_coef": 0.5, "use_adaptive_entropy": True, "entropy_target": 9.0},
        ),
        ("dapo", {"top_entropy_quantile": 0.3}),
    ],
    ids=str,
)
def test_settings_beside_the_loss(loss, settings, tmp_path):
    compared(tmp_path, loss, **settings)


def test_a_routers_auxiliary_loss(tmp_path):
    # Its kernels know no double precision.
    found = differences(
        tmp_path, mixtral, loss_type="dapo", beta=0.04, per_device_train_batch_size=4
    )
    assert "aux_loss" in found[-1][0]
    check(*found, tolerance=1e-4)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (6, [[1, 2], [7, 11], [4, 8], [10, 0], [3, 5], [6, 9]]),
        (3, [[1, 2], [4, 0], [3, 5], [7, 11], [8, 10], [6, 9]]),
        (2, [[1, 2], [0, 3], [7, 4], [5, 6], [11, 8], [10, 9]]),
        (4, [[1, 2], [0, 3], [7, 4], [5, 6], [11, 8], [10, 9]]),
        (12, [[1, 2], [7, 11], [4, 8], [10, 0], [3, 5], [6, 9]]),
    ],
)
def test_the_windows(steps, expected):
    # A step ends after so many micro-batches. Of six, 4 and 2 end together only after each second one.
    mixed = batches(
        *("abc", "b", "b", "abc", "c", "abc", "abc", "b", "c", "abc", "c", "b"), size=2
    )
    assert rows_of(by_prompt(mixed, steps)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "processes"), [("grpo", 2), ("bnpo", 2), ("luspo", 2), ("dapo", 4)]
)
def test_on_several_processes(loss, processes, tmp_path):
    # Each process has groups of both prompts.
    groups = {
        "completions_per_step": 64,
        "num_generations": 8,
        "shuffle_dataset": False,
        "num_iterations": 2,
    }
    groups |= {"importance_sampling_level": "sequence"} if loss == "luspo" else {}
    settings = json.dumps(
        {"loss_type": loss, "per_device_train_batch_size": 4, "beta": 0.04, **groups}
    )
    helpers = Path(__file__).parents[1] / "helpers"
    launch = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
    ]
    done = subprocess.run(
        [
            sys.executable,
            *launch,
            str(helpers / "mix_steps.py"),
            str(tmp_path),
            settings,
        ],
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for rank in range(processes):
        check(*json.loads((tmp_path / f"{rank}.json").read_text()), tolerance=1e-4)
