"""The recipe run as a user runs it: what it leaves, resuming after a kill, own rewards, TRL's own command."""

import json
import signal
import socket
import sqlite3
import sys

import pytest
import trl.scripts.grpo
from transformers import AutoModelForCausalLM, AutoTokenizer

from grpo_runs import (
    generated,
    logged,
    recipe,
    recorded,
    run,
    same_weights,
    wandb_records,
)
from sentences import says
from sozo.data.prompts import messages, prompt
from sozo.data.wandb_run import WandbRun, last_checkpoint, trained_by

DAT_METRICS = {
    "dat/usable",
    "dat/different_words",
    "dat/duplicate_share",
    "dat/reason/format",
}


@pytest.fixture(scope="session")
def finished(tmp_path_factory, mini):
    """A run of four steps, and the command that made it."""
    folder = tmp_path_factory.mktemp("run")
    command = recipe(
        model_name_or_path=mini, output_dir="out", max_steps=4, save_steps=2
    )
    keys = {"HF_TOKEN": "hf_secretsecret", "WANDB_API_KEY": "0123456789" * 4}
    done = run(command, folder, **keys)
    assert done.returncode == 0, done.stderr
    assert "The trained model is in out" in done.stdout
    return folder, command


# What a run leaves


def test_a_run_leaves_its_settings_metrics_and_model(finished):
    output = finished[0] / "out"
    record = recorded(output)
    settings = record["settings"]
    assert settings["training"]["learning_rate"] == 5e-4
    assert settings["rewards"][0]["task"] == "dat"
    assert settings["rewards"][0]["embedding_model"] == "ja-ginza"
    assert "trl" in record["environment"]["packages"]
    assert (
        json.loads((output / "metrics.json").read_text("utf-8"))["train_loss"]
        is not None
    )
    entries = logged(output)
    assert [entry["step"] for entry in entries] == [1, 2, 3, 4]
    assert all(set(entry) >= DAT_METRICS for entry in entries)
    assert any(entry["dat/usable"] > 0 for entry in entries)
    assert last_checkpoint(output) == output / "checkpoint-4"
    (offline,) = output.glob("wandb/offline-run-*")
    assert (
        trained_by(output)
        == trained_by(output / "checkpoint-4")
        == WandbRun(offline.name.rpartition("-")[2], "sozo")
    )
    assert sum(text.startswith("1. ") for text in generated(output)) >= 4


def test_secrets_are_in_no_file(finished):
    files = [path for path in finished[0].rglob("*") if path.is_file()]
    assert len(files) > 20
    for path in files:
        content = path.read_bytes()
        assert b"hf_secretsecret" not in content, path
        assert b"0123456789" * 4 not in content, path


@pytest.mark.parametrize(
    ("tracker", "file", "query"),
    [
        ("mlflow", "mlflow.db", "SELECT key, value FROM metrics"),
        (
            "trackio",
            "trackio/huggingface.db",
            "SELECT substr(key, 7), value FROM metrics, json_each(metrics.metrics)",
        ),  # train/reward
    ],
)
def test_another_tracker_has_every_steps_numbers(tracker, file, query, mini, tmp_path):
    pytest.importorskip(tracker)
    settings = {"model_name_or_path": mini, "output_dir": "out", "report_to": tracker}
    done = run(recipe(**settings, max_steps=2), tmp_path, TRACKIO_DIR="trackio")
    assert done.returncode == 0, done.stderr
    rows = set(sqlite3.connect(tmp_path / file).execute(query))
    assert rows >= {
        (name, entry[name])
        for entry in logged(tmp_path / "out")
        for name in ("reward", "dat/usable")
    }


def test_the_wandb_run_has_the_settings_and_every_steps_completions(finished):
    output = finished[0] / "out"
    records = list(wandb_records(output))
    (config,) = [
        json.loads(item.value_json)
        for record in records
        if record.HasField("run")
        for item in record.run.config.update
        if item.key == "sozo"
    ]
    record = recorded(output)
    parts = {"what": "settings", "how": "how", "free": "free"}
    assert config == {name: record[part] for name, part in parts.items()}
    assert {"run_name", "output_dir"} <= set(config["free"]["training"])
    keys = {
        item.key or "/".join(item.nested_key)
        for record in records
        if record.HasField("history")
        for item in record.history.item
    }
    assert {
        "train/reward",
        "train/dat/usable",
        "train/dat/different_words",
        "dat/completions/path",
    } <= keys
    tables = [
        json.loads(path.read_text("utf-8"))
        for path in output.glob("wandb/offline-run-*/files/**/*.table.json")
    ]
    rows = [
        dict(zip(table["columns"], row, strict=True))
        for table in tables
        for row in table["data"]
    ]
    assert sorted(row["step"] for row in rows) == [
        step for step in (1, 2, 3, 4) for _ in range(8)
    ]
    for row in rows:
        assert (row["score"] is None) == (row["reason"] is not None)
        paid = 0.0 if row["score"] is None or row["duplicate"] else 10 * row["score"]
        assert row["reward"] == pytest.approx(paid)


def test_a_finished_run_is_left_alone_and_another_one_is_refused(finished):
    folder, command = finished

    def changes():
        """Every file; W&B's own service writes its log for a moment after the run has ended."""
        files = (path for path in folder.rglob("*") if path.name != "debug-core.log")
        return {path: path.is_file() and path.read_bytes() for path in files}

    before = changes()
    again = run(command, folder)
    assert again.returncode == 0, again.stderr
    assert says("train: finished", again.stderr)
    other = run([*command, "--learning_rate", "1e-3"], folder)
    assert other.returncode == 2
    assert says("train: another run's folder", other.stderr)
    assert changes() == before


