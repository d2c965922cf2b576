"""Generators: whatever writes DAT responses."""

from eval.generate.load import GeneratorSettings, load_generator
from eval.generate.protocol import Completion, Generator, GeneratorError
from eval.generate.random_nouns import RandomNouns
from eval.generate.transformers_model import TransformersGenerator

__all__ = [
    "Completion",
    "Generator",
    "GeneratorError",
    "GeneratorSettings",
    "RandomNouns",
    "TransformersGenerator",
    "load_generator",
]
