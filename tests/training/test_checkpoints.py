"""What a checkpoint holds, compared with what was written down when it was whole; SIGTERM as a launcher passes it."""

import json
import shutil
import signal
import subprocess
import sys
import threading

import pytest
import torch
from safetensors.torch import load_file

import warm
from grpo_runs import environment, history, kill_at_random, recipe, run, wandb_records
from sozo.data import checkpoints
from sozo.data.checkpoints import (
    Digests,
    cut_short,
    faults,
    last_checkpoint,
    newer,
    older,
    record_of,
    sizes,
    unmark,
    whole_checkpoint,
)
from sozo.data.errors import UserError
from sozo.data.wandb_run import write_state
from sozo.training.batches import steps_of_generation

DEEPSPEED = {
    "latest": b"global_step4",
    "global_step4/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt": b"first",
    "global_step4/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt": b"second",
    "rng_state_0.pth": b"0",
    "rng_state_1.pth": b"1",
}


def whole(folder, step=4, files=DEEPSPEED, *, digests=True):
    """A checkpoint as a run leaves it."""
    checkpoint = folder / f"checkpoint-{step}"
    for name, content in files.items():
        (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / name).write_bytes(content)
    write_state(checkpoint, None, sizes(checkpoint))
    if digests:
        work = Digests()
        work.start(checkpoint, sizes(checkpoint))
        work.join()
    return checkpoint


@pytest.mark.parametrize("name", DEEPSPEED)
def test_each_file_is_compared_wherever_it_is(name, tmp_path):
    checkpoint = whole(tmp_path)
    assert faults(checkpoint) == []
    content = DEEPSPEED[name]
    (checkpoint / name).write_bytes(content[:-1] + b"?")
    assert faults(checkpoint) == [f"the content of {name} changed after it was written"]
    (checkpoint / name).write_bytes(content + b"?")
    assert faults(checkpoint) == [
        f"{name} has {len(content) + 1} of {len(content)} bytes"
    ]
    (checkpoint / name).unlink()
    assert faults(checkpoint) == [f"{name} is missing"]


def test_the_mark_and_the_digests_are_compared_too(tmp_path):
    checkpoint = whole(tmp_path)
    state, digests = checkpoint / "sozo_state.json", checkpoint / "sozo_digests_0.json"
    right = state.read_text("utf-8")
    state.write_text(
        right.replace('"wandb_run_id": null', '"wandb_run_id": "ab"'), "utf-8"
    )
    assert faults(checkpoint) == [
        "the content of sozo_state.json changed after it was written"
    ]
    state.write_text(right.replace("rng_state_1", "rng_state_2"), "utf-8")
    assert (
        "sozo_state.json does not name rng_state_1.pth, of which there is a digest"
        in faults(checkpoint)
    )
    state.write_text("{", "utf-8")
    assert faults(checkpoint) == ["sozo_state.json cannot be read"]
    state.write_text('{"version": 2}', "utf-8")
    assert faults(checkpoint) == [
        "sozo_state.json does not say what the checkpoint holds"
    ]
    state.unlink()
    assert faults(checkpoint) == ["sozo_state.json is missing"]
    state.write_text(right, "utf-8")
    digests.write_text("[", "utf-8")
    assert faults(checkpoint) == ["sozo_digests_0.json cannot be read"]


def test_what_was_killed_before_its_digests_is_compared_by_sizes(tmp_path):
    checkpoint = whole(tmp_path, digests=False)
    (checkpoint / "latest").write_bytes(b"global_step9")
    assert faults(checkpoint) == []
    (checkpoint / "latest").write_bytes(b"global_step10")
    assert faults(checkpoint) == ["latest has 13 of 12 bytes"]


def test_a_run_begins_anew_where_its_first_checkpoint_was_cut_short(tmp_path):
    assert whole_checkpoint(tmp_path) == (None, [])
    checkpoint = whole(tmp_path, digests=False)
    unmark(checkpoint)
    line = "checkpoint-4, passed over: it was cut short while it was written (no sozo_state.json)"
    assert whole_checkpoint(tmp_path) == (None, [line])
    assert whole_checkpoint(tmp_path)[0] is last_checkpoint(tmp_path) is None
    earlier = whole(tmp_path, 2)
    assert whole_checkpoint(tmp_path) == (earlier, [line])
    with pytest.raises(
        UserError,
        match=r"checkpoint-4: it was cut short .*; the last whole one is checkpoint-2$",
    ):
        whole_checkpoint(tmp_path, checkpoint)


def test_a_checkpoint_of_an_earlier_version_is_taken_as_it_is(tmp_path):
    checkpoint = whole(tmp_path, digests=False)
    (checkpoint / "sozo_state.json").write_text(
        '{"version": 1, "wandb_run_id": null}', "utf-8"
    )
    found, (line,) = whole_checkpoint(tmp_path)
    assert found == checkpoint
    assert line.startswith(
        "checkpoint-4: of an earlier version, neither sizes nor sums are written down"
    )


