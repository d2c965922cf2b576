"""The embedded model's nouns: a file, so that a checker that learns better does not silently make another model."""

import hashlib
import random
import re
from importlib.metadata import PackageNotFoundError

from sentences import refused
from sozo.data.jumandic import load_nouns
from sozo.data.nouns import tiny_nouns
from sozo.models import tiny
from sozo.models.tiny import noun_vectors, tiny_folder
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.nouns import JumanDicChecker
from sozo.scoring.parse import script_reason


def test_the_nouns_are_a_seeded_draw_of_what_checker_and_vectors_know(
    ginza, monkeypatch
):
    # They were drawn when the checker took no deverbal noun for a noun.
    monkeypatch.setattr("sozo.scoring.nouns.jumandic._DEVERBAL", re.compile("(?!)"))
    words = [word for word in load_nouns() if script_reason(word) is None]
    words = [
        word
        for word, verdict in zip(words, JumanDicChecker().check(words), strict=True)
        if verdict.is_noun
    ]
    known = [
        word
        for word, row in zip(words, WordVectors(ginza).rows(words), strict=True)
        if row >= 0
    ]
    assert tiny_nouns() == sorted(random.Random(0).sample(known, 6144))
    assert noun_vectors(tiny_nouns()[:3]).shape == (3, 300)


def test_the_nouns_stay_and_are_nouns(jumandic_checker):
    digest = "1acda43e6128"
    assert hashlib.sha256("\n".join(tiny_nouns()).encode()).hexdigest()[:12] == digest
    assert all(verdict.is_noun for verdict in jumandic_checker.check(tiny_nouns()))


def test_other_nouns_are_another_model(monkeypatch):
    before = tiny_folder()
    monkeypatch.setattr(tiny, "tiny_nouns", lambda: ["犬", "猫"])
    assert tiny_folder().parent == before.parent
    assert tiny_folder() != before


def test_a_missing_package_is_one_line(monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(tiny, "version", version)
    with refused("tiny: a missing package"):
        tiny_folder()
