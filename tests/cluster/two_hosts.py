"""Trainings and a study on two hosts, by the packaged scripts and a real Slurm: `make test-cluster`, which alone comes here.

Whatever ends a run in between (a host that dies, SIGTERM, the time limit), it goes on, and ends as one that nobody ended.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hosts import cluster, lacking, pids, slurm, wait_until

from sozo.data.checkpoints import last_checkpoint

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(1800)
CORES = min(2, len(os.sched_getaffinity(0)))
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
STEPS, APART = 12, 4  # of a training, and between its checkpoints
GRPO = f"""grpo --config recipes/tiny/grpo.yaml --max_steps {STEPS} --save_steps {APART} --save_total_limit 10
    --warmup_steps 2 --lr_scheduler_type constant --lr_scheduler_kwargs {{}} --logging_steps 1 --report_to none""".split()


@pytest.fixture(scope="session", autouse=True)
def place(tmp_path_factory):
    """A folder with the recipes that a user copies, while the hosts are there."""
    folder = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for name, value in {
            "OMP_NUM_THREADS": "1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PROCESSES": "1",
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{folder}",
            "TOKENIZERS_PARALLELISM": "false",
        }.items():
            patched.setenv(name, value)
        for name in (
            "slurm",
            "tiny/grpo",
            "accelerate/cpu2_ddp",
            "accelerate/cpu2_zero2",
        ):
            subprocess.run(["sozo", "recipes", "copy", name], check=True)
        with cluster(tmp_path_factory.mktemp("hosts")):
            yield folder


class Job:
    """One of Slurm's, by a packaged script."""

    def __init__(self, script, *words, options="--time=20", **variables):
        self.log = Path(f"{script}-{time.monotonic_ns()}.log")
        options = f"{options} --cpus-per-task={CORES} --output={self.log}".split()
        with pytest.MonkeyPatch.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            file = f"recipes/slurm/{script}.sbatch"
            self.number = slurm("sbatch", "--parsable", *options, file, *words)
        assert self.number.isdigit(), self.number

    def facts(self):
        """What Slurm knows of it."""
        return dict(
            re.findall(r"(\w+)=(\S*)", slurm("scontrol", "show", "job", self.number))
        )

    def wait(self, state="COMPLETED", seconds=1200):
        """Until it ends in that state; one that was queued again need not wait two minutes."""

        def ended():
            now = self.facts()["JobState"]
            if now == "PENDING":
                time.sleep(3)  # in the same second its credential is still revoked
                slurm("scontrol", "update", f"JobId={self.number}", "StartTime=now")
            return now in ENDED and now

        assert wait_until(ended, seconds) == state, self.said()
        return self

    def preempt(self):
        """What Slurm sends the script by --signal=B:TERM."""
        slurm("scancel", "--batch", "--signal=TERM", self.number)

    def said(self):
        return self.log.read_text() if self.log.exists() else ""

    def restarts(self):
        return int(self.facts()["Restarts"])


def train(script, output, hardware="cpu2_ddp", words=GRPO, **how):
    return Job(
        script,
        *words,
        HARDWARE=f"recipes/accelerate/{hardware}.yaml",
        OUTPUT=output,
        **how,
    )


def weights(output):
    return Path(output, "model.safetensors").read_bytes()


def has(output, step):
    """Whether a run has a whole checkpoint of that step or a later one."""
    last = last_checkpoint(Path(output))
    return last is not None and int(last.name.rpartition("-")[2]) >= step


@pytest.fixture(scope="session")
def unbroken(place):
    """The weights after a training on one host that nobody ended, by the hardware."""
    made = {}

    def of(hardware="cpu2_ddp"):
        if hardware not in made:
            train("one-node", f"runs/{hardware}", hardware).wait()
            made[hardware] = weights(f"runs/{hardware}")
        return made[hardware]

    return of


@pytest.mark.parametrize("hardware", ["cpu2_ddp", "cpu2_zero2"])
def test_a_two_hosts_train_as_one_does(hardware, unbroken):
    job = train("several-nodes", f"runs/two-{hardware}", hardware)
    # Each node's process may use its cores: without --cpus-per-task Slurm gives one.
    worker = wait_until(lambda: trainings(2), 120)[0]
    assert len(os.sched_getaffinity(worker)) == CORES
    job.wait()
    assert weights(f"runs/two-{hardware}") == unbroken(hardware)


def trainings(number):
    """The launchers and trainings on a host."""
    found = []
    for pid in pids(number):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"train" in words and b"sozo" in words:
                found.append(pid)
    return found


