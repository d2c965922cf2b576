"""How far a command is: a line a minute where nobody sees a bar."""

import re
import threading

import pytest

from http_server import wait_until
from sozo.data import progress
from sozo.data.progress import answers_bar, note


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(progress, "MINUTE", 0.05)


def said(capsys):
    """The next line that is said."""
    capsys.readouterr()
    lines = []
    wait_until(lambda: lines.extend(capsys.readouterr().err.splitlines()) or lines)
    return lines[-1]


def test_a_line_says_what_came_what_failed_and_what_it_cost(quick, capsys):
    threads = threading.active_count()
    with answers_bar("sampling m", 100, 10) as advance:
        assert said(capsys) == "sampling m: 10 of 100, time left not known"
        note(done=3, failed=1, cost=0.5)
        assert re.fullmatch(
            r"sampling m: 13 of 100, 1 failed, 0\.5000 dollars, \d+ min left",
            said(capsys),
        )
        # The three are among these, which are written.
        advance(4, 2)
        assert re.search(r": 14 of 100, usable 50\.0%, 1 failed", said(capsys))
        advance(2, None)
        assert ": 16 of 100, usable 50.0%" in said(capsys)
    assert threading.active_count() == threads  # nothing is told any more


def test_what_is_usable_is_known_only_when_it_is_scored(quick, capsys):
    with answers_bar("sampling m", 10, count_usable=True) as advance:
        note(done=3)
        assert ": 0 of 10" in said(capsys)
        advance(4, 2)
        assert ": 2 of 10, usable 50.0%" in said(capsys)


def test_a_note_is_of_the_innermost_and_one_of_nothing_is_lost(quick, capsys):
    note(done=1)
    with answers_bar("outer", 5), answers_bar("inner", 5):
        note(done=1)
        with answers_bar("none", 5, quiet=True):
            note(done=1)
        text = []

        def both():
            text.append(capsys.readouterr().err)
            return all(f"{of} of 5" in "".join(text) for of in ("outer: 0", "inner: 2"))

        wait_until(both)
