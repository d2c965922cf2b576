"""From the settings of who writes to a generator: what the backend needs is imported and loaded here."""

import os
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError, require
from sozo.models.generator import Generator
from sozo.models.nouns import FrontierNouns, RandomNouns, read_nouns
from sozo.models.settings import FRONTIER, RANDOM, GeneratorSettings
from sozo.models.transformers_model import TransformersGenerator, fitting_slots
from sozo.models.weights import load_model
from sozo.tasks import Dat
from sozo.tasks.task import Task


def load_generator(
    settings: GeneratorSettings,
    *,
    keep: Path | None = None,
    task: Task | None = None,
) -> Generator:
    """The generator that `settings` name; `keep` is for `sozo.models.openai_endpoint`, the others draw at no price.

    `task` is what is asked: lists of nouns are answers to DAT alone.
    """
    settings = settings.settled().pinned()
    name = settings.source or settings.model
    if settings.backend == RANDOM:
        return RandomNouns(
            read_nouns(settings.nouns), name=name, accepts=task.accepts if isinstance(task, Dat) else None
        )
    if settings.strength is not None:
        if not isinstance(task, Dat):
            raise UserError(f"there is no {FRONTIER} here; give a language model as --model")
        frontier = task.frontier(read_nouns(settings.nouns), settings.frontier_encoder)
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
