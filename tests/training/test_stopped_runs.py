"""Runs that were stopped, by a signal or a kill, and checkpoints that are damaged: what a user then sees.

A damaged checkpoint is never trained on: the last whole one is, which is said, and the weights are the unbroken run's.
SIGTERM leaves a run that is not finished: status 75, no metrics.json, and the same command ends with the unbroken run's
weights.
"""

import itertools
import shutil
import signal

import pytest

import warm
from grpo_runs import (
    environment,
    logged,
    recipe,
    run,
    same_weights,
    wandb_records,
)
from sentences import refused, says
from sozo.data.checkpoints import checkpoints, whole_checkpoint

DAT = "sozo.rewards.make_dat_reward"
TASK = {
    "task": "dat",
    "reward_funcs": [DAT, "stopping_reward.stop"],
    "reward_args": {DAT: {"noun_checker": "jumandic"}},
}
TWO = {"launch": "cpu2_ddp.yaml", "per_device_train_batch_size": 4}


@pytest.fixture(scope="module")
def start(mini):
    """Makes the command of a run of six steps, with checkpoints at 2, 4 and 6."""

    def command(**changes):
        settings = {"max_steps": 6, "save_steps": 2, "save_total_limit": 10}
        settings |= {"report_to": "none", "output_dir": "out", "tasks": [TASK]}
        return recipe(model_name_or_path=mini, **settings | changes)

    return command


@pytest.fixture(scope="module")
def unbroken(start, tmp_path_factory):
    """The folder of a run that nobody stopped, by its settings."""
    made = {}

    def folder(**changes):
        if (key := repr(changes)) not in made:
            made[key] = tmp_path_factory.mktemp("unbroken") / "out"
            done = run(start(**changes), made[key].parent)
            assert done.returncode == 0, done.stderr[-3000:]
        return made[key]

    return folder


def cut_off(whole, output):
    """What a run leaves that was killed behind step 4: its checkpoints at 2 and 4, and no result."""
    output.mkdir(parents=True)
    shutil.copy(whole / "run_config.json", output)
    for step in (2, 4):
        shutil.copytree(whole / f"checkpoint-{step}", output / f"checkpoint-{step}")
    return output


def unfinished(done, output, status=75):
    """A preempted run: its status, no result, no word of a trained model."""
    assert done.returncode == status, (done.returncode, done.stderr[-2000:])
    assert not (output / "metrics.json").exists()
    assert not (output / "model.safetensors").exists()
    assert "The trained model is in" not in done.stdout


def check_equal(output, whole):
    assert same_weights(output, whole)
    assert logged(output) == logged(whole)


def goes_on(command, output, whole):
    done = run(command, output.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (output / "metrics.json").is_file()
    check_equal(output, whole)
    return done


# Damage


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
}


def test_damage_to_any_file_of_a_checkpoint_is_seen_and_named(unbroken, tmp_path):
    output = cut_off(unbroken(), tmp_path / "out")
    damaged = output / "checkpoint-4"
    files = sorted(
        path.name for path in damaged.iterdir() if not path.name.startswith("sozo_")
    )
    assert {"optimizer.pt", "rng_state.pth", "state_0.json"} <= set(files)
    ways = itertools.cycle(DAMAGE.values())
    cases = [*zip(files, ways, strict=False), ("rng_state.pth", other)]
    for name, damage in cases + [
        ("optimizer.pt", damage) for damage in DAMAGE.values()
    ]:
        shutil.rmtree(damaged)
        shutil.copytree(unbroken() / "checkpoint-4", damaged)
        damage(damaged / name)
        found, (line,) = whole_checkpoint(output)
        assert found == output / "checkpoint-2"
        assert line.startswith("checkpoint-4, passed over: ")
        assert name in line
    with refused("checkpoints: the named one is damaged"):
        whole_checkpoint(output, damaged)
    assert whole_checkpoint(output, found) == (found, [])
    shutil.rmtree(found)
    with refused("checkpoints: none is whole"):
        whole_checkpoint(output)


def folder_of(output, name, step=2):
    shutil.copytree(output / f"checkpoint-{step}", output / name)


# What is foreign, or of no weight for what follows.
FOREIGN = {
    "a copy": lambda output: folder_of(output, "checkpoint-4-backup"),
    "what is written": lambda output: folder_of(output, "checkpoint-10.partial"),
    "a number below 0": lambda output: folder_of(output, "checkpoint--7"),
    "a number in other digits": lambda output: folder_of(output, "checkpoint-９"),
    "a file": lambda output: (output / "checkpoint-9").write_text("notes"),
    "an empty folder": lambda output: (output / "checkpoint-11").mkdir(),
    "a link to nowhere": lambda output: (output / "checkpoint-13").symlink_to("gone"),
    "rsync's part inside": lambda output: (
        output / "checkpoint-4" / ".optimizer.pt.Xa3f1Q"
    ).write_bytes(b"\0" * 9),
    "a note inside": lambda output: (output / "checkpoint-4" / "README.txt").write_text(
        "keep this one"
    ),
    "read only": lambda output: [
        path.chmod(0o444) for path in output.glob("checkpoint-*/*")
    ],
}


