"""What goes by the language of words: who checks nouns, by which encoder, and which nouns there are."""

from collections.abc import Callable
from dataclasses import dataclass

from sozo.data.english import english_nouns
from sozo.data.jumandic import load_nouns


@dataclass(frozen=True, slots=True)
class Language:
    """A language."""

    name: str
    checkers: tuple[str, ...]  # noun checkers that know it (`make_noun_checker`)
    checker: str  # the default
    encoder: str  # likewise
    nouns: Callable[[], tuple[str, ...]]  # of random lists; encoders are centred on them


LANGUAGES = {
    "ja": Language("Japanese", ("jumanpp", "jumandic"), "auto", "ja-ginza", load_nouns),
    "en": Language("English", ("lemminflect",), "lemminflect", "minilm", english_nouns),
}
