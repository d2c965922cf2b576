"""The embedded model's nouns: a file, so that a checker that learns better does not silently make another model."""

import hashlib
from importlib.metadata import PackageNotFoundError

from sentences import refused
from sozo.data.nouns import tiny_nouns
from sozo.models import tiny
from sozo.models.tiny import noun_vectors, tiny_folder
from sozo.scoring.embeddings import WordVectors


def test_the_nouns_stay_and_have_vectors(ginza, jumandic_checker):
    nouns = tiny_nouns()
    digest = "f8418500a12c"
    assert hashlib.sha256("\n".join(nouns).encode()).hexdigest()[:12] == digest
    assert len(set(nouns)) == 6144
    assert all(verdict.is_noun for verdict in jumandic_checker.check(nouns))
    assert min(WordVectors(ginza).rows(nouns)) >= 0
    assert noun_vectors(nouns[:3]).shape == (3, 300)


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
