"""Generators: whatever writes DAT responses."""

from eval.generate.protocol import Completion, Generator
from eval.generate.random_nouns import RandomNouns
from eval.generate.transformers_model import TransformersGenerator

__all__ = ["Completion", "Generator", "RandomNouns", "TransformersGenerator"]
