"""One lock between processes, for a file and a folder; a run's folder and a ledger add what they say of it."""

import errno
import os
import subprocess
import sys

import pytest

from sozo.data.errors import UserError
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


@pytest.mark.parametrize("end", ["given back", "killed"])
@pytest.mark.parametrize("flags", [FILE, FOLDER])
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
    ("take", "name", "flags", "message"),
    [
        (
            lambda path: whole_folder(path).__enter__(),
            "model",
            FOLDER,
            "model: another process is at work here; wait for it, or name another",
        ),
        (
            lambda path: lock(path.parent),
            "_lock",
            FILE,
            ": another process is at work here; wait for it or end it",
        ),
        (
            lambda path: Ledger(path, ()),
            "judgements.jsonl",
            FILE,
            "judgements.jsonl: another process is judging into it; wait for it or end",
        ),
    ],
)
def test_what_is_locked_says_so_in_one_line(tmp_path, take, name, flags, message):
    path = tmp_path / name
    if flags == FOLDER:
        path.mkdir()
    with holder(path, flags) as first:
        with pytest.raises(UserError, match=message):
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
    for take in (
        lambda: whole_folder(tmp_path / "model").__enter__(),
        lambda: Ledger(tmp_path / "judgements.jsonl", ()),
    ):
        with pytest.raises(UserError, match="No locks available"):
            take()


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="link"), locked(tmp_path / "link", FILE):
        pass
    assert not (tmp_path / "victim").exists()
