"""`sozo words`: one's own ten words as people type and paste them, by numbers worked out by hand, and by ja-ginza."""

import csv
import importlib
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from fakes import FakeEncoder, FakeNouns
from sozo.data.errors import UserError
from sozo.data.schema import Reason
from sozo.eval.cli import run_cli
from sozo.suite.people.lists import people_words
from sozo.suite.people.words import (
    RANDOM_LISTS,
    below_it,
    language_of,
    lines,
    read_words,
    score_words,
)
from sozo.tasks.dat.scorer import DatScorer

ROOT = Path(__file__).parents[2]
TEN = list("犬猫水山川本車空海石")
FAR = ["茶碗", "憲法", "台風", "微分", "靴下", "恋愛", "肝臓", "大工", "金星", "味噌"]


@pytest.fixture
def scorer():
    """Any two of the ten are 1 apart, but the last, which is where the first is; 木 has no vector."""
    vectors = dict(zip(TEN, [*np.eye(9), np.eye(9)[0]], strict=True))
    return DatScorer(FakeNouns([*TEN, "木"]), FakeEncoder(vectors))


def said(monkeypatch, capsys, *words, stdin=None):
    """The real command in this process: exit code, what it prints, its error."""
    monkeypatch.setattr(sys, "argv", ["sozo", "words", *words])
    if stdin is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    with pytest.raises(SystemExit) as done:
        run_cli()
    return done.value.code, *capsys.readouterr()


def test_scores_distances_and_nearest_pair_are_those_worked_out_by_hand(scorer):
    own = score_words(TEN, scorer)
    assert own.first_seven == 1
    assert own.all_ten == pytest.approx(44 / 45)  # one pair of 45 is at no distance
    distances = dict(own.valid)
    assert distances["犬"] == distances["石"] == pytest.approx(8 / 9)
    assert distances["猫"] == 1
    assert own.nearest == ("犬", "石", 0)
    assert own.refused == []


def test_what_does_not_count_is_said_and_the_next_words_move_up(scorer):
    own = score_words(["犬", "走る", "犬", "cat", "木", *"石猫水山川"], scorer)
    reasons = [Reason.NOT_NOUN, Reason.REPEATED_WORD]
    reasons += [Reason.NOT_JAPANESE, Reason.NO_VECTOR]
    assert own.refused == list(zip(["走る", "犬", "cat", "木"], reasons, strict=True))
    assert [word for word, _ in own.valid] == list("犬石猫水山川")
    assert own.first_seven is own.all_ten is None
    with_seven = score_words([*"犬石猫水山川本", "走る"], scorer)
    assert with_seven.first_seven == pytest.approx(20 / 21)
    assert with_seven.all_ten is None


@pytest.mark.parametrize("words", [[], ["走る"], ["犬"], ["犬", "犬"]])
def test_a_list_of_one_word_or_none_has_no_distances(words, scorer):
    own = score_words(words, scorer)
    assert own.nearest is own.first_seven is own.all_ten is None


