"""Creativity training for language models, Japanese first: `sozo.rewards` is what most users import."""

__version__ = "0.1.0"
