"""GRPO with vLLM beside the trainer: what it says of its tokens is what the trainer says, since new weights arrive.

The engine is patched (`grpo_run.py`): without the patch no weights can be sent to vLLM's backend for CPUs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from sozo.training.grpo_trainer import _GAP


def test_twenty_steps_with_fresh_weights(tiny, tmp_path):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("grpo_run.py"), tmp_path / "run"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    history = json.loads((tmp_path / "run/trainer_state.json").read_text("utf-8"))["log_history"]
    gaps = [entry["sampling/gap"] for entry in history if "sampling/gap" in entry]
    assert len(gaps) == 20
    assert max(gaps) < _GAP / 10
    ratios = [entry["sampling/importance_sampling_ratio/mean"] for entry in history if "sampling/gap" in entry]
    assert all(0.9 < ratio < 1.1 for ratio in ratios)
