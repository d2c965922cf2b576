"""GRPO with vLLM beside the trainer: the canary is quiet while new weights arrive, and tells at once that they do not.

The engine is patched (`grpo_run.py`): without the patch no weights can be sent to vLLM's backend for CPUs.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from sozo.training.vllm_watch import _GAP


def run(output, stale_from):
    command = [sys.executable, Path(__file__).with_name("grpo_run.py"), output, str(stale_from)]
    return subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )


def test_twenty_steps_with_fresh_weights(tiny, tmp_path):
    done = run(tmp_path / "run", 1000)
    assert done.returncode == 0, done.stderr[-3000:]
    history = json.loads((tmp_path / "run/trainer_state.json").read_text("utf-8"))["log_history"]
    gaps = [entry["canary/gap"] for entry in history if "canary/gap" in entry]
    assert len(gaps) == 20
    assert max(gaps) < _GAP / 10
    ratios = [entry["sampling/importance_sampling_ratio/mean"] for entry in history if "canary/gap" in entry]
    assert all(0.9 < ratio < 1.1 for ratio in ratios)


def test_weights_that_stop_arriving_are_told_within_a_step(tiny, tmp_path):
    done = run(tmp_path / "run", 7)
    assert done.returncode == 2, done.stderr[-3000:]
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("grpo: ")]
    assert re.match(r"grpo: step [78]: vLLM's weights are stale: .* restart vLLM", line), line