def test_b_a_host_that_dies_ends_the_other_and_the_run_goes_on(unbroken):
    job = train("several-nodes", "runs/killed")
    wait_until(lambda: has("runs/killed", APART), 300)
    for pid in trainings(2):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    job.wait("FAILED", 180)
    assert not Path("runs/killed/metrics.json").exists()
    job = train("several-nodes", "runs/killed").wait()
    assert "continued from checkpoint-" in job.said()
    assert weights("runs/killed") == unbroken()


def test_c_one_node_is_preempted_and_goes_on_by_itself(unbroken):
    job = train("one-node", "runs/preempted")
    wait_until(lambda: f"step     {APART + 1}/" in job.said(), 300)
    job.preempt()
    job.wait()
    assert job.restarts() == 1
    (at,) = re.findall(r"SIGTERM: checkpoint-(\d+) is written", job.said())
    assert APART < int(at) < STEPS
    assert f"continued from checkpoint-{at}, step {at}/{STEPS}" in job.said()
    assert weights("runs/preempted") == unbroken()


def study(name):
    """The tiny study's last row, on two nodes of a process each."""
    of = yaml.safe_load((ROOT / "recipes/tiny/reproduce.yaml").read_text("utf-8"))
    of |= {"output_dir": f"runs/{name}", "num_answers": 64, "keep_checkpoints": True}
    flags = [word.removeprefix("--") for word in GRPO[3:]]
    settings = dict(zip(flags[::2], flags[1::2], strict=True))
    of["arms"] = {"GRPO": {"train": "grpo", **settings}}
    hardware = {"launcher": "../accelerate/cpu2_ddp.yaml"}
    of["sampling"] |= hardware | {"batch_size": 16}
    of["training"] = hardware | {"grpo": "grpo.yaml"}
    file = Path(f"recipes/tiny/{name}.yaml")
    file.write_text(yaml.safe_dump(of), "utf-8")
    return Job("study", file, options="--time=20 --nodes=2")


def test_d_a_study_on_two_nodes_loses_no_step_and_its_table_is_the_unbroken_ones():
    study("whole").wait()
    job = study("broken")
    log = Path("runs/broken/logs/grpo.log")
    wait_until(lambda: log.exists() and "step     3/" in log.read_text(), 400)
    job.preempt()
    job.wait()
    assert job.restarts() == 1
    word = r"grpo: preempted after \S+; with the same command it continues from (\S+)"
    (checkpoint,) = re.findall(word, job.said())
    step = int(checkpoint.rpartition("-")[2])
    assert 3 <= step < STEPS
    for line in (
        f"SIGTERM: {checkpoint} is written",
        f"continued from {checkpoint}, step {step}/{STEPS}",
    ):
        assert line in log.read_text()
    # Both nodes' processes have written their part.
    written = {path.name for path in Path("runs/broken/grpo", checkpoint).iterdir()}
    assert written >= {"rng_state_0.pth", "rng_state_1.pth"}
    assert weights("runs/broken/grpo") == weights("runs/whole/grpo")
    assert table("broken") == table("whole")


def table(name):
    """A study's table as it is printed."""
    return Path(f"runs/{name}/table/result.md").read_text("utf-8").replace(name, "")


# Too slow for three minutes, until it was queued again.
SLOW = """import os, time

def slow(completions, **_):
    time.sleep(0 if int(os.environ.get("SLURM_RESTART_COUNT", 0)) else 10)
    return [float(len(text)) for text in completions]
"""


def test_e_a_time_limit_of_three_minutes_ends_a_run_behind_a_checkpoint():
    Path("slow.py").write_text(SLOW)
    task = {"task": "dat", "reward_funcs": ["slow.slow"]}
    task |= {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}
    file = Path("recipes/tiny/grpo.yaml")
    settings = yaml.safe_load(file.read_text("utf-8")) | {"tasks": [task]}
    slow = file.with_name("slow.yaml")
    slow.write_text(yaml.safe_dump(settings), "utf-8")
    more = ["--config", slow, "--max_steps", "20"]
    job = train(
        "one-node",
        "runs/limit",
        words=["grpo", *GRPO[3:], *more],
        options="--time=3 --signal=B:TERM@30",
    ).wait()
    assert job.restarts() >= 1
    assert "TIME LIMIT" not in job.said()
    written = re.findall(r"SIGTERM: (\S+) is written", job.said())
    assert written == re.findall(r"continued from (\S+), step", job.said())
    assert len(written) == job.restarts()
    state = json.loads(Path("runs/limit/trainer_state.json").read_text())
    assert state["global_step"] == 20


if __name__ == "__main__":
    if lacks := lacking():
        sys.exit(f"make test-cluster {lacks}")
    for ends in (signal.SIGINT, signal.SIGTERM):
        signal.signal(
            ends, signal.default_int_handler
        )  # all that was started ends, too
    sys.exit(pytest.main([__file__, "-vv", "--durations=0", *sys.argv[1:]]))
