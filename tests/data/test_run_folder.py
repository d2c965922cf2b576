"""A run's folder: one process at a time, whatever way the last one ended."""

import json
import os
import subprocess
import sys

import pytest

from sentences import refused
from sozo.data.checkpoints import ADAPTER_FILE, model_digests
from sozo.data.errors import UserError, one_line_errors
from sozo.data.run_folder import RunFolder, first_difference, unlock

HOLDER = """
import sys
from pathlib import Path
from sozo.data.run_folder import RunFolder
folder = RunFolder(Path(sys.argv[1]), {"seed": 1})
folder.start({}, {})
print("at work", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process at work in `tmp_path / "run"`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "at work\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


@pytest.fixture(autouse=True)
def free(tmp_path):
    yield
    unlock(tmp_path / "run")


def test_a_second_process_gets_one_line_and_changes_nothing(
    holder, tmp_path, monkeypatch
):
    run = tmp_path / "run"
    before = {path: path.read_bytes() for path in run.iterdir()}
    with refused("run_folder: another process is at work") as caught:
        RunFolder(run, {"seed": 1})
    assert f"process {holder.pid} on" in str(caught.value)
    # The more useful answer.
    with refused("run_folder: another seed"):
        RunFolder(run, {"seed": 2})
    assert {path: path.read_bytes() for path in run.iterdir()} == before
    # Of launched processes only the first one asks for the lock; the others work under it.
    monkeypatch.setenv("RANK", "1")
    assert RunFolder(run, {"seed": 1}).begun


def test_the_lock_of_a_dead_process_keeps_nobody_out(holder, tmp_path):
    run = tmp_path / "run"
    holder.kill()
    holder.wait()
    assert (run / "_lock").is_file()
    folder = RunFolder(run, {"seed": 1})
    assert (run / "_lock").read_text().startswith(f"process {os.getpid()} on ")
    folder.start({}, {})
    folder.finish({"mean": 1.0})
    assert sorted(path.name for path in run.iterdir()) == [
        "config.json",
        "metrics.json",
    ]


def test_a_new_run_is_locked_from_its_start_and_a_finished_one_only_read(
    holder, tmp_path
):
    fresh = RunFolder(tmp_path / "other", {"seed": 1})
    fresh.reopen()
    assert not (tmp_path / "other").exists()
    fresh.start({}, {})
    assert (tmp_path / "other" / "_lock").is_file()
    assert not RunFolder(
        tmp_path / "other", {"seed": 1}
    ).metrics()  # the same process may look again
    fresh.finish({})
    (tmp_path / "run" / "metrics.json").write_text(
        '{"mean": 1.0}'
    )  # as if the other process had just ended its work
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert RunFolder(tmp_path / "run", {"seed": 1}).metrics() == {"mean": 1.0}
    after = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert after == before
    with refused("run_folder: another process is at work"):
        RunFolder(tmp_path / "run", {"seed": 1}).reopen()


def test_who_began_between_our_look_and_our_lock_is_noticed(tmp_path):
    ours = RunFolder(tmp_path / "run", {"seed": 1})
    RunFolder(tmp_path / "run", {"seed": 2}).start({}, {})
    with refused("run_folder: another seed, begun meanwhile"):
        ours.start({}, {})


def test_a_start_that_came_to_nothing_is_withdrawn(tmp_path):
    folder = RunFolder(
        tmp_path / "run", {"seed": 1}, config=tmp_path / "run" / "run_config.json"
    )
    folder.start({"model_sha256": None}, {"free": {"run_name": "x"}})
    assert json.loads((tmp_path / "run" / "run_config.json").read_text())["free"] == {
        "run_name": "x"
    }
    folder.withdraw()
    assert not (tmp_path / "run").exists()


def test_a_process_that_ends_leaves_no_lock_and_its_child_keeps_its_own(tmp_path):
    code = """
