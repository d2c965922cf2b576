"""GRPO with vLLM beside the trainer: the canary is quiet while new weights arrive, and tells at once that they do not.

The engine is patched (`grpo_run.py`): without the patch no weights can be sent to vLLM's backend for CPUs.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from sozo.training.vllm_watch import _GAP

FRESH = 1000  # a generation that no run comes to


def start(output, stale_from, log):
    command = [
        sys.executable,
        Path(__file__).with_name("grpo_run.py"),
        output,
        str(stale_from),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, env=environment, stdout=log, stderr=log, start_new_session=True
    )


def run(output, stale_from):
    with output.with_suffix(".log").open("w") as log:
        status = start(output, stale_from, log).wait()
    return status, output.with_suffix(".log").read_text("utf-8")


def check_history(folder):
    """Twenty steps, at each of which the engine had the trainer's weights."""
    history = json.loads((folder / "trainer_state.json").read_text("utf-8"))[
        "log_history"
    ]
    steps = [entry for entry in history if "canary/gap" in entry]
    assert [entry["step"] for entry in steps] == list(range(1, 21))
    assert max(entry["canary/gap"] for entry in steps) < _GAP / 10
    assert all(
        0.9 < entry["sampling/importance_sampling_ratio/mean"] < 1.1 for entry in steps
    )


def test_twenty_steps_with_fresh_weights(tiny, tmp_path):
    status, log = run(tmp_path / "run", FRESH)
    assert status == 0, log[-3000:]
    check_history(tmp_path / "run")


def test_a_killed_run_goes_on_with_an_engine_of_its_checkpoints_weights(tiny, tmp_path):
    output = tmp_path / "run"
    with (tmp_path / "killed.log").open("w") as log:
        killed = start(output, FRESH, log)
    while killed.poll() is None and not (output / "checkpoint-10").is_dir():
        time.sleep(0.05)
    processes = [
        psutil.Process(killed.pid),
        *psutil.Process(killed.pid).children(recursive=True),
    ]
    killed.kill()
    assert killed.wait() == -signal.SIGKILL, (tmp_path / "killed.log").read_text(
        "utf-8"
    )[-3000:]
    assert psutil.wait_procs(processes, timeout=30)[1] == []  # no engine is left behind
    status, log = run(output, FRESH)
    assert status == 0, log[-3000:]
    # The kill may come while the second checkpoint is written, which is then none.
    assert "weights sent 10 times" in log or "weights sent 15 times" in log
    check_history(output)


def test_weights_that_stop_arriving_are_told_once_the_model_has_moved(tiny, tmp_path):
    status, log = run(tmp_path / "run", 7)
    assert status == 2, log[-3000:]
    (line,) = [line for line in log.splitlines() if line.startswith("grpo: ")]
    assert re.match(
        r"grpo: step [789]: vLLM's weights are stale: .* restart vLLM", line
    ), line
