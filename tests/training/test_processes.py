"""Runs of two and four processes (DDP, ZeRO-2, ZeRO-3) pay and train as one does, and leave a whole model."""

import math

import pytest
from pyarrow.parquet import read_table
from safetensors.torch import load_file

from grpo_runs import recipe, run
from mini_model import build_mini
from sft_dpo_runs import losses
from sozo.data.record import read_json
from sozo.data.wandb_run import last_checkpoint
from sozo.rewards import make_task_reward
from sozo.rewards.dat import DatReward
from sozo.tasks.dat.scorer import DatScorer, DatSettings


@pytest.fixture(scope="module")
def parrot(tmp_path_factory, ginza, jumandic_checker, nouns):
    """A model that knows six answers, so that it repeats itself on both processes."""
    folder = tmp_path_factory.mktemp("parrot") / "model"
    return build_mini(folder, ginza, jumandic_checker, nouns, lists=6)


def is_paid(value):
    """Whether a reward has a number: TRL writes its own None as NaN or null."""
    return value is not None and not math.isnan(value)


@pytest.mark.launches
def test_two_processes_pay_a_mix_as_one_does(parrot, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    lipogram = {"measure": "lipogram/words", "scale": 0.5, "penalise_duplicates": True}
    command = recipe(
        launch="cpu2_ddp.yaml",
        model_name_or_path=parrot,
        output_dir="out",
        max_steps=3,
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
    for path in sorted((tmp_path / "out" / "completions").glob("*.parquet"))[:3]:
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
                reward(prompts=asked, completions=texts), rel=1e-6
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
            read_json(tmp_path / "out" / "checkpoint-3" / f"state_{number}.json")
            == reward.state()
        )


@pytest.mark.slow
@pytest.mark.parametrize("launch", ["cpu2_zero2.yaml", "cpu2_zero3.yaml"])
# 64 pairs of 2 x 32 are one pass for TRL's reference, behind which ZeRO-3 looks at what modules it has seen.
@pytest.mark.parametrize(
    ("method", "rows"), [("sft", 4), ("dpo", 4), ("dpo", 32), ("grpo", 4)]
)
def test_two_processes_leave_a_whole_model(
    method, rows, launch, mini, answers, tmp_path
):
    settings = {"model_name_or_path": mini, "report_to": "none"}
    settings |= {"max_steps": 4, "save_steps": 2}
    if method != "grpo":
        settings |= {
            "answers": answers,
            "examples_per_step": 2 * rows,
            {"sft": "top_k", "dpo": "num_pairs"}[method]: 64,
        }
    two = recipe(
        method=method,
        launch=launch,
        output_dir="two",
        per_device_train_batch_size=rows,
        **settings,
    )
    done = run(two, tmp_path)
    assert done.returncode == 0, done.stderr
    output = tmp_path / "two"
    assert last_checkpoint(output) == output / "checkpoint-4"
    assert len(losses(output)) == 4

    if method != "grpo":  # whose draws depend on the processes
        done = run(
            recipe(
                method=method,
                output_dir="one",
                per_device_train_batch_size=2 * rows,
                **settings,
            ),
            tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert losses(output) == pytest.approx(losses(tmp_path / "one"), abs=2e-3)

    start = load_file(mini / "model.safetensors")
    for trained in (output, output / "checkpoint-4"):
        weights = load_file(trained / "model.safetensors")
        # DeepSpeed writes tied weights twice.
        assert {name: weights[name].shape for name in start} == {
            name: weight.shape for name, weight in start.items()
        }
        assert any(not weights[name].equal(start[name]) for name in start)
