"""What a mix logs is what TRL logs, key by key, however its completions are cut into micro-batches.

With weights in double precision, so that what another order of sums changes stays below the tolerance; what the two
log-probabilities are rounded to is single.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import mix_steps
from mix_steps import differences, mixtral
from scripted_grpo import tiny_llama

LOSSES = ["grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo"]
CLIPPED = {"clip_ratio/region_mean", "cispo_clip_ratio"}
OF_THE_POLICY = {
    "clip_ratio/low_mean",
    "clip_ratio/low_min",
    "clip_ratio/high_mean",
    "clip_ratio/high_max",
}
FIXED = {"model_init_kwargs": {"dtype": "auto"}, "epsilon": 1e-3, "epsilon_high": 1e-3}


def double(vocabulary, kind=tiny_llama):
    """A model in double precision, which is how it is saved and loaded."""
    return kind(vocabulary).double()


SHORT, MIDDLE, LONG = "1. 犬 2. 猫 3. 犬", "1. 山", "1. 猫 2. 水"
MIXES = {
    "2 and 20": {SHORT: 2, LONG: 20},
    "1 and 20": {SHORT: 1, LONG: 20},
    "20 and 2": {SHORT: 20, LONG: 2},
    "2, 7 and 20": {SHORT: 2, MIDDLE: 7, LONG: 20},
    "alike": {SHORT: 9, LONG: 9},
    "one prompt": {LONG: 20},
}


def unlike(logged, of_trl, tolerance=1e-6):
    """The keys whose values differ, with the first step's number and both values."""
    assert [entry.keys() for entry in logged] == [entry.keys() for entry in of_trl]
    found = {}
    for step, (ours, theirs) in enumerate(zip(logged, of_trl, strict=True), 1):
        for name, value in theirs.items():
            if ours[name] != pytest.approx(
                value, rel=tolerance, abs=tolerance, nan_ok=True
            ):
                found.setdefault(name, (step, ours[name], value))
    return found


def compared(folder, model=double, **settings):
    """What differs; that there is something to see of what settings ask for."""
    loss = settings.get("loss_type", "dapo")
    fixed = FIXED | {"loss_type": loss, "beta": 0.04, "num_iterations": 2}
    if loss == "luspo":
        fixed["importance_sampling_level"] = "sequence"
    if loss == "cispo":
        fixed["epsilon_high"] = 1.0  # a bound for the ratio itself
    _, moved, logged, of_trl = differences(folder, model, **fixed | settings)
    assert moved > 1e-3
    assert len(logged) == len(of_trl) > 0
    names = of_trl[0].keys()
    assert {
        "loss",
        "entropy",
        "reward",
        "grad_norm",
        "completions/mean_length",
        "frac_reward_zero_std",
    } <= names
    if settings.get("beta", 0.04):
        assert max(entry["kl"] for entry in of_trl) > 1e-4
    if loss in ("grpo", "bnpo", "dr_grpo", "dapo", "luspo"):
        assert names >= OF_THE_POLICY
    for name in CLIPPED & names:
        if settings.get("num_iterations", 2) > 1:
            assert max(entry[name] for entry in of_trl) > 0
    return unlike(logged, of_trl)


@pytest.mark.parametrize("size", [4, 16, 32])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_key_of_every_loss(loss, size, tmp_path):
    assert compared(tmp_path, loss_type=loss, per_device_train_batch_size=size) == {}


@pytest.mark.parametrize("size", [1, 2, 8])
def test_other_micro_batches(size, tmp_path):
    assert compared(tmp_path, per_device_train_batch_size=size) == {}


@pytest.mark.parametrize("mix", MIXES)
def test_other_mixes(mix, tmp_path, monkeypatch):
    monkeypatch.setattr(mix_steps, "PROMPTS", MIXES[mix])
    groups = (
        {"completions_per_step": 48, "num_generations": 16}
        if len(MIXES[mix]) == 3
        else {}
    )
    assert compared(tmp_path, per_device_train_batch_size=4, **groups) == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"beta": 0.0},
        {"num_iterations": 1},
        {"num_iterations": 3, "max_steps": 6},
        {"logging_steps": 3},
        {"logging_steps": 2, "max_steps": 4, "loss_type": "grpo"},
        {"num_generations": 8},
        {"num_generations": 4, "shuffle_dataset": False},
        {"steps_per_generation": 16, "num_generations": 8},
        {"steps_per_generation": 12, "num_generations": 8, "loss_type": "grpo"},
        {
            "steps_per_generation": 4,
            "gradient_accumulation_steps": 8,
            "completions_per_step": None,
            "num_iterations": 1,
        },
        {"mask_truncated_completions": True, "max_completion_length": 10},
        {"loss_type": "grpo", "scale_rewards": "batch", "delta": 1.5},
        {"loss_type": "grpo", "importance_sampling_level": "sequence"},
        # Smaller steps: with gradients of norm 100 what one step rounds is 200 times as much in the next.
        {
            "loss_type": "luspo",
            "importance_sampling_level": "token",
            "learning_rate": 0.01,
        },
        {"loss_type": "dr_grpo", "off_policy_mask_threshold": 0.01},
        {"use_bias_correction_kl": True},
        {"epsilon": 0.2, "epsilon_high": 0.001},
        {"entropy_coef": 0.5},
        {"entropy_coef": 0.5, "use_adaptive_entropy": True, "entropy_target": 9.0},
        {"top_entropy_quantile": 0.3},
    ],
    ids=lambda settings: "-".join(
        f"{name}={value}" for name, value in settings.items()
    ),
)
def test_settings_beside_the_loss(settings, tmp_path):
    assert compared(tmp_path, per_device_train_batch_size=4, **settings) == {}


def test_a_routers_auxiliary_loss_is_logged_alike(tmp_path):
    # Its kernels know no double precision.
    *_, logged, of_trl = differences(
        tmp_path, mixtral, loss_type="dapo", beta=0.04, per_device_train_batch_size=4
    )
    assert "aux_loss" in of_trl[0]
    assert unlike(logged, of_trl, 2e-5) == {}


@pytest.mark.parametrize("size", [16, 4])
def test_at_the_first_step_one_model_s_entropy_is_trl_s(size, tmp_path):
    settings = FIXED | {
        "loss_type": "dapo",
        "beta": 0.04,
        "per_device_train_batch_size": size,
        "max_steps": 1,
    }
    _, _, logged, of_trl = differences(tmp_path, double, **settings)
    assert logged[0]["entropy"] == pytest.approx(of_trl[0]["entropy"], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [4, 16, 32])
def test_two_processes(loss, size, tmp_path):
    groups = {
        "completions_per_step": 64,
        "num_generations": 8,
        "shuffle_dataset": False,
        "num_iterations": 2,
    }
    groups |= {"importance_sampling_level": "sequence"} if loss == "luspo" else {}
    settings = json.dumps(
        FIXED
        | {
            "loss_type": loss,
            "per_device_train_batch_size": size,
            "beta": 0.04,
            **groups,
        }
    )
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *launch, __file__, str(tmp_path), settings],
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for rank in range(2):
        *_, logged, of_trl = json.loads((tmp_path / f"{rank}.json").read_text())
        assert unlike(logged, of_trl) == {}


if __name__ == "__main__":
    result = differences(Path(sys.argv[1]), double, **json.loads(sys.argv[2]))
    Path(sys.argv[1], f"{torch.distributed.get_rank()}.json").write_text(
        json.dumps(result)
    )
    torch.distributed.destroy_process_group()
