"""Nothing wrong passes a plan: the table that `wrong_settings.py` writes has every setting, and is what is said today."""

import csv
from collections import Counter

import pytest
import yaml

import wrong_settings as wrong
from setting_names import table
from sozo.data.record import read_json
from sozo.training.names import TABLE

with wrong.TABLE.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


def test_the_table_has_three_values_of_every_setting():
    held = Counter((m, row["setting"]) for row in ROWS for m in row["methods"].split())
    there = {(method, name) for method, name, _ in wrong.settings()}
    assert held == Counter(dict.fromkeys(there, 3))


def test_the_names_are_those_of_the_installed_libraries():
    assert read_json(TABLE) == table()


def test_each_is_refused_or_missing_or_has_a_reason():
    left = [row for row in ROWS if row["outcome"] == "left to TRL"]
    said = [row for row in ROWS if row not in left]
    assert {row["outcome"] for row in said} == {"refused", "missing", "not known"}
    assert all(row["said"] for row in said)
    unknown = {row["setting"] for row in ROWS if row["outcome"] == "not known"}
    assert unknown == set(wrong.REASON)


@pytest.mark.filterwarnings("ignore")
def test_it_is_what_is_said_today(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # argparse asks the terminal for each flag
    other = []
    for number, row in enumerate(ROWS):
        methods = row["methods"].split()
        method = methods[
            number % len(methods)
        ]  # seconds: not each with all of its methods
        value = yaml.safe_load(row["value"])
        told = wrong.said(method, {row["setting"]: value}, tmp_path)
        said, _, how = row["said"].partition(": pip install")
        installed = how and told == ("left to TRL", "")
        # How a package is installed beside a wheel is not how it is in a clone.
        expected = (row["outcome"], said)
        if (
            told[0],
            told[1].partition(": pip install")[0],
        ) != expected and not installed:
            other.append((method, row["setting"], row["value"], told))
    assert not other


# What switches a setting off, or lies at the end of its range, or is no plain number: legitimate.
RIGHT = [
    (
        "sft",
        {"adam_epsilon": 0, "attn_implementation": "kernels-community/flash-attn2"},
    ),
    ("sft", {"data_seed": -3, "debug": "underflow_overflow", "lora_dropout": 0}),
    ("sft", {"learning_rate": 0, "local_rank": -1, "weight_decay": 0}),
    ("sft", {"logging_steps": 0.5, "save_steps": 0.1, "warmup_steps": 0.1}),
    ("sft", {"lr_scheduler_type": "constant", "optim": "adafactor"}),
    ("sft", {"lr_scheduler_type": "cosine", "lr_scheduler_kwargs": {"num_cycles": 1}}),
    ("sft", {"max_grad_norm": wrong.INF, "max_length": None, "neftune_noise_alpha": 0}),
    ("sft", {"model_revision": None, "run_name": None}),
    ("sft", {"max_steps": -1, "num_train_epochs": 0.5, "save_total_limit": None}),
    ("sft", {"pad_to_multiple_of": 8, "report_to": ["wandb"], "save_strategy": "no"}),
    ("sft", {"pad_to_multiple_of": "none", "router_aux_loss_coef": 0, "seed": 0}),
    ("sft", {"activation_checkpointing_kwargs": {"use_reentrant": False}}),
    ("dpo", {"beta": 0, "ld_alpha": 1, "loss_type": ["sigmoid", "sft"]}),
    ("dpo", {"label_smoothing": 0, "loss_type": "ipo", "ref_model_mixup_alpha": 1}),
    ("grpo", {"beta": 0, "canary_steps": 0, "delta": wrong.INF, "entropy_coef": -0.1}),
    ("grpo", {"epsilon_high": 5, "min_p": 0, "scale_rewards": "none", "top_p": 1}),
    ("grpo", {"scale_rewards": False}),  # as TRL's own page and most YAMLs write it
    ("grpo", {"scale_rewards": True}),
    ("grpo", {"sampler": "trl", "repetition_penalty": 0.9, "top_k": 50}),
    ("grpo", {"vllm_server_base_url": "http://gpu:8000", "vllm_server_timeout": 0}),
]


@pytest.mark.parametrize(("method", "changed"), RIGHT)
@pytest.mark.filterwarnings("ignore")
def test_what_is_right_passes(method, changed, tmp_path):
    assert wrong.plan(method, changed, tmp_path) is None