import os, sys
from pathlib import Path
from sozo.data.run_folder import lock
lock(Path(sys.argv[1]))
lock(Path(sys.argv[1]))
if os.fork() == 0:
    sys.exit()
os.wait()
sys.exit(0 if Path(sys.argv[1], "_lock").exists() else 1)
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / "run"], check=False
        ).returncode
        == 0
    )
    assert list((tmp_path / "run").iterdir()) == []


def test_a_mistake_is_one_line_and_a_bug_is_not(capsys):
    for error, status, line in (
        (UserError("no such\n folder"), 2, "program: no such folder\n"),
        (
            KeyboardInterrupt(),
            130,
            "interrupted; the same command continues where it stopped\n",
        ),
    ):
        with pytest.raises(SystemExit) as end, one_line_errors("program"):
            raise error
        assert (end.value.code, capsys.readouterr().err) == (status, line)
    with pytest.raises(ValueError, match="a bug"), one_line_errors("program"):
        raise ValueError("a bug")


@pytest.mark.parametrize("password", ["a secret", 'a"secret', "s@e/cret"])
def test_an_addresss_password_is_in_no_record_and_no_message(
    tmp_path, capsys, password
):
    reward = {
        "sozo.rewards.make_judge_reward": {
            "judge_base_url": f"http://me:{password}@host/v1",
            "scale": 2.0,
        }
    }
    settings = {
        "reward_args": reward,
        "tasks": [json.dumps({"prompts": "mine.jsonl", "reward_args": reward})],
    }
    folder = RunFolder(tmp_path / "run", settings)
    folder.start({"judge": reward}, {"free": reward})
    recorded = (tmp_path / "run" / "config.json").read_text("utf-8")
    assert "cret" not in recorded
    known = json.loads(recorded)["settings"]["reward_args"][
        "sozo.rewards.make_judge_reward"
    ]
    assert known == {"judge_base_url": "http://host/v1", "scale": 2.0}
    RunFolder(tmp_path / "run", settings)  # continues
    with pytest.raises(SystemExit), one_line_errors("train"):
        raise UserError(
            f"reward function f with {{'judge_base_url': 'http://me:{password.replace(' ', '')}@host/v1'}}: no"
        )
    assert "{'judge_base_url': 'http://host/v1'}: no" in capsys.readouterr().err


def test_what_a_killed_write_left_goes_when_the_run_is_finished(tmp_path):
    run = RunFolder(tmp_path / "run", {"seed": 1})
    run.start({}, {})
    left = [".README.md.12-0a1b2c3d.tmp", ".metrics.json.12-0a1b2c3d.tmp"]
    for name in (*left, ".README.md"):
        (tmp_path / "run" / name).touch()
    run.finish({})
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert not names & set(left)
    assert ".README.md" in names


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("part", ["model", "base"])
def test_a_run_is_not_taken_for_that_of_a_model_trained_on(part, finished, tmp_path):
    model, base = tmp_path / "model", tmp_path / "base"
    for folder in (model, base):
        folder.mkdir()
        (folder / "weights").write_text("old")
    named = {"base_model_name_or_path": str(base)}
    (model / ADAPTER_FILE).write_text(json.dumps(named))

    def again():
        RunFolder(tmp_path / "run", {"seed": 1}).refuse_other_model()

    run = RunFolder(tmp_path / "run", {"seed": 1})
    run.start(model_digests(model), {"model_folder": str(model)})
    if finished:
        run.finish({})
    (model / "README.md").write_text("results")  # a card is no model
    again()
    (tmp_path / part / "weights").write_text("new")
    with refused(f"run_folder: a {part} trained on"):
        again()


def test_of_a_setting_that_is_a_list_the_part_that_differs_is_named():
    old = {"tasks": [{"task": "dat", "scale": 10}, "sat"]}
    new = {"tasks": [{"task": "dat", "scale": 5}, "sat"]}
    assert first_difference(old, new) == ("tasks[0].scale", 10, 5)
    assert first_difference(old, {"tasks": ["sat"]})[0] == "tasks"
