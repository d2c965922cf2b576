"""Generators: whatever answers prompts, a language model or the paper's random nouns."""

from data.schema import Completion
from generate.load import GeneratorSettings, load_generator
from generate.protocol import Generator, RandomNouns
from generate.transformers_model import TransformersGenerator

__all__ = ["Completion", "Generator", "GeneratorSettings", "RandomNouns", "TransformersGenerator", "load_generator"]