def test_a_process_reads_what_bears_its_number(monkeypatch, tmp_path):
    checkpoint = whole(tmp_path)
    for name in (
        "rng_state_1.pth",
        "global_step4/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
        "rng_state_0.pth",
    ):
        (checkpoint / name).write_bytes(b"?" * len(DEEPSPEED[name]))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(checkpoints, "rank", lambda: 1)
    changed = (
        "global_step4/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
        "rng_state_1.pth",
    )
    assert faults(checkpoint) == [
        f"the content of {name} changed after it was written" for name in changed
    ]


def test_digests_make_way_for_the_next_checkpoint_and_never_make_a_folder_anew(
    monkeypatch, tmp_path
):
    checkpoint = whole(tmp_path, digests=False)
    reads, may_go_on = threading.Event(), threading.Event()
    digest = checkpoints._digest

    def slow(path, stop=None):
        reads.set()
        may_go_on.wait()
        return digest(path, stop)

    monkeypatch.setattr(checkpoints, "_digest", slow)
    work = Digests()
    work.start(checkpoint, sizes(checkpoint))
    reads.wait()
    work._stop.set()
    may_go_on.set()
    work.stop()
    assert not list(checkpoint.glob("sozo_digests*"))

    reads.clear()
    may_go_on.clear()
    work.start(checkpoint, sizes(checkpoint))
    reads.wait()
    shutil.rmtree(checkpoint)
    may_go_on.set()
    work.join()
    assert not checkpoint.exists()


def test_who_reads_only_a_model_asks_for_sizes(tmp_path):
    checkpoint = whole(tmp_path)
    assert cut_short(checkpoint) == []
    (checkpoint / "rng_state_0.pth").unlink()  # what a model does not need
    assert cut_short(checkpoint) == []
    (checkpoint / "latest").write_bytes(b"")
    assert cut_short(checkpoint) == ["latest"]


def test_older_ones_are_counted_back_from_this_one(tmp_path):
    made = {step: whole(tmp_path, step, digests=False) for step in (2, 4, 6, 8, 10)}
    shutil.copytree(made[2], tmp_path / "checkpoint-2-backup")
    assert older(made[8], 2) == [
        made[4],
        made[2],
    ]  # 10 is damaged: the run came back to 6
    assert older(made[4], 2) == []


@pytest.mark.parametrize(
    ("generation", "iterations", "accumulation", "steps"),
    [(1, 1, 1, 1), (4, 1, 2, 2), (3, 2, 4, 3), (2, 1, 4, 1)],
)
def test_a_generation_lasts_so_many_steps(generation, iterations, accumulation, steps):
    class Settings:
        steps_per_generation, num_iterations, gradient_accumulation_steps = (
            generation,
            iterations,
            accumulation,
        )

    assert steps_of_generation(Settings) == steps


# Runs


def equal_weights(output, expected):
    (one,), (other,) = (
        list(folder.glob("*.safetensors")) for folder in (output, expected)
    )
    weights, right = load_file(one), load_file(other)
    return weights.keys() == right.keys() and all(
        torch.equal(weights[name], right[name]) for name in right
    )


def unbroken(command, folder):
    folder.mkdir()
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    output = folder / "out"
    return output, (output / "metrics.json").stat().st_mtime - (
        output / "run_config.json"
    ).stat().st_mtime


@pytest.mark.parametrize(
    ("times", "sampler"),
    [
        (2, "shared_prefix"),
        *(pytest.param(10, s, marks=pytest.mark.slow) for s in ("trl",)),
    ],
)
def test_grpo_preempted_at_random_moments_ends_like_an_unbroken_run(
    times, sampler, mini, tmp_path
):
    settings = {
        "model_name_or_path": mini,
        "max_steps": 12,
        "save_steps": 1,
        "report_to": "none",
        "sampler": sampler,
    }
    command = recipe(output_dir="out", save_total_limit=2, **settings)
    expected, span = unbroken(command, tmp_path / "whole")
    output = tmp_path / "preempted" / "out"
    output.parent.mkdir()
    assert (
        kill_at_random(command, output, times=times, span=span, by=signal.SIGTERM)
        >= times * 3 // 4
    )
    done = run(command, output.parent)
    assert done.returncode == 0, done.stderr
    assert equal_weights(output, expected)
    assert [e for e in history(output) if "reward" in e] == [
        e for e in history(expected) if "reward" in e
    ]


