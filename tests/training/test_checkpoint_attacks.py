"""Checkpoints that are damaged, runs that are preempted, and a resume on other processes: what a user then sees.

A damaged checkpoint is never trained on: the last whole one is, which is said, and the weights are the unbroken run's;
without one the run ends in one line. SIGTERM leaves a run that is not finished: status 75, no metrics.json, and the
same command ends with the unbroken run's weights. Written by somebody who did not mend any of it.
"""

import itertools
import json
import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from grpo_runs import history, recipe, run
from sozo.data.checkpoints import whole_checkpoint
from sozo.data.errors import UserError

LORA = {
    "use_peft": True,
    "lora_target_modules": "all-linear",
    "lora_r": 2,
    "lora_dropout": 0.0,
}
STEPS = {
    "max_steps": 6,
    "save_steps": 2,
    "save_total_limit": 10,
    "report_to": "none",
    "output_dir": "out",
}
REWARD = """
import os, signal, time

calls = 0

def slow(completions, **kwargs):
    global calls
    calls += 1
    if calls == int(os.environ.get("TERM_AT", "0")):
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(float(os.environ.get("SLEEP", "0")))
    return [0.0 for _ in completions]
"""
DAT = "sozo.rewards.make_dat_reward"
# How each method trains here; `lora` is GRPO of an adapter.
OWN = {
    "sft": {"top_k": 64},
    "dpo": {"num_pairs": 64},
    "grpo": {},
    "lora": LORA | {"learning_rate": 1e-2},
}
WEIGHTS = {
    name: "adapter_model.safetensors" if name == "lora" else "model.safetensors"
    for name in OWN
}


def without_step(command, file):
    """The same command, which does not say how many completions or examples a step has."""
    place = command.index("--config") + 1
    lines = Path(command[place]).read_text("utf-8").splitlines(keepends=True)
    file.write_text(
        "".join(line for line in lines if "_per_step:" not in line), "utf-8"
    )
    (flag,) = [
        number for number, word in enumerate(command) if str(word).endswith("_per_step")
    ]
    command = [
        *command[:place],
        str(file),
        *command[place + 1 : flag],
        *command[flag + 2 :],
    ]
    assert not any("_per_step" in str(word) for word in command)
    return command


@pytest.fixture(scope="module")
def start(mini, answers, tmp_path_factory):
    """Makes the command of a run on eight items a step."""

    def command(method, *, per_step=True, **changes):
        script = method if method in ("sft", "dpo") else "grpo"
        settings = STEPS | {"model_name_or_path": mini} | OWN[method]
        settings |= {"answers": answers} if script != "grpo" else {}
        made = recipe(method=script, **settings | changes)
        return (
            made
            if per_step
            else without_step(made, tmp_path_factory.mktemp("yaml") / "own.yaml")
        )

    return command


@pytest.fixture(scope="module")
def finished(start, tmp_path_factory):
    """By method the folder of an unbroken run of six steps, with checkpoints at 2, 4 and 6."""
    made = {}

    def folder(method, **launch):
        key = method, *launch.values()
        if key not in made:
            made[key] = tmp_path_factory.mktemp(method) / "out"
            done = run(start(method, **launch), made[key].parent)
            assert done.returncode == 0, done.stderr[-3000:]
        return made[key]

    return folder


def cut_off(whole, output, keep):
    """What a run leaves that was killed behind the last step in `keep`: its checkpoints there, and no result."""
    output.mkdir(parents=True)
    shutil.copy(whole / "run_config.json", output)
    for step in keep:
        shutil.copytree(whole / f"checkpoint-{step}", output / f"checkpoint-{step}")
    return output


def equal_weights(output, whole):
    (expected,) = list(whole.glob("*.safetensors"))
    mine, right = load_file(output / expected.name), load_file(expected)
    return mine.keys() == right.keys() and all(
        torch.equal(mine[name], right[name]) for name in right
    )


def steps_of(output):
    return [entry["step"] for entry in history(output) if "loss" in entry]


def digests(folder):
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "_lock"
    }


def said(done):
    """Lines that the run wrote, wherever; no traceback but the launcher's own."""
    launchers = any(
        name in done.stderr for name in ("ChildFailedError", "CalledProcessError")
    )
    assert done.stderr.count("Traceback (most recent call last)") <= launchers, (
        done.stderr[-3000:]
    )
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    return [
        line for line in lines if "torch" not in line and "site-packages" not in line
    ]