JA, EN = ["犬", "法律", "海"], ["cat", "law", "sea"]
TYPED = {
    "words": (JA, JA),
    "spaces": (["犬 法律 海"], JA),
    "full-width spaces": (["犬　法律　海"], JA),
    "touten": (["犬、法律、海"], JA),
    "touten and spaces": (["犬、", "法律、", "海"], JA),
    "full-width commas": (["犬，法律，海"], JA),
    "numbers": (["1. 犬\n2. 法律\n3. 海"], JA),
    "full-width numbers": (["１．犬\n２．法律\n３．海"], JA),
    "circled numbers": (["①犬②法律③海"], JA),
    "brackets": (["1)犬 2)法律 3)海"], JA),
    "numbers in a shell": (["1.", "犬", "2.", "法律", "3.", "海"], JA),
    "labels": (["単語1: 犬\n単語2: 法律\n単語3: 海"], JA),
    "bullets": (["・犬\n・法律\n・海"], JA),
    "middle dots": (["犬・法律・海"], JA),
    "quoted": (["「犬」「法律」「海」"], JA),
    "quoted twice": (["『犬』、『法律』、『海』"], JA),
    "tabs": (["犬\t法律\t海"], JA),
    "readings": (["犬（いぬ）、法律（ほうりつ）、海"], JA),
    "line ends of Windows": (["犬\r\n法律\r\n海\r\n"], JA),
    "arrows": (["犬 → 法律 → 海"], JA),
    "half-width katakana": (["ﾈｺ 犬"], ["ネコ", "犬"]),
    "English": (EN, EN),
    "capitals": (["Cat, Law, Sea"], EN),
    "a line": (["cat law sea"], EN),
    "semicolons": (["cat; law; sea"], EN),
    "stars": (["* cat\n* law\n* sea"], EN),
    "slashes": (["cat / law / sea"], EN),
    "JSON": (['["cat", "law", "sea"]'], EN),
    "English numbers": (["1.", "cat", "2.", "law", "3.", "sea"], EN),
    "a space within": (["ice cream", "law", "sea"], ["ice cream", "law", "sea"]),
    "a space and commas": (["ice", "cream,", "law,", "sea"], ["ice cream", *EN[1:]]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_words_are_found_however_they_are_typed(kind):
    arguments, expected = TYPED[kind]
    text = read_words(arguments)
    assert people_words(text, language_of(text)) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932"])
def test_a_file_is_read_as_it_was_saved(encoding, tmp_path):
    file = tmp_path / "ten"
    file.write_bytes("\n".join(JA).encode(encoding))
    assert people_words(read_words([str(file)])) == JA


def test_what_is_no_list_is_refused_in_one_line(tmp_path):
    large, sheet, other = (tmp_path / name for name in ("a.txt", "a.CSV", "c.txt"))
    large.write_text("犬 " * 20_000, "utf-8")
    sheet.write_text("参加者,回答\n1,犬", "utf-8")
    other.write_bytes(b"\x81")  # half a character of Shift_JIS
    wrong = {
        large: "too long",
        sheet: "sozo people FILE",
        other: "save it as UTF-8",
        tmp_path / "none.txt": "no such file",
        "犬" * 30_000: "the command line: is too long",
    }
    for name, message in wrong.items():
        with pytest.raises(UserError, match=message):
            read_words([str(name)])


def test_quantiles_are_those_of_the_program_by_another_seed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    program = importlib.import_module("random_lists")
    with RANDOM_LISTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, made in program.quantiles("ja", 2_000, seed=2).items():
        packaged = np.array([float(row[name]) for row in rows])
        # Of 2,000 lists a quartile is known to 0.002 or so.
        assert np.abs(packaged - made)[[25, 50, 75]].max() < 0.006


def test_a_percentile_is_among_random_lists_of_the_same_encoder_and_length():
    encoder = FakeEncoder({"犬": [1]}, "ja-ginza", "5.3.0")
    assert below_it(0.88333, encoder, 7) == pytest.approx(50)
    assert below_it(0.88333, encoder, 10) > 50
    assert (below_it(0, encoder, 7), below_it(2, encoder, 7)) == (0, 100)
    other = FakeEncoder({"犬": [1]}, "ja-ginza", "5.2.0")
    assert below_it(0.88333, other, 7) is None


def test_without_quantiles_there_is_a_score_and_no_percentile(scorer):
    printed = "\n".join(lines(score_words(TEN, scorer), scorer, strict=False))
    assert "1.000  the first seven valid words" in printed
    assert "random lists are below" not in printed


def test_the_command_gives_the_scores_of_sozo_people(monkeypatch, capsys):
    code, out, err = said(monkeypatch, capsys, *FAR)
    assert (code, err) == (0, "")
    assert "0.881  the first seven valid words (people's rule); 47%" in out
    assert "0.886  all ten words; 59%" in out
    assert "Nearest pair: 茶碗, 味噌 (0.629)" in out


def test_speakers_nouns_count_and_the_strict_rule_says_why_not(monkeypatch, capsys):
    text = "三角形、お茶、自由、犬、海、靴、音楽\n".encode()
    code, out, _ = said(monkeypatch, capsys, stdin=text)
    assert code == 0
    assert "Refused" not in out
    code, out, err = said(monkeypatch, capsys, "--strict", "-", stdin=text)
    assert code == 2
    assert "Refused: お茶: no noun by jumandic" in out
    assert "Without --strict" in out
    assert err == "error: 4 of 7 words are valid; --strict needs ten\n"


def test_the_strict_score_is_that_of_models(monkeypatch, capsys):
    code, out, _ = said(monkeypatch, capsys, "--strict", *FAR)
    assert code == 0
    assert "0.886  all ten words" in out
    assert "seven" not in out


def test_more_than_ten_words_and_what_steers_a_terminal(monkeypatch, capsys):
    code, out, _ = said(monkeypatch, capsys, *FAR[:9], "\x1b[31m赤\ud800", "犬")
    assert code == 0
    assert "\x1b" not in out
    assert "11 words: the first ten count" in out
    assert "犬" not in out


def test_a_language_that_nobody_knows_is_refused(monkeypatch, capsys):
    code, out, err = said(monkeypatch, capsys, "--language", "fr", *FAR)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "language must be ja or en" in err
