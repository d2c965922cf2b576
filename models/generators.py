"""From the settings of who writes to a generator: what the backend needs is imported and loaded here."""

import gc
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError, require
from sozo.models.generator import Generator
from sozo.models.model_support import longest_prompt, refuse_beyond
from sozo.models.nouns import FrontierNouns, RandomNouns
from sozo.models.settings import FRONTIER, RANDOM, GeneratorSettings
from sozo.models.transformers_model import TransformersGenerator, fitting_slots
from sozo.models.weights import load_model, load_tokenizer, model_window
from sozo.scoring.languages import read_nouns
from sozo.tasks.task import Task


class Loaded(AbstractContextManager["Loaded"]):
    """Weights and engines on this machine: each is loaded once for all generators that need it, until `close`."""

    def __init__(self) -> None:
        self._parts: dict[Any, Any] = {}
        self._closing = ExitStack()

    def part(
        self,
        key: Any,
        make: Callable[[], Any],
        close: Callable[[Any], Any] = lambda _: None,
    ) -> Any:
        """What `make` made for this `key`; `close` lets go of it."""
        if key not in self._parts:
            self._parts[key] = made = make()
            self._closing.callback(close, made)
        return self._parts[key]

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back; what is needed later is loaded again."""
        if self._parts:
            self._closing.close()
            self._parts.clear()
            gc.collect()
            if (torch := sys.modules.get("torch")) and torch.cuda.is_available():
                torch.cuda.empty_cache()


def load_generator(
    settings: GeneratorSettings,
    *,
    keep: Path | None = None,
    task: Task | None = None,
    loaded: Loaded | None = None,
) -> Generator:
    """The generator that `settings` name; `keep` is for `sozo.models.openai_endpoint`, the others draw at no price.

    `task` is what is asked: lists of nouns answer only one with a `NounSource`. What other generators of the model have
    `loaded` is used again.
    """
    settings, loaded = settings.settled().pinned(), loaded or Loaded()
    name = settings.source or settings.model
    weights = settings.backend, settings.model, settings.model_revision, settings.dtype
    source = task.noun_source() if task else None
    language = source.language if source else "ja"
    if settings.backend == RANDOM:
        nouns = read_nouns(settings.nouns, language)
        return RandomNouns(nouns, name=name, accepts=source.accepts if source else None)
    if settings.strength is not None:
        if source is None:
            raise UserError(
                f"there is no {FRONTIER} here; give a language model as --model"
            )
        frontier = source.frontier(
            read_nouns(settings.nouns, language), settings.frontier_encoder
        )
        return FrontierNouns(
            frontier, settings.strength, settings.word_strength, name=name
        )
    if settings.backend == "openai":
        from sozo.models.openai_endpoint import OpenAIGenerator

        return OpenAIGenerator(settings, keep=keep)
    if task:  # of a limit that is the task's own, answers get what fits
        window = model_window(settings.model, settings.model_revision)
        limit = (
            1
            if settings.max_new_tokens in (None, task.max_new_tokens)
            else settings.max_new_tokens
        )
        tokenizer, texts = (
            load_tokenizer(settings.model, settings.model_revision),
            (i.prompt for i in task.items()),
        )
        refuse_beyond(
            name, window, longest_prompt(tokenizer, texts, settings.form), limit
        )
    if settings.backend == "vllm":
        require("vllm", "the backend vllm")
        from sozo.models.vllm_engine import VllmEngine, VllmGenerator

        return VllmGenerator(
            settings,
            loaded.part(weights, lambda: VllmEngine(settings), VllmEngine.close),
        )

    import torch

    def load() -> tuple[Any, Any]:
        model, tokenizer = load_model(
            settings.model, revision=settings.model_revision, dtype=settings.dtype
        )
        device = (
            f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
            if torch.cuda.is_available()
            else "cpu"
        )
        return model.to(device).eval(), tokenizer

    model, tokenizer = loaded.part(weights, load)
    most = settings.max_new_tokens or 1
    slots = settings.slots or fitting_slots(model, most)
    decoder: dict[str, Any] = {
        "max_new_tokens": most,
        "temperature": settings.temperature,
        "slots": slots,
    }
    return TransformersGenerator(
        model, tokenizer, name=settings.source, form=settings.form, **decoder
    )
