"""Processes of a test: a worker script once per rank and what each of them writes, and whether one has ended."""

import json
import os
import sys
from pathlib import Path

import warm

HELPERS = Path(__file__).parent


def run_ranks(worker, folder, plan, environment=None):
    """What ranks 0 and 1 of `worker` (a script beside this file) wrote for `plan`, which both read."""
    (folder / "plan.json").write_text(json.dumps(plan))
    for store in folder.glob(
        "store*"
    ):  # where an earlier pair met: who finds it waits for ranks that are gone
        store.unlink()
    paths = os.pathsep.join(map(str, [HELPERS, HELPERS.parents[1] / "src"]))
    environment = (
        os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"} | (environment or {})
    )
    commands = [[sys.executable, HELPERS / worker, rank, folder] for rank in range(2)]
    for done in warm.run_all(commands, env=environment, timeout=120):
        assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def gone(pid):
    """Whether a process has ended, be it that nobody has asked how."""
    status = Path(f"/proc/{pid}/stat")
    return (
        not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"
    )
