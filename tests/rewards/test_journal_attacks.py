"""What becomes of the journal of `sozo serve` when others damage it, put theirs in its place or take it away."""

import os
import random
import shutil
import sqlite3

import pytest

from http_server import Running, score
from sozo.data.errors import UserError
from sozo.rewards.integrations import journal as journal_module
from sozo.rewards.integrations.core import Integration
from sozo.rewards.integrations.journal import Journal, JournalError

ABOUT = {"task": "letters"}


@pytest.fixture
def folder(tmp_path):
    """A journal of a hundred replies and keys that nobody has open."""
    journal = Journal(tmp_path / "j", ABOUT)
    for k in range(100):
        journal.keep(f"key {k}", "d" * 64, b"reply %d " % k * 50, [b"%016d" % k])
    journal.close()
    return tmp_path / "j"


def refused(folder):
    """The line by which it is refused; nothing is written, and nothing comes beside it."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(UserError) as caught:
        Journal(folder, ABOUT)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_kept_is_found(folder):
    assert [path.name for path in folder.iterdir()] == ["journal.sqlite"]
    journal = Journal(folder, ABOUT)
    assert journal.find("key 7") == ("d" * 64, b"reply 7 " * 50)
    assert len(journal.seen()) == 100
    journal.close()


@pytest.mark.parametrize("size", [1, 4096])
def test_overwritten_bytes_are_found_or_change_nothing(folder, size):
    file = folder / "journal.sqlite"
    whole, draw = file.read_bytes(), random.Random(3)
    right = [f"{k:016}" for k in range(100)]
    found = 0
    for _ in range(60):
        at = draw.randrange(len(whole) - size)
        other = bytes(byte ^ 0xFF for byte in whole[at : at + size])
        file.write_bytes(whole[:at] + other + whole[at + size :])
        try:
            journal = Journal(folder, ABOUT)
        except UserError:
            found += 1
            continue
        # A byte that nothing is read from.
        assert sorted(key.decode() for key in journal.seen()) == right
        assert journal.find("key 7") == ("d" * 64, b"reply 7 " * 50)
        journal.close()
    assert found >= (30 if size == 1 else 58)


@pytest.mark.parametrize("left", [0, 50, 4096, 20_000])
def test_a_file_that_was_cut_is_refused(folder, left):
    os.truncate(folder / "journal.sqlite", left)
    line = refused(folder)
    assert "empty" in line if left == 0 else "journal" in line


def test_another_program_s_database_is_refused_and_left_alone(tmp_path):
    for k, script in enumerate(
        [
            "CREATE TABLE a (b)",
            "CREATE TABLE replies (name, digest, reply, at); CREATE TABLE seen (key)",
            "CREATE TABLE a (b); PRAGMA user_version = 7",
            "PRAGMA journal_mode = WAL; CREATE TABLE a (b)",
        ]
    ):
        folder = tmp_path / str(k)
        folder.mkdir()
        other = sqlite3.connect(folder / "journal.sqlite")
        other.executescript(script)
        other.close()
        refused(folder)
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "journal.sqlite").write_text("mine " * 99)
    assert "no journal" in refused(folder)
    (folder / "journal.sqlite").unlink()
    (folder / "journal.sqlite").mkdir()
    with pytest.raises(UserError, match="no file"):
        Journal(folder, ABOUT)


def moved(file):
    file.rename(file.with_name("old"))


def moved_and_another_put_there(file):
    moved(file)
    shutil.copy(file.with_name("old"), file)


def emptied(file):
    os.truncate(file, 0)


def overwritten(file):
    with file.open("r+b") as opened:
        opened.seek(2000)
        opened.write(b"x" * 4096)


def removed(file):
    file.unlink()


def folder_moved(file):
    file.parent.rename(file.parent.with_name("elsewhere"))


@pytest.mark.parametrize(
    "harm",
    [moved, moved_and_another_put_there, emptied, overwritten, removed, folder_moved],
)
def test_harm_while_it_serves_pays_nobody_and_is_told(harm, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "http_server.Letters")
    opened = Integration("letters", penalise_duplicates=True)
    with Running(opened, tmp_path / "j") as client:
        score(client, "one", completions=["ab"])
        assert client.get("/health").json()["journal"] is None
        harm(tmp_path / "j" / "journal.sqlite")
        for key, text in ("one", "ab"), ("two", "cd"):
            told = client.post(
                "/score",
                json={"completions": [text]},
                headers={"idempotency-key": key},
            )
            assert told.status_code == 503
            assert "journal" in told.json()["error"]
        health = client.get("/health")
        assert health.status_code == 503
        assert "journal" in health.json()["journal"]
        assert client.post("/reset", json={}).status_code == 503


def test_keys_go_by_their_order_and_not_by_a_clock(monkeypatch, tmp_path):
    monkeypatch.setattr(journal_module, "MOST_REPLIES", 3)
    journal = Journal(tmp_path, {})
    for k in range(5):
        journal.keep(f"key {k}", "d", b"r", [b"%016d" % k])
    found = [journal.find(f"key {k}") is not None for k in range(5)]
    assert found == [False, False, True, True, True]
    journal.keep("key 2", "d", b"again", [])  # it is the newest now
    journal.keep("key 5", "d", b"r", [])
    assert journal.find("key 2") == ("d", b"again")
    assert journal.find("key 3") is None
    assert len(journal.seen()) == 5  # the history stays
    assert "time" not in vars(journal_module)
    journal.close()


def test_a_full_disk_is_a_journal_error(folder):
    journal = Journal(folder, ABOUT)
    (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
    journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match="full"):
        journal.keep("new", "d", b"r" * 100_000, [])
    assert journal.find("key 7")
    journal.close()
