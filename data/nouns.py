"""Lists of nouns by name: JumanDIC's, those of the embedded model, or a file's."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.jumandic import load_nouns


def tiny_nouns() -> list[str]:
    """The embedded model's 6,144 nouns, in the order of its tokens: a seeded draw of what checker and vectors know."""
    return files("sozo.data").joinpath("tiny_nouns.txt").read_text("utf-8").split()


def read_nouns(name: str | None) -> Sequence[str]:
    """JumanDIC's nouns (None), or those of `tiny`, or of a file."""
    if name is None:
        return load_nouns()
    if name == "tiny":
        return tiny_nouns()
    try:
        return Path(name).read_text("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{name}: cannot be read as a list of nouns; give a text file, one noun per line") from error
