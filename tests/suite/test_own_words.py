"""`sozo words`: one's own ten words as people type and paste them, by numbers worked out by hand, and by ja-ginza."""

import importlib
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from fakes import FakeEncoder, FakeNouns
from sentences import says
from sheets import command
from sozo.data.errors import UserError
from sozo.suite.people.lists import people_words
from sozo.suite.people.messages import in_japanese, language_of
from sozo.suite.people.words import (
    RANDOM_LISTS,
    among_random,
    column,
    described,
    read_words,
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
    """The real command in this process: exit code, what it prints in English, its error."""
    if stdin is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    return command(monkeypatch, capsys, "words", *words)


def lines_of(words, scorer):
    """What is printed, and the error that ends it, if one does."""
    printed = []
    try:
        printed.extend(described(words, scorer))
    except UserError as error:
        printed.append(f"error: {error}")
    return printed


def test_scores_distances_and_nearest_pair_are_those_worked_out_by_hand(scorer):
    first, ten, _, heading, *distances, nearest = lines_of(TEN, scorer)
    # One pair of 45 is at no distance: 44/45, and of its two words 8/9. Of this encoder no random lists were drawn.
    assert first == "1.000  the first seven valid words (people's rule)"
    assert ten == "0.978  all ten words"
    assert heading == "Mean distance to the others:"
    far = [f"1.000  {word}" for word in TEN[1:-1]]
    assert distances == ["0.889  犬", *far, "0.889  石"]
    assert nearest == "Nearest pair: 犬, 石 (0.000)"


def test_what_does_not_count_is_said_and_the_next_words_move_up(scorer):
    words = ["犬", "走る", "犬", "cat", "木", *"石猫水山川"]
    assert lines_of(words, scorer)[-5:] == [
        "Refused: 走る: no noun by fake nouns",
        "Refused: 犬: came before",
        "Refused: cat: not in Japanese letters",
        "Refused: 木: is not in the vocabulary of fake encoder",
        "error: 6 of 10 words are valid; a score needs seven",
    ]
    first, second, *_ = lines_of(["走る", *"犬石猫水山川本"], scorer)
    assert first.startswith("0.952  the first seven")  # 20 of 21 pairs
    assert "all ten words" not in second


JA, EN = ["犬", "法律", "海"], ["cat", "law", "sea"]
TYPED = {
    "spaces": (["犬 法律 海"], JA),
    "touten and spaces": (["犬、", "法律、", "海"], JA),
    "numbers in a shell": (["1.", "犬", "2.", "法律", "3.", "海"], JA),
    "quoted twice": (["『犬』、『法律』、『海』"], JA),
    "JSON": (['["cat", "law", "sea"]'], EN),
    "a space and commas": (["ice", "cream,", "law,", "sea"], ["ice cream", *EN[1:]]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_words_are_found_however_they_are_typed(kind):
    arguments, expected = TYPED[kind]
    text = read_words(arguments)
    assert people_words(text, language_of(text)) == expected


def test_what_comes_by_standard_input_is_short_text(monkeypatch, capsys):
    for row, content in (
        ("too long", "犬 ".encode() * 20_000),
        ("half a character", b"\x81"),  # of Shift_JIS
    ):
        _, _, err = said(monkeypatch, capsys, stdin=content)
        assert says(f"words: {row}", err), err


def test_quantiles_are_those_of_the_program_by_another_seed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    program = importlib.import_module("random_lists")
    packaged = json.loads(RANDOM_LISTS.read_text("utf-8"))
    for name, made in program.quantiles("ja", 1_000, seed=2).items():
        # Of 1,000 lists a quartile is known to 0.003 or so.
        assert np.abs(packaged[name] - made)[[25, 50, 75]].max() < 0.009


def test_a_percentile_is_among_random_lists_of_the_same_encoder_and_length():
    encoder = FakeEncoder({"犬": [1]}, "ja-ginza", "5.3.0-forms")
    (middle,) = json.loads(RANDOM_LISTS.read_text("utf-8"))[column(encoder, 7)][50:51]
    assert among_random(middle, encoder, 7) == "; 50% of random lists are below"
    assert among_random(middle, encoder, 10) == "; 52% of random lists are below"
    for score, percent in ((0, 0), (2, 100)):
        assert among_random(score, encoder, 7).startswith(f"; {percent}% ")
    other = FakeEncoder({"犬": [1]}, "ja-ginza", "5.2.0")
    assert among_random(middle, other, 7) == ""


def test_the_command_gives_the_scores_of_sozo_people(monkeypatch, capsys):
    code, out, err = said(monkeypatch, capsys, *FAR)
    assert (code, err) == (0, "")
    assert "0.881  the first seven valid words (people's rule); 39%" in out
    assert "0.886  all ten words; 50%" in out
    assert "Nearest pair: 茶碗, 味噌 (0.629)" in out


def test_speakers_nouns_count(monkeypatch, capsys):
    text = "三角形、お茶、自由、犬、海、靴、音楽\n".encode()
    code, out, _ = said(monkeypatch, capsys, stdin=text)
    assert code == 0
    assert "Refused" not in out


def test_a_language_that_nobody_knows_is_refused(monkeypatch, capsys):
    code, out, err = said(monkeypatch, capsys, "--lang", "fr", *FAR)
    assert (code, out, says("words: said in French", err)) == (2, "", True)


def test_more_than_ten_words_and_what_steers_a_terminal(monkeypatch, capsys):
    code, out, _ = said(monkeypatch, capsys, *FAR[:9], "\x1b[31m赤\ud800", "犬")
    assert code == 0
    assert "\x1b" not in out
    assert "11 words: the first ten count" in out
    assert "犬" not in out


def test_what_is_said_of_a_list_is_all_in_japanese_or_all_in_english(scorer):
    words = [*TEN, "走る", "犬", "cat", "木"]
    lines = [
        *lines_of(words, scorer),
        *lines_of(["走る", "犬", "cat", "木", *TEN[1:]], scorer),
        "0.9  all ten words; 3% of random lists are below",
    ]
    for line in lines:
        text = in_japanese(line.removeprefix("error: "))
        names = r"fake (encoder|nouns)|sozo people|cat\b"
        assert not re.search("[a-z]{2,}", re.sub(names, "", text)), text
