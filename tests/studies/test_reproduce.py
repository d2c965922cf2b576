"""The study: what is skipped, continued and refused, with a stand-in for the launched steps."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

import warm
from http_server import wait_until
from sentences import says
from sozo.data.checkpoints import STATE
from sozo.data.run_folder import lock, unlock
from sozo.studies.study.process import end_preempted, run_logged
from tiny_study import (
    LAUNCHER,
    ROOT,
    change,
    command,
    environment,
    run,
    small_study,
    write,
)
from two_ranks import gone

TRAINED = [
    "sft",
    "sft-sample",
    "dpo1",
    "dpo1-sample",
    "dpo2",
    "dpo2-sample",
    "grpo",
    "grpo-sample",
]
STEPS = ["random", "base", *TRAINED]


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory):
    """A study from start to table, which no test may change; what was launched, and what it said."""
    folder = small_study(tmp_path_factory.mktemp("finished") / "study")
    return folder, *run(folder)


@pytest.fixture
def finished(finished_once, tmp_path):
    """A copy of it."""
    return shutil.copytree(finished_once[0], tmp_path / "study")


def test_a_study_stops_where_random_or_base_miss_the_paper(study):
    change(study / "recipes" / "reproduce.yaml", paper_model="Swallow-8B")
    launched, done = run(study, status=2)
    assert launched == STEPS[:2]
    std = r"\| random \| std +\| 0.0009 +\| 0.0200 .*\| yes "
    assert re.search(std, done.stderr)
    assert "step gate failed (exit status 2)" in done.stderr
    # What is finished is looked at again; nothing is drawn anew.
    assert run(study, status=2)[0] == []
    assert run(study, "--go-on", status=2, STANDIN_FAIL="sft")[0] == ["sft"]


def test_a_rehearsal_runs_every_step_and_reads_every_first_checkpoint(study):
    change(
        study / "recipes" / "reproduce.yaml",
        paper_model="Swallow-8B",
        num_answers=131_072,
        num_training_answers=131_072,
        top_k=16_384,
        num_pairs=16_384,
    )
    launched, _ = run(study, "--rehearse")
    twice = [name for step in TRAINED for name in [step] * (2 - ("-" in step))]
    assert launched == ["random", "base", *twice]
    assert not (study / "out").exists()
    assert (study / "out-rehearsal" / "table" / "report.html").is_file()
    lines = (study / "out-rehearsal" / "logs" / "dpo2.log").read_text().splitlines()
    first, second = [line for line in lines if line.startswith("$ ")]
    assert first == second
    for words in ("--save_steps 1", "--num_pairs 512", "--run_name rehearsal-recipes-"):
        assert words in second
    drawn = (study / "out-rehearsal" / "logs" / "base.log").read_text()
    assert "--num_answers 1024" in drawn
    assert "--batch_size 1024" in drawn  # 1,024 for one process


@pytest.mark.slow
def test_a_rehearsal_on_two_processes_under_zero_3_with_the_tiny_model(study):
    values = yaml.safe_load((study / "recipes" / "reproduce.yaml").read_text("utf-8"))
    for section, file in (("sampling", "cpu2_ddp"), ("training", "cpu2_zero3")):
        path = ROOT / "recipes" / "accelerate" / f"{file}.yaml"
        values[section]["launcher"] = str(path)
    values |= {"num_answers": 64, "num_training_answers": 1024}
    # Where the reference's log-probabilities are one batch, DeepSpeed's trace of the modules breaks.
    values |= {"top_k": 512, "num_pairs": 512}
    write(study / "recipes" / "reproduce.yaml", values)
    done = subprocess.run(
        command("--rehearse", launcher="accelerate launch"),
        cwd=study,
        env=environment(study, WANDB_MODE="offline"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for step in ("sft", "dpo1", "dpo2", "grpo"):
        log = (study / "out-rehearsal" / "logs" / f"{step}.log").read_text()
        assert "continued from checkpoint-1, step 1/2" in log
        state = json.loads(
            (study / "out-rehearsal" / step / "trainer_state.json").read_text()
        )
        assert state["global_step"] == 2


def test_a_study_from_start_to_table_and_then_nothing(finished_once):
    study, launched, done = finished_once
    assert launched == STEPS
    for row in ("random | 32", "base | 32", "SFT | 16", "DPO 1 | 32", "GRPO | 16"):
        assert f"| {row} " in re.sub(" +", " ", done.stdout)
    assert not list((study / "out").glob("*/checkpoint-*"))
    table = json.loads((study / "out" / "table" / "metrics.json").read_text())
    assert [row["usable"] for row in table["rows"]] == [24, 24, 12, 24, 12, 12]
    assert table["equal_size"] == 12
    page = (study / "out" / "table" / "report.html").read_text("utf-8")
    assert ">The rows</h2>" in page
    log = (study / "out" / "logs" / "sft.log").read_text()
    assert log.startswith("$ ")
    assert "playing sft" in log

    def files():
        every = (path for path in (study / "out").rglob("*") if path.is_file())
        made = (path for path in every if "table" not in path.parts)
        return {path: (path.stat().st_ino, path.read_bytes()) for path in made}

    before = files()
    launched, done = run(study)
    assert launched == []
    assert "0 of 10 steps are to do" in done.stderr
    assert files() == before


def test_a_step_typed_before_the_first_start_is_taken(finished_once, study):
    shutil.copytree(finished_once[0] / "out" / "random", study / "out" / "random")
    launched, _ = run(study)
    assert launched == STEPS  # its own command finds that it is finished


def test_a_failed_step_says_why_and_the_study_goes_on_from_there(study):
    launched, done = run(study, status=2, STANDIN_FAIL="dpo1")
    assert launched == STEPS[:5]
    assert [path.parent.name for path in (study / "out").glob("*/checkpoint-*")] == [
        "dpo1"
    ]  # to resume from
    assert says("study: a step that failed", done.stderr)
    told = run(study, "--status")[1].stdout.splitlines()
    assert told[3:6] == [
        "sft-sample: finished",
        "dpo1: cut off, will continue",
        "dpo1-sample: waits for what it reads",
    ]
    # The end of the log, escape characters taken out.
    assert "RuntimeError: no [31mmemory[0m left" in done.stderr.splitlines()
    assert "\x1b" not in done.stderr
    launched, done = run(study, status=2, STANDIN_FAIL="dpo2")
    assert launched == STEPS[4:7]
    assert "[5/10] dpo1: running (continues)" in done.stderr
    assert (study / "out" / "logs" / "dpo1.log").read_text().count("playing dpo ") == 2


def test_a_preempted_step_ends_the_study_with_its_status_and_the_study_goes_on_from_there(
    study,
):
    launched, done = run(study, status=75, STANDIN_FAIL="dpo1", STANDIN_STATUS="75")
    assert launched == STEPS[:5]
    # The stand-in's checkpoint has no mark: it is not whole.
    assert says("study: a step is preempted without a checkpoint", done.stderr)
    assert "error: " not in done.stderr
    whole = study / "out" / "dpo1" / "checkpoint-3"
    whole.mkdir()
    (whole / STATE).write_text('{"version": 2, "files": {}}')
    launched, done = run(study, status=75, STANDIN_FAIL="dpo1", STANDIN_STATUS="75")
    assert launched == ["dpo1"]
    assert says("study: a step is preempted behind a checkpoint", done.stderr)
    assert run(study, status=2, STANDIN_FAIL="dpo2")[0] == STEPS[4:7]


def test_what_is_missing_for_a_step_to_do_is_said_before_the_first_begins(study):
    change(
        study / "recipes" / "grpo.yaml",
        tasks=[{"task": "dat", "embedding_model": "org/absent"}],
    )
    launched, done = run(study, status=1)
    assert launched == []
    assert says("study: model that is not here", done.stdout)


def test_srun_gets_no_signal_and_its_tasks_do(study):
    """Of a SIGTERM srun makes a SIGKILL for its tasks."""
    for name, script in {
        "srun": 'trap "touch killed" TERM; shift; "$@" & wait; wait',
        "scancel": "echo $@ > cancelled; kill $(cat calls.pid)",
    }.items():
        (study / "bin" / name).parent.mkdir(exist_ok=True)
        (study / "bin" / name).write_text(f"#!/bin/bash\n{script}\n")
        (study / "bin" / name).chmod(0o755)
    launcher = f"srun --num_processes=2 {LAUNCHER}"
    path = f"{study / 'bin'}:{os.environ['PATH']}"
    (done,) = warm.run_all(
        [command(launcher=launcher)],
        cwd=study,
        env=environment(study, STANDIN_HANG="random", PATH=path, SLURM_JOB_ID="17"),
        kill=(study / "calls.pid", 0.2, signal.SIGTERM),
    )
    assert done.returncode == 75
    assert (study / "cancelled").read_text() == "--signal=TERM 17\n"
    assert not (study / "killed").exists()
    assert "random: preempted after " in done.stderr


TRAINING = """
import os, signal, sys
from pathlib import Path

