"""What a mix trains is what TRL does: grouping a step's completions by prompt changes no weight, and no key of the log.

However the completions are cut into micro-batches. With weights in double precision, so that what another order of sums
changes stays below the tolerance; what the two log-probabilities are rounded to is single.
"""

import pytest

import mix_steps
from mix_steps import differences, mixtral
from mixes import batches, rows_of
from scripted_grpo import tiny_llama
from sozo.training.grpo_trainer import by_prompt

OF_A_STEP = {"loss", "grad_norm", "reward", "reward_std"}
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
    """Same weights, same keys, the same of a step as a whole: the other values are means over micro-batches."""
    assert moved > 1e-3
    assert difference < 1e-6
    assert len(logged) == len(of_trl) > 0
    for ours, theirs in zip(logged, of_trl, strict=True):
        assert ours.keys() == theirs.keys()
        for name in OF_A_STEP & theirs.keys():
            near = pytest.approx(
                theirs[name], rel=tolerance, abs=tolerance, nan_ok=True
            )
            assert ours[name] == near, name


def compared(folder, loss="dapo", **settings):
    """Check what is trained and logged."""
    fixed = {"model_init_kwargs": {"dtype": "auto"}, "loss_type": loss, "beta": 0.04}
    fixed |= {"epsilon": 1e-3, "epsilon_high": 1e-3, "num_iterations": 2}
    if loss == "luspo":
        fixed["importance_sampling_level"] = "sequence"
    if loss == "cispo":
        fixed["epsilon_high"] = 1.0  # a bound for the ratio itself
    fixed |= {"per_device_train_batch_size": 4} | settings
    difference, moved, logged, of_trl = differences(folder, double, **fixed)
    check(difference, moved, logged, of_trl)


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
        ("dapo", {"num_generations": 8, "shuffle_dataset": False}),
        # Eight micro-batches are a step: a generation that ends in the middle of a step.
        ("grpo", {"steps_per_generation": 12, "num_generations": 8}),
        ("dapo", {"mask_truncated_completions": True, "max_completion_length": 10}),
        ("dr_grpo", {"off_policy_mask_threshold": 0.01}),
        ("dapo", {"entropy_coef": 0.5}),
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