def test_wandb_is_told_of_a_preemption(mini, tmp_path):
    output = tmp_path / "out"
    command = recipe(
        model_name_or_path=mini, output_dir="out", max_steps=40, save_steps=2
    )
    kill = output / "checkpoint-2" / "sozo_state.json", 0, signal.SIGTERM
    (done,) = warm.run_all([command], cwd=tmp_path, env=environment(), kill=kill)
    assert done.returncode == 75
    step = max(
        int(path.name.rpartition("-")[2]) for path in output.glob("checkpoint-*")
    )
    assert done.stderr.endswith(
        f"checkpoint-{step} is written; the same command goes on (exit status 75)\n"
    )
    records = list(wandb_records(output))
    assert any(record.HasField("preempting") for record in records)
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [
        75
    ]
    assert (
        json.loads((output / f"checkpoint-{step}" / "trainer_state.json").read_text())[
            "global_step"
        ]
        == step
    )


def test_a_launcher_of_one_process_ends_first_and_the_training_writes_its_checkpoint(
    mini, tmp_path
):
    """Its SIGTERM ends `accelerate launch` at once; its process is told of that, and saves where it stands."""
    output = tmp_path / "out"
    settings = {
        "model_name_or_path": mini,
        "max_steps": 30,
        "save_steps": 3,
        "report_to": "none",
    }
    command = recipe(output_dir="out", launch="single.yaml", **settings)
    kill = output / "checkpoint-3" / "sozo_state.json", 0, signal.SIGTERM
    (done,) = warm.run_all(
        [command], cwd=tmp_path, env=environment(ACCELERATE_USE_CPU="true"), kill=kill
    )
    assert done.returncode != 0
    again = run(command, tmp_path, ACCELERATE_USE_CPU="true")
    while "is at work here" in again.stderr:
        again = run(command, tmp_path, ACCELERATE_USE_CPU="true")
    assert again.returncode == 0, again.stderr
    assert not (again.stdout.startswith("continued from checkpoint-3,")), (
        "it went on from a step that it saved later"
    )


@pytest.mark.slow
@pytest.mark.parametrize("launch", ["cpu2_zero2.yaml", "cpu2_zero3.yaml"])
def test_a_damaged_part_of_another_process_under_deepspeed(launch, mini, tmp_path):
    settings = {
        "model_name_or_path": mini,
        "max_steps": 6,
        "save_steps": 2,
        "report_to": "none",
    }
    command = recipe(
        output_dir="out",
        launch=launch,
        per_device_train_batch_size=4,
        save_total_limit=3,
        **settings,
    )
    expected, _ = unbroken(command, tmp_path / "whole")
    output = tmp_path / "cut" / "out"
    output.mkdir(parents=True)
    shutil.copy(expected / "run_config.json", output)
    for step in (2, 4):
        shutil.copytree(expected / f"checkpoint-{step}", output / f"checkpoint-{step}")
    (part,) = (output / "checkpoint-4" / "global_step4").glob("*rank_1*optim_states.pt")
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    done = run(command, output.parent)
    assert done.returncode == 0, done.stderr
    assert (
        f"checkpoint-4, passed over: the content of global_step4/{part.name} changed after it was written"
        in done.stderr
    )
    assert "continued from checkpoint-2, step 2/6\n" in done.stdout
    assert equal_weights(output, expected)


def test_a_damaged_checkpoint_takes_no_place_among_those_that_are_kept(tmp_path):
    for step in (4, 6, 8):
        (tmp_path / f"checkpoint-{step}").mkdir()
    four, six, eight = (tmp_path / f"checkpoint-{step}" for step in (4, 6, 8))
    assert newer(tmp_path, four) == {six, eight}
    assert newer(tmp_path, None) == {four, six, eight}
    assert older(eight, 2) == [four]
    assert older(eight, 2, {six}) == []
    assert older(eight, 1, {six}) == [four]


def test_a_checkpoint_of_another_run_is_refused_by_name(tmp_path):
    other = whole(tmp_path / "other")
    with pytest.raises(
        UserError,
        match=r"is no checkpoint of .*own; leave it out, or start a run from it",
    ):
        whole_checkpoint(tmp_path / "own", other)


def test_a_checkpoint_without_its_mark_has_its_runs_record(tmp_path):
    (tmp_path / "checkpoint-4").mkdir()
    assert record_of(tmp_path / "checkpoint-4") is None
    (tmp_path / "run_config.json").write_text("{}", "utf-8")
    assert (
        record_of(tmp_path / "checkpoint-4")
        == record_of(tmp_path)
        == tmp_path / "run_config.json"
    )


FORKS = """
import os, signal
from sozo.data.preemption import note_sigterm, obey_sigterm
obey_sigterm()
note_sigterm()
here, there = os.pipe()
if (child := os.fork()) == 0:
    os.write(there, b".")
    signal.pause()
os.read(here, 1)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_ends_by_sigterm_as_ever():
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("-15\n", "")
