"""What goes by the language of words: who checks nouns, by which encoder, and which nouns there are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sozo.data.contents import text_of
from sozo.data.english import english_nouns
from sozo.data.errors import UserError
from sozo.data.jumandic import load_nouns
from sozo.data.nouns import tiny_nouns


@dataclass(frozen=True, slots=True)
class Language:
    """A language."""

    name: str
    checkers: tuple[str, ...]  # noun checkers that know it (`make_noun_checker`)
    checker: str  # the default
    encoder: str  # likewise
    # Of random lists; encoders are centred on them
    nouns: Callable[[], tuple[str, ...]]


LANGUAGES = {
    "ja": Language(
        "Japanese",
        ("jumanpp", "jumandic", "jumanpp-speakers", "jumandic-speakers"),
        "auto",
        "ja-ginza",
        load_nouns,
    ),
    "en": Language(
        "English",
        ("lemminflect", "lemminflect-speakers"),
        "lemminflect",
        "minilm",
        english_nouns,
    ),
}


def read_nouns(name: str | None, language: str = "ja") -> Sequence[str]:
    """The nouns of a language's dictionary (None), of the dictionary of a checker, or those of `tiny`, or of a file."""
    if name is None:
        return LANGUAGES[language].nouns()
    if nouns := next(
        (other.nouns for other in LANGUAGES.values() if name in other.checkers), None
    ):
        return nouns()
    if name == "tiny":
        return tiny_nouns()
    try:
        return text_of(Path(name)).split()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{name}: cannot be read as a list of nouns; give a text file, one noun per line"
        ) from error
