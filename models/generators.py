"""From the settings of who writes to a generator: what the backend needs is imported and loaded here."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError, require
from sozo.models.generator import Generator
from sozo.models.nouns import Accepts, FrontierNouns, RandomNouns, read_nouns
from sozo.models.settings import FRONTIER, RANDOM, GeneratorSettings
from sozo.models.transformers_model import TransformersGenerator, fitting_slots
from sozo.models.weights import load_model


def load_generator(
    settings: GeneratorSettings,
    *,
    keep: Path | None = None,
    find_frontier: Callable[[Sequence[str], str | None], Any] | None = None,
    accepts: Accepts | None = None,
) -> Generator:
    """The generator that `settings` name; `keep` is for `sozo.models.openai_endpoint`, the others draw at no price.

    `find_frontier` and `accepts` are `Task.frontier` and `Task.accepts` of the task that is asked.
    """
    settings = settings.settled().pinned()
    name = settings.source or settings.model
    if settings.backend == RANDOM:
        return RandomNouns(read_nouns(settings.nouns), name=name, accepts=accepts)
    if settings.strength is not None:
        frontier = find_frontier and find_frontier(read_nouns(settings.nouns), settings.frontier_encoder)
        if not frontier:
            raise UserError(f"there is no {FRONTIER} here; give a language model as --model")
        return FrontierNouns(frontier, settings.strength, settings.word_strength, name=name)
    if settings.backend == "openai":
        from sozo.models.openai_endpoint import OpenAIGenerator

        return OpenAIGenerator(settings, keep=keep)
    if settings.backend == "vllm":
        require("vllm", "the backend vllm")
        from sozo.models.vllm_engine import VllmGenerator

        return VllmGenerator(settings)

    import torch

    model, tokenizer = load_model(settings.model, revision=settings.model_revision, dtype=settings.dtype)
    device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"
    model, most = model.to(device).eval(), settings.max_new_tokens or 1
    slots = settings.slots or fitting_slots(model, most)
    decoder: dict[str, Any] = {"max_new_tokens": most, "temperature": settings.temperature, "slots": slots}
    return TransformersGenerator(model, tokenizer, name=settings.source, form=settings.form, **decoder)
