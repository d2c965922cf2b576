"""The pipe to Juman++: processes that die, hang, lose step, never end, echo; threads, no command at all."""

import gc
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from sentences import refused, says
from sozo.data.errors import UserError
from sozo.scoring.nouns import JumanDicChecker, JumanppChecker, make_noun_checker

WORDS = ["猫", "食べる", "水", "山", "川", "とても", "本", "車", "電話", "学校"]
NOUNS = [True, False, True, True, True, False, True, True, True, True]


def verdicts(checker, words=WORDS):
    return [verdict.is_noun for verdict in checker.check(words)]


@pytest.fixture
def starts(tmp_path):
    """The stand-in's option that counts its starts, and the count so far."""

    class Starts:
        option = f"--starts {tmp_path / 'starts'}"

        def __int__(self):
            return (tmp_path / "starts").stat().st_size

    return Starts()


@pytest.mark.parametrize("option", ["", "--pieces", "--late 0.01", "--complain 100000"])
def test_one_process_answers_all_in_pieces_late_or_beside_complaints(
    jumanpp, starts, option
):
    assert verdicts(jumanpp(f"{option} {starts.option}")) == NOUNS
    assert int(starts) == 1


def test_a_process_that_dies_is_replaced_and_the_word_asked_again(jumanpp, starts):
    # Three answers each, the warm-up among them: two words a process.
    assert verdicts(jumanpp(f"--die-after 3 {starts.option}")) == NOUNS
    assert int(starts) == 5


@pytest.mark.parametrize(
    "fault", ["--hang 山", "--behind", "--empty", "--inner-eos", "--inner-eos --pieces"]
)
def test_a_process_that_hangs_or_answers_for_another_word_is_replaced(
    jumanpp, starts, fault
):
    assert verdicts(jumanpp(f"{fault} --once {starts.option}", timeout=1)) == NOUNS
    assert int(starts) == 2


BROKEN = {
    "dies at once": "--die-after 1",  # noticed when writing or when reading
    "hangs at a word": "--hang 猫",
    "never ends": "--endless 0",
    "echoes": "--echo {}",
    "answers in part": "--echo {},{},{},見出し,6,普通名詞,1,*,0,*,0,NIL",
    "has no numbers": "--echo {},{},{},{},{},{}",  # pyknp's own words
    "has no columns": "--echo @,{}",
    "complains and dies": "--complain 3 --die-after 0",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_process_that_always_fails_is_tried_three_times(jumanpp, starts, fault):
    hangs = fault == "hangs at a word"
    checker = jumanpp(f"{BROKEN[fault]} {starts.option}", timeout=1 if hangs else 10)
    with refused(f"jumanpp: it {fault}"):
        checker.check(["猫"])
    assert int(starts) == 3


def test_a_checker_that_is_dropped_ends_its_process(jumanpp):
    checker = JumanppChecker(command=str(jumanpp.command))
    assert verdicts(checker) == NOUNS
    process = checker._pipe._process
    assert process.poll() is None
    del checker
    gc.collect()
    assert process.poll() is not None
    assert process.stdin.closed
    assert process.stdout.closed


def test_a_failure_is_no_verdict(jumanpp, starts):
    checker = jumanpp(f"--hang 山 {starts.option}", timeout=0.5)
    with pytest.raises(UserError):
        checker.check(["猫", "山"])
    assert verdicts(checker, ["猫", "水"]) == [True, True]
    with pytest.raises(UserError):  # asked again, not remembered
        checker.check(["山"])


def test_works_from_several_threads_at_once(jumanpp, starts):
    checker = jumanpp(starts.option)
    orders = [WORDS[k:] + WORDS[:k] for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda words: verdicts(checker, words), orders))
    assert found == [NOUNS[k:] + NOUNS[:k] for k in range(8)]
    assert int(starts) == 1


def test_auto_takes_jumanpp_where_the_command_is_and_jumandic_elsewhere(
    jumanpp, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(jumanpp.command.parent))
    kinds = [type(make_noun_checker(name)) for name in ("auto", "jumanpp", "jumandic")]
    assert kinds == [JumanppChecker, JumanppChecker, JumanDicChecker]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isinstance(make_noun_checker("auto"), JumanDicChecker)
    with refused("jumanpp: no command"):
        make_noun_checker("jumanpp")


def test_auto_takes_jumandic_where_jumanpp_is_broken_and_says_so_once(
    jumanpp, starts, tmp_path, monkeypatch, caplog
):
    broken = tmp_path / "broken" / "jumanpp"
    broken.parent.mkdir()
    broken.write_text(f'#!/bin/sh\nexec "{jumanpp.command}" --deaf {starts.option}\n')
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent))
    monkeypatch.setattr(
        "sozo.scoring.nouns.JumanppChecker", partial(JumanppChecker, timeout=0.5)
    )
    with caplog.at_level(logging.WARNING):
        assert isinstance(make_noun_checker("auto"), JumanDicChecker)
        tries = int(starts)
        assert isinstance(make_noun_checker("auto"), JumanDicChecker)
    assert int(starts) == tries
    (message,) = caplog.messages
    assert says("jumanpp: auto takes jumandic", message)
    with pytest.raises(UserError):
        make_noun_checker("jumanpp").check(["猫"])
