"""What a checkpoint holds, compared with what was written down when it was whole."""

import os
import shutil
import subprocess
import sys
import threading

import pytest

from grpo_runs import environment
from sentences import refused
from sozo.data import checkpoints
from sozo.data.checkpoints import (
    Digests,
    damaged,
    faults,
    folder_sha256,
    last_checkpoint,
    newer,
    older,
    record_of,
    sizes,
    unmark,
    whole_checkpoint,
)
from sozo.data.wandb_run import write_state
from sozo.models.weights import check_model

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
    with refused("checkpoints: the named one was cut short"):
        whole_checkpoint(tmp_path, checkpoint)


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


def test_weights_alone_are_no_checkpoint_to_go_on_from(tmp_path):
    whole(tmp_path, files={"model.safetensors": b"weights"})
    with refused("checkpoints: no optimizer"):
        whole_checkpoint(tmp_path)


def test_who_reads_only_a_model_compares_what_is_there(tmp_path):
    checkpoint = whole(tmp_path, files={"config.json": b"{}", "optimizer.pt": b"o"})
    (checkpoint / "optimizer.pt").unlink()  # what a model does not need
    check_model(str(checkpoint))
    (checkpoint / "config.json").write_bytes(b"{]")
    with refused("checkpoints: a start from changed bytes"):
        check_model(str(checkpoint))
    (checkpoint / "config.json").write_bytes(b"")
    assert damaged(checkpoint) == ["config.json has 0 of 2 bytes"]
    (tmp_path / "run_config.json").write_text("{}")
    unmark(checkpoint)
    assert "cut short" in damaged(checkpoint)[0]


def test_a_large_file_is_digested_again_where_it_was_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_LARGE", 4)
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "m" / "model.safetensors"
    file.parent.mkdir()
    file.write_bytes(b"weights")
    os.utime(file, ns=(0, 0))
    before = folder_sha256(file.parent)
    monkeypatch.setattr(checkpoints, "_digest", lambda path: pytest.fail("read again"))
    assert folder_sha256(file.parent) == before
    monkeypatch.undo()
    file.write_bytes(b"Weights")
    os.utime(file, ns=(0, 0))
    assert folder_sha256(file.parent) != before


def test_older_ones_are_counted_back_from_this_one(tmp_path):
    made = {step: whole(tmp_path, step, digests=False) for step in (2, 4, 6, 8, 10)}
    shutil.copytree(made[2], tmp_path / "checkpoint-2-backup")
    assert older(made[8], 2) == [
        made[4],
        made[2],
    ]  # 10 is damaged: the run came back to 6
    assert older(made[4], 2) == []


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
    with refused("checkpoints: the named one is another run's"):
        whole_checkpoint(tmp_path / "own", other)
    with refused("checkpoints: the named one is not there"):
        whole_checkpoint(tmp_path / "own", tmp_path / "own" / "checkpoint-8")


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