# 2. Damage


def flip(file, at=0.5):
    content = bytearray(file.read_bytes())
    content[int(len(content) * at)] ^= 1
    file.write_bytes(content)


def other(file):
    """The same file of the checkpoint before: whole in itself, and of another step."""
    shutil.copy(file.parent.parent / "checkpoint-2" / file.name, file)


DAMAGE = {
    "removed": lambda file: file.unlink(),
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "flipped": flip,
    "flipped at its end": lambda file: flip(file, 0.99),
    "empty": lambda file: file.write_bytes(b""),
    "nulls": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"\0"),
    "of another step": other,
}
EVERY = [*DAMAGE]
HOLDS = {
    "grpo": {
        "model.safetensors": EVERY,
        "optimizer.pt": EVERY,
        "scheduler.pt": ["removed", "cut", "flipped", "of another step"],
        "rng_state.pth": ["removed", "flipped", "of another step"],
        "trainer_state.json": ["removed", "cut", "empty", "of another step"],
        "state_0.json": ["removed", "cut", "flipped", "of another step"],
        "sozo_state.json": ["removed", "cut", "empty"],
    },
    "sft": {
        "model.safetensors": ["removed", "flipped", "of another step"],
        "optimizer.pt": ["removed", "flipped"],
        "scheduler.pt": ["removed", "empty"],
        "rng_state.pth": ["removed", "cut"],
        "trainer_state.json": ["nulls", "of another step"],
        # What a resume does not read.
        "training_args.bin": ["removed", "flipped", "empty"],
        "config.json": ["removed", "flipped", "empty"],
        "tokenizer.json": ["removed", "flipped", "empty"],
    },
    "dpo": {
        "model.safetensors": ["cut"],
        "optimizer.pt": ["flipped", "of another step"],
        "scheduler.pt": ["of another step"],
        "rng_state.pth": ["empty"],
    },
    "lora": {
        "adapter_model.safetensors": EVERY,
        "optimizer.pt": ["removed", "cut"],
        "scheduler.pt": ["removed"],
    },
}
CASES = [
    (method, name, how)
    for method, files in HOLDS.items()
    for name, ways in files.items()
    for how in ways
]


def refusal(*asked):
    """Why no run goes on."""
    with pytest.raises(UserError) as error:
        whole_checkpoint(*asked)
    return str(error.value)


@pytest.mark.parametrize(("method", "name", "how"), CASES)
def test_every_damage_is_seen_and_named(method, name, how, finished, tmp_path):
    """In this process: what a run goes on from is what `whole_checkpoint` returns."""
    output = cut_off(finished(method), tmp_path / "out", (2, 4))
    damaged = output / "checkpoint-4"
    DAMAGE[how](damaged / name)
    found, (line,) = whole_checkpoint(output)
    assert found == output / "checkpoint-2"
    for said in (line, refusal(output, damaged)):
        assert "checkpoint-4" in said
        assert name in said
    shutil.rmtree(found)
    before = digests(output)
    said = refusal(output)
    assert "checkpoint-4" in said
    assert name in said
    assert digests(output) == before


@pytest.mark.parametrize(
    ("method", "name", "how"),
    [
        ("grpo", "optimizer.pt", "flipped"),
        ("sft", "model.safetensors", "removed"),
        ("dpo", "rng_state.pth", "empty"),
        ("lora", "adapter_model.safetensors", "cut"),
    ],
)
def test_no_run_begins_anew_where_all_are_damaged(
    method, name, how, start, finished, tmp_path
):
    output = cut_off(finished(method), tmp_path / "out", (2, 4))
    for step in (2, 4):
        DAMAGE[how](output / f"checkpoint-{step}" / name)
    before = digests(output)
    done = run(start(method), tmp_path)
    assert done.returncode not in (0, 75), "it trained"
    (line,) = [line for line in said(done) if "checkpoint-" in line]
    for step in (2, 4):
        assert f"checkpoint-{step}" in line
    assert name in line
    assert digests(output) == before


