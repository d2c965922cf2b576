"""What a mix trains and logs is what TRL does: grouping a step's completions by prompt changes no weight, no key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mix_steps import differences, mixtral
from mixes import batches, rows_of
from sozo.training.grpo_trainer import by_prompt
from sozo.training.shared_prompt import packed

LOSSES = ["grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo"]


def check(difference, moved, logged, of_trl):
    assert moved > 1e-3
    assert difference < 1e-6
    assert len(logged) == len(of_trl) == 3
    for ours, theirs in zip(logged, of_trl, strict=True):
        assert theirs.keys() > {"loss", "grad_norm", "entropy"}
        # Sums in another order, in float32.
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("loss", "size"),
    [
        *((loss, 4) for loss in LOSSES),
        *(("bnpo", size) for size in (2, 16)),  # whose mean is a micro-batch's
        *(
            pytest.param(loss, size, marks=pytest.mark.slow)
            for loss in LOSSES
            if loss != "bnpo"
            for size in (2, 16)
        ),
    ],
)
def test_every_loss_of_trl(loss, size, tmp_path):
    level = {"importance_sampling_level": "sequence"} if loss == "luspo" else {}
    settings = {
        "loss_type": loss,
        "per_device_train_batch_size": size,
        "beta": 0.04,
        "num_iterations": 2,
    }
    check(*differences(tmp_path, **settings, **level))


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_with_whole_answers_weighed(loss, tmp_path):
    settings = {
        "importance_sampling_level": "sequence",
        "beta": 0.04,
        "num_iterations": 2,
        "epsilon": 1e-3,
    }
    settings |= (
        {"epsilon_high": 1.0} if loss == "cispo" else {}
    )  # a bound for the ratio itself
    check(
        *differences(
            tmp_path, loss_type=loss, per_device_train_batch_size=4, **settings
        )
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"loss_type": "dapo", "top_entropy_quantile": 0.3},
        {"loss_type": "dapo", "entropy_coef": 0.5},
        {
            "loss_type": "dapo",
            "use_adaptive_entropy": True,
            "entropy_coef": 0.5,
            "entropy_target": 9.0,
        },
        {
            "loss_type": "grpo",
            "importance_sampling_level": "sequence",
            "num_iterations": 2,
        },
        {
            "loss_type": "dapo",
            "beta": 0.04,
            "use_bias_correction_kl": True,
            "num_iterations": 2,
        },
        {"loss_type": "luspo", "importance_sampling_level": "token"},
        {
            "loss_type": "dr_grpo",
            "off_policy_mask_threshold": 0.01,
            "num_iterations": 2,
        },
        {
            "loss_type": "grpo",
            "scale_rewards": "batch",
            "delta": 1.5,
            "mask_truncated_completions": True,
        },
        {"loss_type": "dapo", "shuffle_dataset": False, "num_generations": 8},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_settings_beside_the_loss(settings, tmp_path):
    check(*differences(tmp_path, per_device_train_batch_size=4, **settings))


def test_a_routers_auxiliary_loss(tmp_path):
    check(
        *differences(tmp_path, mixtral, loss_type="dapo", per_device_train_batch_size=4)
    )


@pytest.mark.parametrize("loss", ["dapo", "grpo", "bnpo"])
@pytest.mark.parametrize("generation", [16, 12])
def test_completions_stay_in_their_step(loss, generation, tmp_path):
    # Eight micro-batches are a step: a generation of two steps, and one that ends in the middle of a step.
    sizes = {"per_device_train_batch_size": 4, "num_generations": 8}
    check(
        *differences(tmp_path, loss_type=loss, steps_per_generation=generation, **sizes)
    )


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
    ("loss", "processes"),
    [*((loss, 2) for loss in LOSSES), ("bnpo", 4), ("dapo", 4), ("grpo", 4)],
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
        check(*json.loads((tmp_path / f"{rank}.json").read_text()))


def test_the_packed_prompt_serves_several_prompts_of_a_batch(tmp_path, monkeypatch):
    # Where TRL's own batches stand: a micro-batch is one row all the same, each prompt in it once.
    seen = []

    def counting(ids, layout):
        seen.append(len(layout.parts))
        return packed(ids, layout)

    monkeypatch.setattr("sozo.training.shared_prompt.packed", counting)
    check(*differences(tmp_path, loss_type="bnpo", per_device_train_batch_size=16))
    assert len(seen) == 1 + 6  # the trial, and all micro-batches of three steps
    assert set(seen) == {2}
