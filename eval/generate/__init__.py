"""Generators: whatever writes responses; language models among them answer any prompt."""

from eval.generate.load import GeneratorSettings, load_generator
from eval.generate.protocol import Answerer, Completion, Generator, GeneratorError
from eval.generate.random_nouns import RandomNouns
from eval.generate.transformers_model import TransformersGenerator

__all__ = [
    "Answerer",
    "Completion",
    "Generator",
    "GeneratorError",
    "GeneratorSettings",
    "RandomNouns",
    "TransformersGenerator",
    "load_generator",
]