@pytest.mark.parametrize(
    ("method", "damage"),
    [
        ("grpo", {4: ("optimizer.pt", "removed")}),
        ("grpo", {4: ("state_0.json", "of another step")}),
        (
            "sft",
            {4: ("optimizer.pt", "removed"), 6: ("model.safetensors", "flipped")},
        ),
        ("dpo", {4: ("rng_state.pth", "empty")}),
        ("lora", {4: ("adapter_model.safetensors", "of another step")}),
    ],
)
def test_the_last_whole_checkpoint_is_used_and_what_is_passed_over_is_named(
    method, damage, start, finished, tmp_path
):
    whole = finished(method)
    output = cut_off(whole, tmp_path / "out", (2, *damage))
    for step, (name, how) in damage.items():
        DAMAGE[how](output / f"checkpoint-{step}" / name)
    done = run(start(method), tmp_path)
    lines = said(done)
    for step, (name, _) in damage.items():
        assert any(f"checkpoint-{step}" in line and name in line for line in lines), (
            lines[-5:]
        )
    assert done.returncode == 0, done.stderr[-2000:]
    assert any("continued from checkpoint-2" in line for line in lines), lines[-5:]
    assert equal_weights(output, whole)
    assert steps_of(output) == [1, 2, 3, 4, 5, 6]


# What is foreign, or of no weight for what follows, changes nothing: what lies about beside
# checkpoints and in them is asked of one run.
def folder_of(output, name, step=4):
    shutil.copytree(output / f"checkpoint-{step}", output / name)


FOREIGN = {
    "checkpoint-abc": lambda output: folder_of(output, "checkpoint-abc"),
    "checkpoint-4-backup": lambda output: folder_of(output, "checkpoint-4-backup"),
    "checkpoint-old-9": lambda output: folder_of(output, "checkpoint-old-9", 2),
    "checkpoint-10.partial": lambda output: folder_of(
        output, "checkpoint-10.partial", 2
    ),
    "checkpoint--7": lambda output: folder_of(output, "checkpoint--7", 2),
    "checkpoint- ": lambda output: folder_of(output, "checkpoint- ", 2),
    "checkpoint-９": lambda output: folder_of(output, "checkpoint-９", 2),
    "checkpoint-²": lambda output: folder_of(output, "checkpoint-²", 2),
    "a file": lambda output: (output / "checkpoint-9").write_text("notes"),
    "an empty folder": lambda output: (output / "checkpoint-11").mkdir(),
    "a link to nowhere": lambda output: (output / "checkpoint-13").symlink_to("gone"),
    "a hidden file inside": lambda output: (
        output / "checkpoint-4" / ".DS_Store"
    ).write_bytes(b"\0" * 9),
    "rsync's part inside": lambda output: (
        output / "checkpoint-4" / ".optimizer.pt.Xa3f1Q"
    ).write_bytes(b"\0" * 9),
    "a note inside": lambda output: (output / "checkpoint-4" / "README.txt").write_text(
        "keep this one"
    ),
    "other times": lambda output: [
        os.utime(path, (1, 1), follow_symlinks=False) for path in output.rglob("*")
    ],
    "another order of time": lambda output: os.utime(
        output / "checkpoint-2", (2e9, 2e9)
    ),
    "read only": lambda output: [
        path.chmod(0o444) for path in output.glob("checkpoint-*/*")
    ],
    # Each alone: a run may go on from the first of these, and the others are of one step.
    "a step's number on another's content": lambda output: folder_of(
        output, "checkpoint-5", 2
    ),
    "half of a copy": lambda output: [
        (output / "checkpoint-6").mkdir(),
        shutil.copy(
            output / "checkpoint-4" / "model.safetensors", output / "checkpoint-6"
        ),
        shutil.copy(
            output / "checkpoint-4" / "sozo_state.json", output / "checkpoint-6"
        ),
    ],
    "a copy that is not sent whole": lambda output: [
        folder_of(output, "checkpoint-6"),
        (output / "checkpoint-6" / "optimizer.pt").rename(
            output / "checkpoint-6" / ".optimizer.pt.Xa3f1Q"
        ),
    ],
}


@pytest.mark.parametrize(
    "cases", [[*FOREIGN][:-3], *([case] for case in [*FOREIGN][-3:])]
)
def test_what_is_foreign_changes_nothing(cases, start, finished, tmp_path):
    whole = finished("sft")
    output = cut_off(whole, tmp_path / "out", (2, 4))
    for case in cases:
        FOREIGN[case](output)
    done = run(start("sft"), tmp_path)
    lines = said(done)
    assert done.returncode == 0, done.stderr[-2000:]
    if len(cases) > 1:
        assert any("continued from checkpoint-4" in line for line in lines)
    assert equal_weights(output, whole)
    assert steps_of(output) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "name", ["checkpoint-8", "checkpoint-2/model.safetensors", "gone", ""]
)
def test_a_checkpoint_that_is_named_and_none_is_refused(name, finished, tmp_path):
    output = cut_off(finished("sft"), tmp_path / "out", (2, 4))
    assert str(output / name) in refusal(output, output / name)