def test_what_is_foreign_changes_nothing(start, unbroken, tmp_path):
    output = cut_off(unbroken(), tmp_path / "out")
    for add in FOREIGN.values():
        add(output)
    found, lines = whole_checkpoint(output)
    assert found == output / "checkpoint-4"
    assert all(line.startswith("checkpoint-11, passed over: ") for line in lines)
    folder_of(output, "checkpoint-6", 4)  # a copy that is not sent whole
    (output / "checkpoint-6" / "optimizer.pt").unlink()
    assert whole_checkpoint(output)[0] == found
    # The last whole one is used, and what is passed over is named.
    flip(output / "checkpoint-4" / "optimizer.pt")
    done = goes_on(start(), output, unbroken())
    for row in ("cut short", "one file changed", "one file missing"):
        assert says(f"checkpoints: passed over, {row}", done.stderr), done.stderr
    assert "continued from checkpoint-2, step 2/6\n" in done.stdout


@pytest.mark.launches
def test_the_part_of_another_process_is_damaged(start, unbroken, tmp_path):
    whole = unbroken(**TWO)
    output = cut_off(whole, tmp_path / "out")
    other(output / "checkpoint-4" / "rng_state_1.pth")
    done = goes_on(start(**TWO), output, whole)
    assert says("checkpoints: passed over, another process's file", done.stderr)
    assert "continued from checkpoint-2, step 2/6\n" in done.stdout


# Preempted


@pytest.mark.parametrize(
    ("free", "deciding", "stops"),
    [
        ({}, {}, ["3", "2 2"]),  # twice, by one signal and by two
        ({"save_strategy": "no"}, {}, ["5"]),
        # One generation is trained on twice, in micro-batches: it is drawn anew where it began.
        (
            {},
            {
                "num_iterations": 2,
                "per_device_train_batch_size": 2,
                "loss_type": "dapo",
            },
            ["2"],
        ),
    ],
)
def test_a_preempted_run_is_unfinished_and_goes_on(
    free, deciding, stops, start, unbroken, tmp_path
):
    """The signal comes while completions are paid: the rewards' history must not know of a step that is drawn anew."""
    command, output, step = start(**free, **deciding), tmp_path / "out", 0
    for stop in stops:
        done = run(command, tmp_path, STOP_AT=stop)
        unfinished(done, output)
        step += int(stop[0]) * deciding.get("num_iterations", 1)
        newest = checkpoints(output)[0]
        assert newest.name == f"checkpoint-{step}"  # where it stood
        assert says("preemption: a checkpoint is written", done.stderr)
    goes_on(command, output, unbroken(**deciding))


def test_wandb_is_told_of_a_preemption(start, unbroken, tmp_path):
    command = start(report_to="wandb", enable_jit_checkpoint=True)
    unfinished(run(command, tmp_path, STOP_AT="1"), tmp_path / "out")
    records = list(wandb_records(tmp_path / "out"))
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [
        75
    ]
    goes_on(start(enable_jit_checkpoint=True), tmp_path / "out", unbroken())


def test_a_run_is_preempted_as_its_model_loads(start, unbroken, tmp_path):
    output = tmp_path / "out"
    kill = output / "run_config.json", 0, signal.SIGTERM
    (done,) = warm.run_all([start()], cwd=tmp_path, env=environment(), kill=kill)
    unfinished(done, output)
    goes_on(start(), output, unbroken())


@pytest.mark.launches
@pytest.mark.parametrize(
    "stopped",
    [{"STOP_RANK": "1"}, {"STOP_RANK": "0", "STOP_PARENT": "true"}],
    ids=["one process", "the launcher"],
)
def test_two_processes_are_preempted(stopped, start, unbroken, tmp_path):
    """The signal reaches one process alone, or the launcher, as from a scheduler."""
    command, output = start(**TWO), tmp_path / "out"
    done = run(command, tmp_path, STOP_AT="3", **stopped)
    assert done.returncode != 0
    unfinished(done, output, done.returncode)
    goes_on(command, output, unbroken(**TWO))


@pytest.mark.launches
def test_a_launcher_of_one_process_ends_first_and_the_training_writes_its_checkpoint(
    start, unbroken, tmp_path
):
    """Its SIGTERM ends `accelerate launch` at once; its process is told of that, and saves where it stands."""
    command = start(launch="single.yaml", save_steps=6)
    cpu = {"ACCELERATE_USE_CPU": "true"}
    done = run(command, tmp_path, STOP_AT="3", STOP_PARENT="true", **cpu)
    assert done.returncode != 0
    for _ in range(100):
        again = run(command, tmp_path, **cpu)
        if "is at work here" not in again.stderr:
            break
    assert again.returncode == 0, again.stderr
    assert "continued from checkpoint-" in again.stdout
    check_equal(tmp_path / "out", unbroken())


@pytest.mark.slow
@pytest.mark.parametrize("launch", ["cpu2_zero2.yaml", "cpu2_zero3.yaml"])
def test_a_damaged_part_of_another_process_under_deepspeed(
    launch, start, unbroken, tmp_path
):
    changes = TWO | {"launch": launch}
    whole = unbroken(**changes)
    output = cut_off(whole, tmp_path / "out")
    (part,) = (output / "checkpoint-4" / "global_step4").glob("*rank_1*optim_states.pt")
    flip(part)
    done = goes_on(start(**changes), output, whole)
    assert f"checkpoint-4, passed over: the content of global_step4/{part.name}" in (
        done.stderr
    )
