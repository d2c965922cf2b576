"""Who writes, decided: what all ways have in common. Each has a class beside its generator, which it makes."""

import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sozo.data.prompts.form import PromptForm
from sozo.models.generator import Generator
from sozo.models.sampling import Sampling
from sozo.tasks.task import Task


class Loaded(AbstractContextManager["Loaded"]):
    """Weights and engines on this machine: each is loaded once for all generators that need it, until `close`."""

    def __init__(self) -> None:
        self._loaded: dict[Any, Any] = {}
        self._closing = ExitStack()

    def load(
        self,
        key: Any,
        make: Callable[[], Any],
        close: Callable[[Any], Any] = lambda _: None,
    ) -> Any:
        """What `make` made for this `key`; `close` lets go of it."""
        if key not in self._loaded:
            self._loaded[key] = made = make()
            self._closing.callback(close, made)
        return self._loaded[key]

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back; what is needed later is loaded again."""
        if self._loaded:
            self._closing.close()
            self._loaded.clear()
            gc.collect()
            if (torch := sys.modules.get("torch")) and torch.cuda.is_available():
                torch.cuda.empty_cache()


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes, as `sozo.models.settings.resolve` has it: a generator is made of this alone."""

    model: str
    model_revision: str | None
    source: str
    record: Mapping[str, Any]  # the settings for config.json: no credentials
    sampling: Sampling  # as it was asked for

    def pinned(self) -> Self:
        """With the folder of `tiny`, and of a hub model the commit (see `sozo.models.weights.pinned`)."""
        return self

    def load(
        self,
        task: Task | None = None,
        *,
        loaded: Loaded | None = None,
        keep: Path | None = None,
    ) -> Generator:
        """The generator of what is `pinned`; `keep` is for `sozo.models.openai_endpoint`, others draw at no price.

        `task` is what is asked. What other generators of the model have `loaded` is used again.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWriter(Writer):
    """A language model, wherever it is."""

    temperature: float
    max_new_tokens: int
    form: PromptForm


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedWriter(ModelWriter):
    """Whatever another package brings (`sozo.data.joined.GENERATORS`)."""

    generator: Callable[[ModelWriter], Generator]

    def load(self, task: Task | None = None, **_: Any) -> Generator:
        """What the package makes of this."""
        return self.generator(self)
