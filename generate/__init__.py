"""Generators: whatever writes responses; language models among them answer any prompt."""

from data.completion import Completion
from generate.load import GeneratorSettings, load_generator
from generate.protocol import Answerer, Generator, GeneratorError
from generate.random_nouns import RandomNouns
from generate.transformers_model import TransformersGenerator

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
