"""Real runs of two and four processes (DDP, ZeRO-2, ZeRO-3) pay what one process pays, and leave a whole model."""

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow.parquet import read_table
from safetensors.torch import load_file

from grpo_runs import environment, generated, history, recipe, run
from mini_model import build_mini
from sozo.data.record import read_json
from sozo.data.wandb_run import last_checkpoint
from sozo.rewards import make_task_reward
from sozo.rewards.dat import DatReward
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from two_ranks import gone


@pytest.fixture(scope="module")
def parrot(tmp_path_factory, ginza, jumandic_checker, nouns):
    """A model that knows six answers, so that it repeats itself on both processes."""
    folder = tmp_path_factory.mktemp("parrot") / "model"
    return build_mini(folder, ginza, jumandic_checker, nouns, lists=6)


@pytest.mark.parametrize(
    ("launch", "processes"),
    [
        ("cpu2_ddp.yaml", 2),
        pytest.param("cpu2_zero2.yaml", 2, marks=pytest.mark.slow),
        pytest.param("cpu2_zero3.yaml", 2, marks=pytest.mark.slow),
        pytest.param(
            ("--multi_gpu", "--num_processes", "4"), 4, marks=pytest.mark.slow
        ),
    ],
)
def test_a_run_of_several_processes_pays_what_one_pays(
    launch, processes, parrot, tmp_path
):
    command = recipe(
        launch=launch,
        model_name_or_path=parrot,
        output_dir="out",
        max_steps=3,
        save_steps=2,
        per_device_train_batch_size=8 // processes,
        tasks=[
            {
                "task": "dat",
                "reward_funcs": ["recording_reward.make"],
                "reward_args": {"recording_reward.make": {"folder": str(tmp_path)}},
            }
        ],
    )
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr

    ranks = [
        [
            json.loads(line)
            for line in (tmp_path / f"{rank}.jsonl").read_text("utf-8").splitlines()
        ]
        for rank in range(processes)
    ]
    one = DatReward(
        lambda: DatScorer.from_settings(DatSettings(noun_checker="jumandic"))
    )
    earlier, crossing = set(), 0
    for *others, last in zip(*ranks, strict=True):
        texts = [text for rank in others for text in rank["texts"]]
        assert {len(rank["texts"]) for rank in (*others, last)} == {8 // processes}
        paid = [value for rank in (*others, last) for value in rank["paid"]]
        assert paid == one(completions=texts + last["texts"])
        # Answers of the last process that only others have given before.
        duplicates = {
            item.text for item in one.last[len(texts) :] if item.duplicate
        } - earlier
        crossing += len(duplicates & set(texts))
        earlier |= set(last["texts"])
    assert len(ranks[0]) == 3
    assert crossing > 0
    assert any(paid > 0 for rank in ranks for step in rank for paid in step["paid"])

    output = tmp_path / "out"
    assert read_json(output / "checkpoint-3" / "state_0.json") == one.state()
    logged = [entry for entry in history(output) if "reward" in entry]
    assert [entry["step"] for entry in logged] == [1, 2, 3]
    assert all({"dat/usable", "dat/duplicate_share"} <= set(entry) for entry in logged)
    # The mean over all processes.
    for entry, *step in zip(logged, *ranks, strict=True):
        assert entry["reward"] == pytest.approx(
            sum(value for rank in step for value in rank["paid"]) / 8, rel=1e-5
        )
    assert len(list(output.glob("wandb/offline-run-*"))) == 1

    trained, start = (
        load_file(output / "model.safetensors"),
        load_file(parrot / "model.safetensors"),
    )
    # DeepSpeed writes tied weights twice.
    assert {name: trained[name].shape for name in start} == {
        name: weight.shape for name, weight in start.items()
    }
    assert any(not trained[name].equal(start[name]) for name in start)
    scored = DatReward(
        lambda: DatScorer.from_settings(DatSettings(noun_checker="jumandic"))
    )
    scored(completions=generated(output))
    assert any(item.score is not None for item in scored.last)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux' own")
def test_workers_end_when_their_launcher_is_killed_and_the_run_goes_on(
    parrot, tmp_path
):
    settings = {
        "model_name_or_path": parrot,
        "output_dir": "out",
        "max_steps": 6,
        "save_steps": 1,
    }
    command = recipe(
        launch="cpu2_ddp.yaml",
        per_device_train_batch_size=4,
        report_to="none",
        **settings,
    )
    log = (tmp_path / "log").open("w")
    launcher = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=log, stderr=log
    )
    while last_checkpoint(tmp_path / "out") is None:
        assert launcher.poll() is None, (tmp_path / "log").read_text()
        time.sleep(0.1)
    workers = (
        Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    )
    assert len(workers) == 2
    launcher.kill()
    launcher.wait()
    deadline = time.monotonic() + 30
    while not all(map(gone, workers)):
        assert time.monotonic() < deadline, "workers outlived their launcher"
        time.sleep(0.1)
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert [
        entry["step"] for entry in history(tmp_path / "out") if "reward" in entry
    ] == [1, 2, 3, 4, 5, 6]


def is_paid(value):
    """Whether a reward has a number: TRL writes its own None as NaN or null."""
    return value is not None and not math.isnan(value)


def test_two_processes_pay_a_mix_as_one_does(parrot, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    lipogram = {"measure": "lipogram/words", "scale": 0.5, "penalise_duplicates": True}
    command = recipe(
        launch="cpu2_ddp.yaml",
        model_name_or_path=parrot,
        output_dir="out",
        max_steps=4,
        completions_per_step=16,
        num_generations=4,
        per_device_train_batch_size=4,
        tasks=[
            {"task": "dat", "noun_checker": "jumandic"},
            {"task": "lipogram", **lipogram},
        ],
        log_completions=True,
        report_to="none",
    )
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr

    rewards = {
        "dat_reward": DatReward(
            lambda: DatScorer.from_settings(DatSettings(noun_checker="jumandic"))
        ),
        "lipogram_reward": make_task_reward("lipogram", **lipogram),
    }
    paid_for = dict.fromkeys(rewards, 0)
    for path in sorted((tmp_path / "out" / "completions").glob("*.parquet"))[:4]:
        rows = read_table(path).to_pylist()
        assert len(rows) == 16
        for name, reward in rewards.items():
            mine = [row for row in rows if is_paid(row[name])]
            # In the order of the processes: what a duplicate is depends on who came first.
            texts, asked = (
                [row["completion"] for row in mine],
                [row["prompt"] for row in mine],
            )
            assert [row[name] for row in mine] == pytest.approx(
                reward(asked, texts), rel=1e-6
            )
            assert [row[f"{name}/duplicate"] for row in mine] == [
                c.duplicate for c in reward.last
            ]
            paid_for[name] += len(mine)
        assert all(
            is_paid(row["dat_reward"]) != is_paid(row["lipogram_reward"])
            for row in rows
        )
    assert min(paid_for.values()) > 0
    for number, reward in enumerate(rewards.values()):
        assert (
            read_json(tmp_path / "out" / "checkpoint-4" / f"state_{number}.json")
            == reward.state()
        )
