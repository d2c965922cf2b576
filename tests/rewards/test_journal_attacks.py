"""What becomes of the journal of `sozo serve` when others damage it, put theirs in its place or take it away."""

import os
import random
import shutil
import sqlite3

import pytest

from http_server import Running, score
from sentences import refused
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


def left_alone(folder, said):
    """It is refused; nothing is written, and nothing comes beside it."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with refused(said):
        Journal(folder, ABOUT)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("size", [1, 4096])
def test_overwritten_bytes_are_found_or_change_nothing(folder, size):
    file = folder / "journal.sqlite"
    whole, draw = file.read_bytes(), random.Random(3)
    right = [f"{k:016}" for k in range(100)]
    found = 0
    for _ in range(30):
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
    assert found >= (15 if size == 1 else 29)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (0, "journal: empty"),
        (50, "journal: another reward"),
        (20_000, "journal: damaged"),
    ],
)
def test_a_file_that_was_cut_is_refused(folder, left, said):
    os.truncate(folder / "journal.sqlite", left)
    left_alone(folder, said)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("CREATE TABLE replies (name); CREATE TABLE seen (key)", "journal: no journal"),
        ("CREATE TABLE a (b); PRAGMA user_version = 7", "journal: another reward"),
    ],
)
def test_another_program_s_database_is_refused_and_left_alone(script, said, tmp_path):
    other = sqlite3.connect(tmp_path / "journal.sqlite")
    other.executescript(script)
    other.close()
    left_alone(tmp_path, said)


def test_what_is_not_ours_is_left_alone(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine " * 999)
    for name in ("journal.sqlite", "journal.sqlite-journal"):
        (tmp_path / f"to {name}").mkdir()
        (tmp_path / f"to {name}" / name).symlink_to(precious)
        with refused("journal: a link"):
            Journal(tmp_path / f"to {name}", ABOUT)
    for name, said in ("text", "journal: no journal"), ("folder", "journal: no file"):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "journal.sqlite"
        file.write_text("mine " * 99) if name == "text" else file.mkdir()
        with refused(said):
            Journal(tmp_path / name, ABOUT)
    for folder in (precious, precious / "under"):
        with refused("journal: no folder"):
            Journal(folder, ABOUT)
    assert precious.read_text() == "mine " * 999


def test_a_journal_has_one_server_and_one_reward(folder):
    journal = Journal(folder, ABOUT)
    with refused("journal: another server has it"):
        Journal(folder, ABOUT)
    journal.close()
    with refused("journal: another reward"):
        Journal(folder, ABOUT | {"scale": 2.0})
    Journal(folder, ABOUT).close()


def moved_and_another_put_there(file):
    file.rename(file.with_name("old"))
    shutil.copy(file.with_name("old"), file)


def overwritten(file):
    with file.open("r+b") as opened:
        opened.seek(2000)
        opened.write(b"x" * 4096)


def removed(file):
    file.unlink()


@pytest.mark.parametrize(
    "harm",
    [moved_and_another_put_there, overwritten, removed],
)
def test_harm_while_it_serves_pays_nobody_and_is_told(harm, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "http_server.Letters")
    opened = Integration("letters", penalise_duplicates=True)
    with Running(opened, tmp_path / "j") as client:
        score(client, "one", completions=["ab"])
        assert client.get("/health").json()["journal"] is None
        harm(tmp_path / "j" / "journal.sqlite")
        for key, text in ("one", "ab"), ("two", "cd"):
            body, header = {"completions": [text]}, {"idempotency-key": key}
            told = client.post("/score", json=body, headers=header)
            assert told.status_code == 503
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
    journal.close()


def test_a_full_disk_is_a_journal_error(folder):
    journal = Journal(folder, ABOUT)
    (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
    journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match="full"):
        journal.keep("new", "d", b"r" * 100_000, [])
    assert journal.find("key 7")
    journal.close()