launcher = os.getppid()

def save(*_):
    while os.getppid() == launcher:
        os.sched_yield()
    Path("saved").touch()
    sys.exit(75)

signal.signal(signal.SIGTERM, save)
Path("trains").touch()
signal.pause()
"""
STUDY = f"""
import signal, sys
from pathlib import Path
from sozo.studies.study.process import end_preempted, run_logged

signal.signal(signal.SIGTERM, end_preempted)
launcher = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
run_logged([sys.executable, "-c", launcher, {TRAINING!r}], Path("log"), print)
"""


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"
)
def test_a_launcher_that_ends_first_leaves_a_training_its_time_to_save(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", STUDY], cwd=tmp_path, env=environment(tmp_path)
    )
    wait_until((tmp_path / "trains").exists)
    parent.terminate()
    assert parent.wait() == 75
    assert (tmp_path / "saved").exists()


def test_a_sigterm_that_was_lost_in_a_fork_ends_the_step(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    try:
        with suppress(SystemExit):
            end_preempted()
        with pytest.raises(SystemExit, match="75"):
            run_logged(["sleep", "60"], tmp_path / "log", print)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_changed_settings_are_refused_and_nothing_is_touched(finished):
    recipes = finished / "recipes"
    change(recipes / "sft.yaml", learning_rate=1.0)
    launched, done = run(finished, status=2)
    assert launched == []
    assert says("study: changed setting of a training", done.stderr)
    # Names and places decide nothing.
    change(
        recipes / "sft.yaml",
        learning_rate=0.0003,
        output_dir="elsewhere",
        run_name="other",
    )
    reproduce = recipes / "reproduce.yaml"
    sampling = yaml.safe_load(reproduce.read_text("utf-8"))["sampling"]
    change(reproduce, sampling=sampling | {"slots": 8})
    assert run(finished)[0] == []
    change(reproduce, num_pairs=128)
    done = run(finished, status=2)[1]
    assert says("study: changed number of pairs", done.stderr)
    change(reproduce, num_pairs=64, seeds=[1])
    assert says("study: changed seed", run(finished, status=2)[1].stderr)


def test_what_was_made_otherwise_meanwhile_is_not_taken_for_what_it_was_made_from(
    finished,
):
    base = finished / "out" / "base"
    base.rename(finished / "first")
    # It came out the same, so what was made from it still stands.
    assert run(finished)[0] == ["base"]
    shutil.rmtree(base)
    launched, done = run(finished, status=2, STANDIN_RUN="other")
    assert launched == ["base"]
    assert says("study: changed input", done.stderr)


def test_a_model_changed_in_its_folder_makes_its_steps_stale(study):
    (study / "model").mkdir()
    shape = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1}
    (study / "model" / "config.json").write_text(json.dumps(shape))
    (study / "model" / "model.safetensors").write_bytes(b"one")
    change(study / "recipes" / "reproduce.yaml", model="model")
    assert run(study, status=2, STANDIN_FAIL="sft")[0] == ["random", "base", "sft"]
    (study / "model" / "model.safetensors").write_bytes(b"two")
    launched, done = run(study, status=2)
    assert launched == []
    assert says("study: changed model", done.stderr)


def test_files_of_somebody_else_are_left_alone(study):
    theirs = study / "out" / "theirs" / "notes.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    launched, done = run(study, status=2)
    assert launched == []
    assert says("study: files of no study", done.stderr)
    assert theirs.read_text() == "mine"


def test_checkpoints_are_kept_where_asked_and_the_folder_may_move(study):
    change(study / "recipes" / "reproduce.yaml", keep_checkpoints=True)
    fails = {"status": 2, "STANDIN_FAIL": "sft-sample"}
    run(study, **fails)
    assert list((study / "out").glob("sft/checkpoint-*"))
    (study / "out").rename(study / "moved")
    assert run(study, "--output", "moved", **fails)[0] == ["sft-sample"]


def test_two_processes_of_one_command_share_its_steps(study):
    both = warm.run_all([command(), command()], cwd=study, env=environment(study))
    assert [done.returncode for done in both] == [0, 0], both[0].stderr
    assert sorted((study / "calls").read_text().split()) == sorted(STEPS)


@pytest.mark.parametrize("place", ["steps/random", "random"])
def test_a_step_that_another_process_works_on_is_waited_for(study, place):
    """Also one whose study was killed, and whose command yet writes its checkpoint."""
    run(study, status=2, STANDIN_FAIL="random")
    lock(study / "out" / place)
    told = run(study, "--status")[1].stdout.splitlines()
    assert told[:2] == [
        "random: runs: RuntimeError: no [31mmemory[0m left",
        "base: to do",
    ]
    shutil.rmtree(study / "out" / "random")  # a step's first minute
    assert ("random: runs: " in run(study, "--status")[1].stdout) == ("/" in place)
    (study / "out" / place).mkdir(exist_ok=True)
    unlock(study / "out" / place)
    lock(study / "out" / place)

    def give_back():
        wait_until((study / "out" / "grpo-sample" / "metrics.json").exists)
        unlock(study / "out" / place)

    with ThreadPoolExecutor() as pool:
        given = pool.submit(give_back)
        launched, _ = run(study)
        given.result()
    assert sorted(launched) == sorted(STEPS)
    assert launched.index("random") > launched.index("grpo-sample")


# A shell that starts us in the background has us ignore Ctrl-C, and children inherit that.
NOHUP_AT_A_TERMINAL = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
runpy.run_module("sozo", run_name="__main__", alter_sys=True)
"""


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"
)
@pytest.mark.parametrize(
    ("kill", "status"),
    [(signal.SIGKILL, -9), (signal.SIGTERM, 75), (signal.SIGINT, 130)],
)
def test_nothing_outlives_a_killed_study_and_it_goes_on(study, kill, status):
    pid_file = study / "calls.pid"
    python, _, _, *words = command()
    (done,) = warm.run_all(
        [[python, "-c", NOHUP_AT_A_TERMINAL, *words]],
        cwd=study,
        env=environment(study, STANDIN_HANG="sft"),
        kill=(pid_file, 0.2, kill),
    )
    assert done.returncode == status, done.stderr
    wait_until(lambda: gone(int(pid_file.read_text())))
    launched, done = run(study, status=2, STANDIN_FAIL="sft-sample")
    assert launched == STEPS[2:4]
    assert "running (continues)" in done.stderr
