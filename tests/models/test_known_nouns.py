"""Nouns of a language by how a model's tokenizer spells them."""

from types import SimpleNamespace

from transformers import AutoTokenizer

from sentences import refused
from sozo.data.nouns import tiny_nouns
from sozo.models.tiny import ensure_tiny
from sozo.training import known_nouns
from sozo.training.known_nouns import frequent_nouns

NOUNS = list(tiny_nouns()[:12])


def test_the_nouns_of_fewest_tokens_and_then_of_the_most_frequent_ones(monkeypatch):
    spelled = dict(zip(NOUNS, range(40, 52), strict=True))
    spellings = {noun: (number,) for noun, number in spelled.items()}
    spellings[NOUNS[0]] = (3, 9)  # two tokens come behind one, however frequent
    spellings[NOUNS[1]] = (3, 8)
    spellings[NOUNS[2]] = (8, 3, 3)
    given = spellings | {"犬": (99, 0), "猫": None, "鳥": (7,), "魚": (7,)}
    monkeypatch.setattr(known_nouns, "checked_nouns", lambda language: list(given))
    monkeypatch.setattr(
        known_nouns, "spellings_of", lambda _, nouns: [given[noun] for noun in nouns]
    )
    unknown = SimpleNamespace(unk_token_id=99)
    assert frequent_nouns(unknown, "ja", 11) == sorted({*NOUNS} - {NOUNS[2]})
    assert frequent_nouns(unknown, "ja", 10) == sorted(NOUNS[1:2] + NOUNS[3:])
    # With unknown characters, joined with the line break, spelled as another one: none of these.
    assert frequent_nouns(unknown, "ja", 99) == sorted(NOUNS)
    for noun in NOUNS[:3]:
        given.pop(noun)
    with refused("known_nouns: fewer nouns than a list has"):
        frequent_nouns(unknown, "ja", 2500)


def test_no_english_noun_that_is_another_part_of_speech_and_of_tiny_its_own():
    tokenizer = AutoTokenizer.from_pretrained(ensure_tiny())
    assert set(frequent_nouns(tokenizer, "ja", 99)) < set(tiny_nouns())
    english = known_nouns.checked_nouns("en")
    assert {"umbrella", "run"} < set(english)
    with refused("known_nouns: a Japanese model's English nouns"):
        frequent_nouns(tokenizer, "en", 99)
