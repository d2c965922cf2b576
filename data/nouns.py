"""The nouns of the embedded model."""

from importlib.resources import files


def tiny_nouns() -> list[str]:
    """The embedded model's 6,144 nouns, in the order of its tokens: drawn by a seed from what checker and vectors know."""
    return files("sozo.data").joinpath("tiny_nouns.txt").read_text("utf-8").split()