def test_a_run_that_is_to_go_on_from_no_checkpoint_is_refused(
    start, finished, tmp_path
):
    output = cut_off(finished("sft"), tmp_path / "out", (2, 4))
    before = digests(output)
    done = run(start("sft", resume_from_checkpoint="out/checkpoint-8"), tmp_path)
    assert done.returncode == 2
    assert any("out/checkpoint-8" in line for line in said(done))
    assert digests(output) == before


def test_a_checkpoint_of_weights_alone_is_never_gone_on_from_in_silence(
    start, finished, tmp_path
):
    whole = finished("sft")
    output = tmp_path / "out"
    done = run(start("sft", save_only_model=True), tmp_path)
    lines = said(done)
    if done.returncode:
        assert any("save_only_model" in line for line in lines)
        return
    for path in [*output.glob("*.json"), *output.glob("*.safetensors")]:
        if path.name != "run_config.json":
            path.unlink()
    shutil.rmtree(output / "checkpoint-6")
    done = run(start("sft", save_only_model=True), tmp_path)
    lines = said(done)
    if done.returncode:
        assert any("checkpoint-4" in line for line in lines)
    else:
        assert equal_weights(output, whole)


def test_the_part_of_another_process_is_damaged(start, finished, tmp_path):
    two = {"launch": "cpu2_ddp.yaml", "per_device_train_batch_size": 4}
    whole = finished("grpo", **two)
    output = cut_off(whole, tmp_path / "out", (2, 4))
    other(output / "checkpoint-4" / "rng_state_1.pth")
    done = run(start("grpo", **two), tmp_path)
    lines = said(done)
    assert done.returncode == 0, done.stderr[-2000:]
    assert any("checkpoint-4" in line and "rng_state_1.pth" in line for line in lines)
    assert any("continued from checkpoint-2" in line for line in lines)
    assert equal_weights(output, whole)


@pytest.mark.parametrize("method", ["sft", "dpo", "grpo", "lora"])
def test_whole_checkpoints_are_gone_on_from(method, start, finished, tmp_path):
    whole = finished(method)
    output = cut_off(whole, tmp_path / "out", (2, 4))
    inode = (output / "checkpoint-4" / WEIGHTS[method]).stat().st_ino
    done = run(start(method), tmp_path)
    assert not [line for line in said(done) if "damaged" in line]
    assert done.returncode == 0, done.stderr[-2000:]
    assert equal_weights(output, whole)
    assert (
        output / "checkpoint-4" / WEIGHTS[method]
    ).stat().st_ino == inode  # not trained once more


# 3. Preempted


LONG = {"max_steps": 24, "save_steps": 6}
# What slows a method without a reward: more micro-batches a step.
SLOWED = {
    "sft": {"per_device_train_batch_size": 1},
    "dpo": {"per_device_train_batch_size": 1},
}
SLOWED["grpo"] = {
    "tasks": [
        {
            "task": "dat",
            "reward_funcs": [DAT, "slow_reward.slow"],
            "reward_args": {DAT: {"noun_checker": "jumandic"}},
        }
    ]
}


@pytest.fixture(scope="module")
def unbroken(start, tmp_path_factory):
    """Makes the command of a longer run, and the folder of one that nobody stopped."""
    made = {}

    def long_run(method, **changes):
        command = start(method, **LONG | SLOWED[method] | changes)
        key = json.dumps([method, changes], default=str)
        if key not in made:
            made[key] = tmp_path_factory.mktemp("long") / "out"
            (made[key].parent / "slow_reward.py").write_text(REWARD)
            done = run(command, made[key].parent)
            assert done.returncode == 0, done.stderr[-3000:]
        return command, made[key]

    return long_run


def holder(lock):
    """The process that holds a folder's lock, if there is one."""
    try:
        found = re.findall(r"process (\d+)", lock.read_text("utf-8"))
    except FileNotFoundError:
        return None
    return int(found[0]) if found else None


