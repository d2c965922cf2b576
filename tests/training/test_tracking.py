"""What a training shows while it runs: a line for each logging step, and TensorBoard."""

import re
from types import SimpleNamespace

import pytest

from sozo.training.tracking import RunRecorder, start_tensorboard


def line(capsys, logs, *, step, first=0, tasks=("dat", "ideas.jsonl", "dat")):
    recorder = RunRecorder(tasks=tasks)
    state = SimpleNamespace(
        global_step=first, max_steps=10, is_world_process_zero=True, log_history=[]
    )
    args = SimpleNamespace(output_dir="out", warmup_steps=0)
    recorder.on_train_begin(args, state, None)
    state.global_step = step
    recorder.on_log(args, state, None, logs)
    return capsys.readouterr().out.splitlines()


def test_a_step_of_a_mix_names_its_tasks_and_each_reward(capsys):
    logs = {
        "loss": 0.1,
        "reward": 4.5,
        "rewards/dat_reward/mean": 8.8,
        "rewards/dat_reward/std": 0.1,
        "rewards/short/mean": None,  # nothing of its task was in this step
        "step_time": 1.5,
    }
    (said,) = line(capsys, logs, step=4)
    start = (
        "step     4/10  dat, ideas.jsonl  reward 4.500  dat_reward 8.800  s/step 1.50"
    )
    assert re.fullmatch(re.escape(start) + r"  \d\d:\d\d left", said)


def test_the_only_reward_stands_under_its_name_alone(capsys):
    logs = {"loss": 0.1, "reward": 8.8, "rewards/dat_reward/mean": 8.8}
    (said,) = line(capsys, logs, step=10, tasks=["dat"])
    assert said == "step    10/10  dat  dat_reward 8.800  00:00 left"


def test_a_run_that_goes_on_says_from_which_step_of_how_many(capsys):
    logs = {"loss": 0.5, "mean_token_accuracy": 0.25}
    first, second = line(capsys, logs, step=10, first=4, tasks=())
    assert first == "continued from checkpoint-4, step 4/10"
    assert second == "step    10/10  loss 0.5000  token accuracy  25.0%  00:00 left"


def test_the_time_left_is_by_the_steps_of_this_process(capsys, monkeypatch):
    clock = iter([100.0, 160.0])
    monkeypatch.setattr(
        "sozo.training.tracking.time", SimpleNamespace(monotonic=lambda: next(clock))
    )
    _, said = line(capsys, {"loss": 0.5}, step=6, first=4, tasks=())
    assert said.endswith("02:00 left")  # two steps took a minute, and four are left


def test_a_resumed_run_is_one_curve_in_tensorboard(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.delenv("TENSORBOARD_LOGGING_DIR", raising=False)
    args = SimpleNamespace(output_dir=str(tmp_path), to_json_string=lambda: "{}")
    for begin, value in ((0, 1.0), (2, 2.0)):  # the first was killed behind step 4
        trainer = SimpleNamespace(args=args, remove_callback=lambda kind: None)
        trainer.add_callback = lambda callback, to=trainer: setattr(
            to, "board", callback
        )
        start_tensorboard(trainer, begin)
        for step in range(begin + 1, begin + 5):
            state = SimpleNamespace(global_step=step, is_world_process_zero=True)
            logs = {"reward": value, "rewards/short/mean": None}
            trainer.board.on_log(args, state, None, logs=logs)
        trainer.board.on_train_end(args, state, None)
    board = EventAccumulator(str(tmp_path / "runs")).Reload()
    assert board.Tags()["scalars"] == ["train/reward"]
    values = [(event.step, event.value) for event in board.Scalars("train/reward")]
    assert values == [(step, 1.0 if step < 3 else 2.0) for step in range(1, 7)]


def test_a_reward_from_which_nothing_is_learned_is_named_once(caplog):
    entry = {
        "reward": -0.1,
        "reward_std": 0.1,
        "rewards/dat_reward/mean": 0.0,
        "rewards/dat_reward/std": 0.0,
        "rewards/short/mean": -0.1,
        "rewards/short/std": 0.1,
        "rewards/odd/mean": float("nan"),
        "rewards/odd/std": None,
    }
    recorder = RunRecorder()
    state = SimpleNamespace(
        global_step=1, max_steps=20, is_world_process_zero=True, log_history=[]
    )
    args = SimpleNamespace(output_dir="out", warmup_steps=0)
    for _ in range(12):
        state.log_history.append(entry)
        recorder.on_log(args, state, None, {"reward": -0.1})
    assert [record.getMessage() for record in caplog.records] == [
        "reward dat_reward was 0 for every answer in 10 logged steps in a row, so nothing is learned from it",
        "reward odd gave no number in 10 logged steps in a row, so nothing is learned from it",
    ]