# Resuming


def test_a_killed_run_of_a_mix_resumes_to_what_an_unbroken_one_gives(
    mini, tmp_path, monkeypatch
):
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    command = recipe(
        model_name_or_path=mini,
        output_dir="out",
        max_steps=4,
        save_steps=2,
        save_total_limit=10,
        completions_per_step=16,
        num_generations=4,
        tasks=[
            {
                "task": "dat",
                "reward_funcs": [
                    "sozo.rewards.make_dat_reward",
                    "stopping_reward.stop",
                ],
                "reward_args": {
                    "sozo.rewards.make_dat_reward": {"noun_checker": "jumandic"}
                },
            },
            {
                "task": "lipogram",
                "measure": "lipogram/words",
                "penalise_duplicates": True,
            },
        ],
    )
    unbroken = run([*command, "--report_to", "none"], tmp_path / "whole")
    assert unbroken.returncode == 0, unbroken.stderr

    output = tmp_path / "killed" / "out"
    killed = run(command, output.parent, STOP_AT="4", STOP_BY="SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (output / "checkpoint-4").exists()
    wandb_run = json.loads((output / "checkpoint-2" / "sozo_state.json").read_text())[
        "wandb_run_id"
    ]

    resumed = run(command, output.parent)
    assert resumed.returncode == 0, resumed.stderr
    whole = tmp_path / "whole" / "out"
    assert same_weights(output, whole)
    assert not same_weights(mini, whole)
    for number in range(2):  # each task has a history of its own
        seen = [
            folder / "checkpoint-4" / f"state_{number}.json"
            for folder in (output, whole)
        ]
        assert seen[0].read_bytes() == seen[1].read_bytes()
        assert len(seen[0].read_bytes()) > 100
    assert logged(output) == logged(whole)
    assert len(logged(whole)) == 4
    assert (
        json.loads((output / "checkpoint-4" / "sozo_state.json").read_text())[
            "wandb_run_id"
        ]
        == wandb_run
    )
    assert {
        path.name.rpartition("-")[2] for path in output.glob("wandb/offline-run-*")
    } == {wandb_run}


# Rewards and prompts of the user's own


def test_an_own_reward_next_to_the_dat_reward_and_a_model_without_chat_template(
    mini, tmp_path
):
    tokenizer = AutoTokenizer.from_pretrained(mini)
    tokenizer.chat_template = None
    model = AutoModelForCausalLM.from_pretrained(mini)
    for part in (tokenizer, model):
        part.save_pretrained(tmp_path / "base")
    (tmp_path / "my_reward.py").write_text(
        "def lines(prompts, completions, **kwargs):\n"
        "    assert all(isinstance(text, str) for text in [*prompts, *completions])\n"
        "    return [float(text.count('\\n')) for text in completions]\n"
    )
    command = recipe(
        model_name_or_path="base",
        output_dir="out",
        max_steps=2,
        report_to="none",
        tasks=[
            {
                "task": "dat",
                "reward_funcs": ["sozo.rewards.make_dat_reward", "my_reward.lines"],
                "reward_args": {
                    "sozo.rewards.make_dat_reward": {"noun_checker": "jumandic"}
                },
                "reward_weights": [1.0, 0.25],
            }
        ],
    )
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "out" / "wandb").exists()
    assert "reward: 1 x dat_reward + 0.25 x lines\n" in done.stdout
    assert len(logged(tmp_path / "out")) == 2
    for entry in logged(tmp_path / "out"):
        assert 0 < entry["rewards/lines/mean"] < 30
        expected = entry["rewards/dat_reward/mean"] + 0.25 * entry["rewards/lines/mean"]
        assert entry["reward"] == pytest.approx(expected)


def test_trls_own_command_takes_the_reward(mini, tmp_path):
    rows = [
        json.dumps({"prompt": messages(prompt("dat"))}, ensure_ascii=False)
        for _ in range(8)
    ]
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "train.jsonl").write_text("\n".join(rows), "utf-8")
    # As docs/rewards.md has it.
    (tmp_path / "my_reward.py").write_text(
        "from sozo.rewards import make_dat_reward\n\nreward = make_dat_reward(noun_checker='jumandic')\n"
    )
    words = "--reward_funcs my_reward.reward --dataset_name prompts --output_dir out --max_steps 2 --use_cpu true"
    words += " --bf16 false --max_completion_length 24 --top_k 0 --per_device_train_batch_size 8 --logging_steps 1"
    words += " --report_to none --num_generations 8 --log_completions false --save_strategy no"
    script = trl.scripts.grpo.__file__  # what the command launches
    command = [sys.executable, script, *words.split(), "--model_name_or_path", mini]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dat/usable" in done.stdout
    assert "rewards/dat_reward/mean" in done.stdout


def test_a_run_on_this_machine_connects_to_nobody(mini, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        proxies = {
            name: address
            for kind in ("HTTP", "HTTPS", "ALL")
            for name in (f"{kind}_PROXY", f"{kind}_proxy".lower())
        }
        nobody = {
            **proxies,
            "NO_PROXY": "",
            "no_proxy": "",
            "CI": "",
            "HF_HUB_OFFLINE": "0",
        }
        done = run(
            recipe(model_name_or_path=mini, output_dir="out", max_steps=1),
            tmp_path,
            **nobody,
        )
        assert done.returncode == 0, done.stderr
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()
