"""SFT, DPO and GRPO of two processes under DeepSpeed train as one process does, and leave a whole model."""

import json
import random
import sys

import pytest
from safetensors.torch import load_file
from transformers import AutoTokenizer

from fakes import list_text
from grpo_runs import history, recipe, run
from mini_model import build_mini
from sozo.data.schema import write_columns
from sozo.data.wandb_run import last_checkpoint

pytestmark = pytest.mark.slow
EVAL = [
    sys.executable,
    "-m",
    "sozo",
    "dat",
    "--num-answers",
    "64",
    "--max-new-tokens",
    "24",
]
EVAL += ["--noun-checker", "jumandic", "--batch-size", "64"]
SETTINGS = {"max_steps": 4, "save_steps": 2, "report_to": "none"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ginza, jumandic_checker, nouns):
    """A model of 64 nouns in `model` and 128 answers in `table`."""
    root = tmp_path_factory.mktemp("processes")
    build_mini(root / "model", ginza, jumandic_checker, nouns)
    vocabulary = AutoTokenizer.from_pretrained(root / "model").get_vocab()
    words = sorted(
        word for word, row in vocabulary.items() if row >= 14 and len(word) < 20
    )
    draw = random.Random(0)
    columns = {
        "id": [f"{row:03d}" for row in range(128)],
        "text": [
            list_text(draw.sample(words[:32] if row < 64 else words[32:], 10))
            for row in range(128)
        ],
        "score": [0.9 if row < 64 else None for row in range(128)],
        "reason": [None if row < 64 else "format" for row in range(128)],
    }
    write_columns(root / "table" / "part-00000.parquet", columns)
    return root


@pytest.mark.parametrize("method", ["dpo", "grpo"])
def test_lora_and_checkpointing_under_zero3(method, folder, tmp_path):
    settings = SETTINGS | {
        "model_name_or_path": folder / "model",
        "activation_checkpointing": True,
        "max_steps": 2,
    }
    settings |= {
        "use_peft": True,
        "lora_target_modules": "all-linear",
        "learning_rate": 1e-2,
    }
    if method == "dpo":
        settings |= {
            "answers": folder / "table",
            "num_pairs": 64,
            "precompute_ref_log_probs": False,
        }
    done = run(
        recipe(
            method=method,
            launch="cpu2_zero3.yaml",
            per_device_train_batch_size=4,
            **settings,
        ),
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    (output,) = tmp_path.glob("runs/tiny/*")
    trained = load_file(output / "adapter_model.safetensors")
    assert any(
        weight.abs().max() > 0 for name, weight in trained.items() if "lora_B" in name
    )
    assert all(
        weight.numel() for weight in trained.values()
    )  # whole, and not a shard's nothing
    assert not (output / "model.safetensors").exists()


@pytest.mark.parametrize("launch", ["cpu2_zero2.yaml", "cpu2_zero3.yaml"])
@pytest.mark.parametrize("method", ["sft", "dpo", "grpo"])
def test_two_processes_leave_a_whole_model(method, launch, folder, tmp_path):
    settings = SETTINGS | {"model_name_or_path": folder / "model"}
    if method != "grpo":
        settings |= {
            "answers": folder / "table",
            {"sft": "top_k", "dpo": "num_pairs"}[method]: 64,
        }
    two = recipe(
        method=method,
        launch=launch,
        output_dir="two",
        per_device_train_batch_size=4,
        **settings,
    )
    done = run(two, tmp_path)
    assert done.returncode == 0, done.stderr
    output = tmp_path / "two"
    assert last_checkpoint(output) == output / "checkpoint-4"
    logged = [entry for entry in history(output) if "loss" in entry]
    assert len(logged) == 4

    if method != "grpo":  # whose draws depend on the processes
        done = run(
            recipe(
                method=method,
                output_dir="one",
                per_device_train_batch_size=8,
                **settings,
            ),
            tmp_path,
        )
        assert done.returncode == 0, done.stderr
        alone = [
            entry["loss"] for entry in history(tmp_path / "one") if "loss" in entry
        ]
        assert [entry["loss"] for entry in logged] == pytest.approx(alone, abs=2e-3)

    start = load_file(folder / "model" / "model.safetensors")
    for trained in (output, output / "checkpoint-4"):
        weights = load_file(trained / "model.safetensors")
        # DeepSpeed writes tied weights twice.
        assert {name: weights[name].shape for name in start} == {
            name: weight.shape for name, weight in start.items()
        }
        assert any(not weights[name].equal(start[name]) for name in start)
        scored = tmp_path / f"{trained.name}-answers"
        done = run([*EVAL, "--model", str(trained), "--output", str(scored)], tmp_path)
        assert done.returncode == 0, done.stderr
        row = json.loads((scored / "metrics.json").read_text("utf-8"))
        assert row["num_answers"] == 64
        assert row["usable"] > 3
        assert 0.6 < row["measures"]["dat"]["mean"] < 1
