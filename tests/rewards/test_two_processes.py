"""Two real processes pay what one process pays, and one that fails does not leave the other waiting."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import AXES, FakeNouns, axis_encoder, list_text
from http_server import wait_until
from sozo.rewards.dat import DatReward
from sozo.tasks.dat.scorer import DatScorer
from two_ranks import gone, run_ranks

A, B, C, D = (
    list_text(words) for words in (AXES[:10], AXES[1:11], AXES[2:], AXES[9::-1])
)
E = list_text(AXES[10:0:-1])


STEPS = [
    # A on both ranks at once.
    [[A, B], [A, "x"]],
    # B, paid on the other rank in an earlier call.
    [["x", D], [B, "y"]],
    # Uneven shares, C twice on one rank.
    [[C, C, "x"], [D]],
    # A rank with nothing at all.
    [[], [A, E]],
    [["x"], []],
]
PAID = [
    [[10.0, 10.0], [0.0, 0.0]],
    [[0.0, 10.0], [0.0, 0.0]],
    [[10.0, 0.0, 0.0], [0.0]],
    [[], [0.0, 10.0]],
    [[0.0], []],
]


def test_two_processes_pay_what_one_pays(tmp_path):
    first, second = run_ranks(
        "reward_worker.py", tmp_path, {"steps": STEPS, "fail": None}
    )
    assert first["error"] is second["error"] is None
    assert [
        list(pair) for pair in zip(first["rewards"], second["rewards"], strict=True)
    ] == PAID

    one = DatReward(lambda: DatScorer(FakeNouns(AXES), axis_encoder()))
    for number, (left, right) in enumerate(STEPS):
        metrics, columns = {}, {}
        paid = one(
            completions=left + right,
            log_metric=metrics.__setitem__,
            log_extra=columns.__setitem__,
        )
        del metrics["dat/seconds"]
        assert first["rewards"][number] + second["rewards"][number] == paid
        assert (
            first["duplicates"][number] + second["duplicates"][number]
            == columns["duplicate"]
        )
        # Both ranks log the whole run's metrics and see all completions in rank order.
        assert first["metrics"][number] == second["metrics"][number] == metrics
        assert first["last"][number] == second["last"][number] == left + right
    assert first["seen"] == second["seen"] == one.seen.state()


def test_a_failure_on_one_rank_is_told_to_all(tmp_path):
    # A new word at the last step, so that rank 1 asks its broken checker.
    new = list_text(["走", *AXES[:9]])
    first, second = run_ranks(
        "reward_worker.py", tmp_path, {"steps": [[[A], [B]], [[C], [new]]], "fail": 1}
    )
    assert second["error"] == "OSError: the dictionary is gone"
    assert (
        first["error"]
        == "RuntimeError: the DAT reward failed on process 1: OSError: the dictionary is gone"
    )
    assert first["rewards"] == [[10.0]]
    # Rank 0's C was never paid, so it is not remembered either.
    assert first["seen"] == second["seen"]


WORKER = """
import ctypes, os, time
from sozo.data.processes import end_with_launcher
end_with_launcher()
signal = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(signal))
print(os.getpid(), signal.value, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux' own")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2"}, 9),
        (
            {"TORCHELASTIC_RUN_ID": "x"},
            15,
        ),  # one process has nobody to wait for, and saves
        ({}, 0),
    ],
)
def test_a_worker_ends_with_its_launcher_and_not_with_a_shell(variables, expected):
    launcher = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKER!r}])"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ACCELERATE", "TORCHEL"))
    }
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2] / "src")} | variables
    parent = subprocess.Popen(
        [sys.executable, "-c", launcher],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    pid, signal = map(int, parent.stdout.readline().split())
    assert signal == expected
    parent.kill()
    if not expected:
        os.kill(pid, 9)
    wait_until(lambda: gone(pid))
    parent.communicate()


FAILS = """
import os, time
from sozo.data.errors import UserError, one_line_errors
from sozo.data.processes import end_with_launcher
os.register_at_fork(after_in_child=lambda: time.sleep(1))
end_with_launcher()
with one_line_errors("error"):
    raise UserError("no such file")
"""
LAUNCHES = """
import os, signal, subprocess, sys
worker = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
worker.wait()
try:
    os.killpg(worker.pid, signal.SIGKILL)
except ProcessLookupError:
    pass
print("a traceback of its own", file=sys.stderr, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux' own")
def test_the_last_line_survives_a_launcher_that_ends_all_it_started():
    environment = os.environ | {"TORCHELASTIC_RUN_ID": "x"}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    ended = subprocess.run(
        [sys.executable, "-c", LAUNCHES, FAILS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    line = "error: no such file"
    assert ended.stderr.splitlines() == [line, "a traceback of its own", line]
