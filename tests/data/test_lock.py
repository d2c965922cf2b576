"""One lock between processes, for a file and a folder; a run's folder and a ledger add what they say of it."""

import errno
import os
import subprocess
import sys

import pytest

from sentences import refused
from sozo.data.record import locked, whole_folder
from sozo.data.run_folder import lock, unlock
from sozo.scoring.judges.ledger import Ledger

FILE = os.O_RDWR | os.O_CREAT | os.O_APPEND
FOLDER = os.O_RDONLY | os.O_DIRECTORY
HOLD = """
import os, sys
from pathlib import Path
from sozo.data.record import locked
with locked(Path(sys.argv[1]), int(sys.argv[2])):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path, flags):
    """Another process that has the lock, whose own child has ended, until its stdin ends or it is killed."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, path, str(flags)], text=True, **pipes
    )
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize(("flags", "end"), [(FILE, "killed"), (FOLDER, "given back")])
def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path, flags, end):
    path = tmp_path / "file" if flags == FILE else tmp_path
    with holder(path, flags) as first:
        with pytest.raises(BlockingIOError), locked(path, flags):
            pass
        with pytest.raises(BlockingIOError), locked(path, flags, needed=False):
            pass
        if end == "killed":
            first.kill()
    with locked(path, flags), pytest.raises(BlockingIOError), locked(path, flags):
        pass


@pytest.mark.parametrize(
    ("take", "name", "flags", "row"),
    [
        (
            lambda path: whole_folder(path).__enter__(),
            "model",
            FOLDER,
            "record: a folder that another process writes",
        ),
        (
            lambda path: lock(path.parent),
            "_lock",
            FILE,
            "run_folder: a folder that another process locks",
        ),
        (
            lambda path: Ledger(path, ()),
            "judgements.jsonl",
            FILE,
            "ledger: another process judges into it",
        ),
    ],
)
def test_what_is_locked_says_so_in_one_line(tmp_path, take, name, flags, row):
    path = tmp_path / name
    if flags == FOLDER:
        path.mkdir()
    with holder(path, flags) as first:
        with refused(row):
            take(path)
        first.kill()
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_file_system_without_locks(tmp_path, monkeypatch, caplog):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    lock(tmp_path / "run")
    unlock(tmp_path / "run")
    assert "run/_lock: cannot be locked (No locks available)" in caplog.text
    with refused("record: no locks"):
        whole_folder(tmp_path / "model").__enter__()
    with refused("ledger: no locks"):
        Ledger(tmp_path / "judgements.jsonl", ())


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="link"), locked(tmp_path / "link", FILE):
        pass
    assert not (tmp_path / "victim").exists()