def preempt(
    command,
    folder,
    when,
    signals=((0, signal.SIGTERM),),
    *,
    launcher=False,
    **variables,
):
    """Run the command, and once `when(folder)` holds send it each signal, so many seconds after the one before."""
    (folder / "slow_reward.py").write_text(REWARD)
    done = []
    thread = threading.Thread(
        target=lambda: done.append(run(command, folder, **variables))
    )
    thread.start()
    pid = None
    while thread.is_alive() and not (pid and when(folder / "out")):
        time.sleep(0.001)
        pid = pid or holder(folder / "out" / "_lock")
    if thread.is_alive() and pid:
        if launcher:
            pid = int(
                re.findall(r"PPid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]
            )
        for seconds, number in signals:
            time.sleep(seconds)
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                break
    thread.join()
    return done[0]


def unfinished(done, output, status=75):
    """A preempted run: its status, no result, no word of a trained model."""
    said(done)
    assert done.returncode == status, (done.returncode, done.stderr[-2000:])
    assert not (output / "metrics.json").exists()
    assert not (output / "model.safetensors").exists()
    assert "The trained model is in" not in done.stdout


def goes_on(command, output, whole):
    done = run(command, output.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (output / "metrics.json").is_file()
    assert equal_weights(output, whole)
    assert steps_of(output) == steps_of(whole)


def there(name):
    return lambda output: (output / name).exists()


MOMENTS = {
    "while the model loads": there("run_config.json"),
    "while a checkpoint is written": there("checkpoint-6"),
    "behind a checkpoint": there("checkpoint-6/sozo_state.json"),
    "late": there("checkpoint-12/sozo_state.json"),
}


# The quick ones; the others are of the same kind.
QUICK = {
    ("sft", "while the model loads", False),
    ("sft", "while a checkpoint is written", True),
    ("dpo", "while a checkpoint is written", False),
    ("grpo", "while a checkpoint is written", False),
    ("grpo", "behind a checkpoint", True),
}


@pytest.mark.parametrize(
    ("method", "when", "jit"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
        for case in itertools.product(["sft", "dpo", "grpo"], MOMENTS, [False, True])
    ],
)
def test_a_preempted_run_is_unfinished_and_goes_on(
    method, when, jit, unbroken, tmp_path
):
    command, whole = unbroken(method)
    command = [*command, "--enable_jit_checkpoint", "true"] if jit else command
    done = preempt(command, tmp_path, MOMENTS[when], SLEEP="0.25")
    unfinished(done, tmp_path / "out")
    goes_on(command, tmp_path / "out", whole)


@pytest.mark.parametrize(
    ("call", "jit"),
    [
        (1, True),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [(1, False), (2, False), (9, True)]
        ),
    ],
)
def test_a_signal_within_a_step(call, jit, unbroken, tmp_path):
    """While the completions are paid: the rewards' history must not know of a step that is drawn anew."""
    command, whole = unbroken("grpo")
    command = [*command, "--enable_jit_checkpoint", "true"] if jit else command
    (tmp_path / "slow_reward.py").write_text(REWARD)
    done = run(command, tmp_path, TERM_AT=str(call), SLEEP="0.25")
    unfinished(done, tmp_path / "out")
    assert list((tmp_path / "out").glob("checkpoint-*")), (
        "nothing was kept of where it stood"
    )
    goes_on(command, tmp_path / "out", whole)


def test_where_it_stood_is_not_lost(unbroken, tmp_path):
    """Without the flag too: not up to save_steps steps back."""
    command, whole = unbroken("grpo")
    (tmp_path / "slow_reward.py").write_text(REWARD)
    unfinished(run(command, tmp_path, TERM_AT="10"), tmp_path / "out")
    steps = sorted(
        int(path.name.rpartition("-")[2])
        for path in (tmp_path / "out").glob("checkpoint-*")
    )
    assert 9 <= steps[-1] <= 11
    goes_on(command, tmp_path / "out", whole)


@pytest.mark.parametrize(
    "signals",
    [
        ((0, signal.SIGTERM), (0.05, signal.SIGTERM)),
        pytest.param(
            ((0, signal.SIGTERM), (0, signal.SIGTERM), (0, signal.SIGTERM)),
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.parametrize(
    "method", [pytest.param("sft", marks=pytest.mark.slow), "grpo"]
)
def test_a_second_signal_changes_nothing(method, signals, unbroken, tmp_path):
    command, whole = unbroken(method)
    unfinished(
        preempt(command, tmp_path, there("checkpoint-6"), signals, SLEEP="0.1"),
        tmp_path / "out",
    )
    goes_on(command, tmp_path / "out", whole)


@pytest.mark.parametrize(
    "seconds", [0.02, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, 0.2))]
)
def test_a_scheduler_that_does_not_wait(seconds, unbroken, tmp_path):
    """SIGKILL follows: whatever was being written is not used."""
    command, whole = unbroken("grpo")
    kill = ((0, signal.SIGTERM), (seconds, signal.SIGKILL))
    done = preempt(command, tmp_path, there("checkpoint-12"), kill, SLEEP="0.1")
    assert done.returncode in (75, -signal.SIGKILL)
    assert not (tmp_path / "out" / "metrics.json").exists()
    goes_on(command, tmp_path / "out", whole)


def test_preempted_twice(unbroken, tmp_path):
    command, whole = unbroken("grpo")
    for at in ("3", "4"):
        (tmp_path / "slow_reward.py").write_text(REWARD)
        unfinished(run(command, tmp_path, TERM_AT=at, SLEEP="0.1"), tmp_path / "out")
    goes_on(command, tmp_path / "out", whole)


def test_preempted_without_checkpoints_of_its_own(unbroken, tmp_path):
    command, whole = unbroken("grpo", save_strategy="no")
    (tmp_path / "slow_reward.py").write_text(REWARD)
    unfinished(run(command, tmp_path, TERM_AT="5", SLEEP="0.1"), tmp_path / "out")
    goes_on(command, tmp_path / "out", whole)


@pytest.mark.parametrize("call", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_preempted_within_a_generation(call, unbroken, tmp_path):
    """One generation is trained on twice: a resume draws anew, so it must begin where a generation does."""
    command, whole = unbroken("grpo", num_iterations=2)
    (tmp_path / "slow_reward.py").write_text(REWARD)
    unfinished(run(command, tmp_path, TERM_AT=str(call), SLEEP="0.1"), tmp_path / "out")
    goes_on(command, tmp_path / "out", whole)


@pytest.mark.parametrize("call", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_preempted_between_micro_batches(call, unbroken, tmp_path):
    changes = {
        "per_device_train_batch_size": 2,
        "completions_per_step": 8,
        "num_generations": 8,
        "loss_type": "dapo",
    }
    command, whole = unbroken("grpo", **changes)
    (tmp_path / "slow_reward.py").write_text(REWARD)
    unfinished(run(command, tmp_path, TERM_AT=str(call), SLEEP="0.1"), tmp_path / "out")
    goes_on(command, tmp_path / "out", whole)


def test_a_finished_run_is_finished_whatever_comes_then(unbroken, tmp_path):
    """A signal when metrics.json is there: whatever the status, a requeue finds a finished run."""
    command, whole = unbroken("sft")
    done = preempt(command, tmp_path, there("metrics.json"))
    said(done)
    assert (tmp_path / "out" / "metrics.json").is_file()
    again = run(command, tmp_path)
    assert again.returncode == 0
    assert equal_weights(tmp_path / "out", whole)


TWO = {"launch": "cpu2_ddp.yaml"}
PART = {
    "sft": {"per_device_train_batch_size": 1},
    "dpo": {"per_device_train_batch_size": 1},
}
PART["grpo"] = {"per_device_train_batch_size": 4}


@pytest.mark.parametrize("launcher", [True, False])
@pytest.mark.parametrize(
    "method",
    [
        "grpo",
        pytest.param("sft", marks=pytest.mark.slow),
        pytest.param("dpo", marks=pytest.mark.slow),
    ],
)
def test_two_processes_are_preempted(method, launcher, unbroken, tmp_path):
    """The signal reaches the launcher, as from a scheduler, or one process alone."""
    command, whole = unbroken(method, **TWO | PART[method] | {"max_steps": 12})
    done = preempt(
        command,
        tmp_path,
        there("checkpoint-6/sozo_state.json"),
        launcher=launcher,
        SLEEP="0.25",
    )
    assert done.returncode != 0
    assert not (tmp_path / "out" / "metrics.json").exists()
    assert "The trained model is in" not in done.stdout
    goes_on(command, tmp_path / "out", whole)


# 9. Other processes, other micro-batches


def refused(done, cause):
    """In one line that names the cause, and not what was only computed of it."""
    assert done.returncode not in (0, 75), "it went on"
    lines = [
        line
        for line in said(done)
        if re.match(r"error: ", line) and re.search(cause, line)
    ]
    assert lines, done.stderr[-2000:]
    assert "gradient_accumulation_steps" not in lines[0]
    assert "generation_batch_size" not in lines[0]
    assert "steps_per_generation" not in lines[0]


PROCESSES = r"process|world.size"
HALF = {"launch": "cpu2_ddp.yaml", "per_device_train_batch_size": 4}


def resumed(start, whole, folder, method, before, after):
    """The folder and the end of a run of `before`, cut off at step 4, that is resumed with `after` over it."""
    output = cut_off(whole, folder / "out", (2, 4))
    return output, run(start(method, **before | after), folder)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_table_goes_on_with_two_processes(method, start, finished, tmp_path):
    whole = finished(method)
    output, done = resumed(start, whole, tmp_path, method, {}, HALF)
    lines = said(done)
    assert done.returncode == 0, done.stderr[-2000:]
    assert any(re.search(PROCESSES, line) for line in lines), (
        "what is no longer equal to the bit is not said"
    )
    found, right = (
        [e["loss"] for e in history(folder) if "loss" in e]
        for folder in (output, whole)
    )
    assert len(found) == 6
    assert found == pytest.approx(right, abs=2e-3)


def test_a_table_goes_on_with_one_process_of_two(start, finished, tmp_path):
    whole = finished("sft", **HALF)
    output, done = resumed(start, whole, tmp_path, "sft", {}, {})
    assert done.returncode == 0, done.stderr[-2000:]
    found, right = (
        [e["loss"] for e in history(folder) if "loss" in e]
        for folder in (output, whole)
    )
    assert found == pytest.approx(right, abs=2e-3)


@pytest.mark.parametrize(
    "after",
    [HALF, {"per_device_train_batch_size": 4}, {"per_device_train_batch_size": 2}],
)
def test_grpo_goes_on_where_its_loss_is_a_mean_over_a_step(
    after, start, finished, tmp_path
):
    before = {"loss_type": "dapo"}
    output, done = resumed(
        start, finished("grpo", **before), tmp_path, "grpo", before, after
    )
    lines = said(done)
    assert done.returncode == 0, done.stderr[-2000:]
    logged = [entry for entry in history(output) if "reward" in entry]
    assert [entry["step"] for entry in logged] == [1, 2, 3, 4, 5, 6]
    assert any(
        re.search(f"{PROCESSES}|per_device_train_batch_size|micro.batch", line)
        for line in lines
    )


@pytest.mark.parametrize(
    ("after", "cause"),
    [
        (HALF, PROCESSES),
        ({"per_device_train_batch_size": 4}, "per_device_train_batch_size"),
    ],
)
def test_grpo_is_refused_where_its_loss_is_a_mean_over_a_micro_batch(
    after, cause, start, finished, tmp_path
):
    output = cut_off(finished("grpo"), tmp_path / "out", (2, 4))  # tiny's loss is bnpo
    before = digests(output)
    refused(run(start("grpo", **after), tmp_path), cause)
    assert digests(output) == before


@pytest.mark.parametrize("per_device", [8, 4])
def test_grpo_without_a_step_of_its_own_is_refused_on_two_processes(
    per_device, start, finished, tmp_path
):
    before = {"per_step": False, "loss_type": "dapo"}
    after = {"launch": "cpu2_ddp.yaml", "per_device_train_batch_size": per_device}
    _, done = resumed(
        start, finished("grpo", **before), tmp_path, "grpo", before, after
    )
    refused(done, PROCESSES)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_table_without_a_step_of_its_own_is_refused_on_two_processes(
    method, start, finished, tmp_path
):
    before = {"per_step": False}
    _, done = resumed(
        start,
        finished(method, **before),
        tmp_path,
        method,
        before,
        {"launch": "cpu2_ddp.yaml"},
    )
    refused(done, PROCESSES)


def test_grpo_of_two_processes_is_refused_on_one(start, finished, tmp_path):
    _, done = resumed(start, finished("grpo", **HALF), tmp_path, "grpo", {}, {})
    refused(done, PROCESSES)
