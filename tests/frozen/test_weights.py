"""Trained weights to the bit: beside the commit before, and killed and resumed.

FROZEN_BESIDE=COMMIT names another commit. To a millionth they are frozen, too (test_frozen.py): to the bit two
processors do not agree, whatever torch is told.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import frozen_training
import pytest
from frozen_training import METHODS, digest, prepare, trained

pytestmark = pytest.mark.slow
FROZEN = Path(__file__).parent
ROOT = FROZEN.parents[1]
# Dies as it begins the third step, when the checkpoint of the second is whole.
KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from transformers.trainer_callback import DefaultFlowCallback
def die(self, args, state, control, **others):
    if state.global_step == 2:
        os.kill(os.getpid(), signal.SIGKILL)
DefaultFlowCallback.on_step_begin = die
import frozen_training
frozen_training.trained(sys.argv[1], Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with what each method trained in one go."""
    folder = tmp_path_factory.mktemp("whole")
    prepare(folder)
    for method in METHODS:
        trained(method, folder)
    return folder


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_training_that_goes_on_has_the_same_weights(method, whole, tmp_path):
    for name in ("model", "table", "lists", "dpo"):
        if name != method:
            shutil.copytree(whole / name, tmp_path / name)
    words = [sys.executable, "-c", KILLED, method, tmp_path, *sys.path]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / method / "checkpoint-2").is_dir()
    assert digest(trained(method, tmp_path)) == digest(whole / method)


def test_weights_are_those_of_the_commit_before(whole, tmp_path):
    before, commit = tmp_path / "before", os.environ.get("FROZEN_BESIDE", "HEAD~1")
    git = ["git", "-C", ROOT, "worktree"]
    subprocess.run([*git, "add", "--detach", before, commit], check=True)
    try:
        for name in ("frozen", "helpers"):
            shutil.rmtree(before / "tests" / name, ignore_errors=True)
            shutil.copytree(ROOT / "tests" / name, before / "tests" / name)
        script = before / "tests/frozen" / Path(frozen_training.__file__).name
        (tmp_path / "out").mkdir()
        environment = os.environ | {"PYTHONPATH": str(before / "src")}
        subprocess.run(
            [sys.executable, script, tmp_path / "out"], env=environment, check=True
        )
        told = json.loads((tmp_path / "out/digests.json").read_text("utf-8"))
    finally:
        subprocess.run([*git, "remove", "--force", before], check=True)
    assert told == {method: digest(whole / method) for method in METHODS}
