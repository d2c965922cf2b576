"""What a training shows while it runs: a line for each logging step, and TensorBoard."""

from types import SimpleNamespace

import pytest

from sozo.rewards.task import make_task_reward
from sozo.training.tracking import RunRecorder, start_tensorboard


def test_a_line_has_each_reward_what_is_usable_and_what_was_evaluated(capsys):
    recorder = RunRecorder([make_task_reward("sat", "sat/compliant")])
    state = SimpleNamespace(
        global_step=4, max_steps=10, is_world_process_zero=True, log_history=[]
    )
    args = SimpleNamespace(output_dir="out")
    recorder.on_train_begin(args, state, None)
    logs = {
        "loss": 0.12345,
        "grad_norm": 1.0,
        "rewards/sat_reward/mean": 0.5,
        "rewards/sat_reward/std": 0.1,
        "rewards/short/mean": None,  # nothing of its task was in this step
        "sat/usable": 0.25,
        "eval_dat": 0.9,
    }
    recorder.on_log(args, state, None, logs)
    recorder.on_log(args, state, None, {"train_runtime": 1.0})
    assert capsys.readouterr().out.splitlines() == [
        "continued from checkpoint-4, step 4/10",
        "step     4/10  loss 0.1235  rewards/sat_reward/mean 0.5  sat/usable 0.25  eval_dat 0.9",
    ]


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
