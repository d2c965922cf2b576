"""Encoders: words in, raw vectors out. Normalising, caching and judging vectors is `WordVectors`' work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
_API_BATCH = 512
# An endpoint takes 300,000 tokens at a time, and no tokenizer makes more tokens of a text than it has bytes.
_API_BATCH_BYTES = 300_000
_API_RETRIES = 6


class Encoder(Protocol):
    """Anything that embeds words.

    `name` and `revision` identify the vectors: they are recorded with every result and key the disk cache.
    """

    @property
    def name(self) -> str:
        """Which model."""
        ...

    @property
    def revision(self) -> str:
        """Which version of it."""
        ...

    def encode(self, words: Sequence[str]) -> Matrix:
        """Float32 vectors of shape (len(words), dimensions). A zero or non-finite row says: no vector for this word."""
        ...


class SentenceTransformerEncoder:
    """Any sentence-transformers model. The paper: `pkshatech/GLuCoSE-base-ja-v2` for DAT (section 4.1).

    Args:
        model: A hub id, a folder, or a `SentenceTransformer` that is already there.
        revision: Hub revision; the commit that was loaded is recorded.
        batch_size: Words per forward pass.
        prompt: Text put before every word, for models that want one (`"query: "`). The paper used none.
        device: Torch device; None takes this process's GPU if there is one.

    Raises:
        OSError: The model cannot be loaded.
    """

    def __init__(
        self,
        model: Any,
        *,
        revision: str | None = None,
        batch_size: int = 64,
        prompt: str | None = None,
        device: str | None = None,
        name: str | None = None,
    ) -> None:
        if isinstance(model, str):
            self.name = name or model
            model = _load(model, revision, device or _local_device())
        else:
            self.name = name or type(model).__name__
        self._model = model
        self._batch_size = batch_size
        self._prompt = prompt
        self.revision = revision or _commit(model) or "unknown"
        if prompt:
            self.revision += f"+prompt={prompt}"

    def encode(self, words: Sequence[str]) -> Matrix:
        """Raw vectors, shape (len(words), dimensions)."""
        vectors = self._model.encode(
            list(words),
            batch_size=self._batch_size,
            prompt=self._prompt,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(vectors, dtype=np.float32)


class OpenAIEncoder:
    """An OpenAI-compatible embeddings endpoint.

    The key comes from OPENAI_API_KEY and is neither stored nor printed; the address from `base_url` or OPENAI_BASE_URL.

    Raises:
        ValueError: There is no key. (A server without keys takes any: OPENAI_API_KEY=none.)
    """

    revision = "api"

    def __init__(self, model: str, *, base_url: str | None = None) -> None:
        if not os.environ.get("OPENAI_API_KEY"):
            raise ValueError("OPENAI_API_KEY is not set; set it (to any text for a server that needs no key)")
        import openai

        self.name = f"openai:{model}"
        self._model = model
        self._client = openai.OpenAI(base_url=base_url, max_retries=_API_RETRIES)
        self._error = openai.OpenAIError

    def encode(self, words: Sequence[str]) -> Matrix:
        """Raw vectors, shape (len(words), dimensions), asked for 512 words (or 300 kB of texts) at a time."""
        rows: list[list[float]] = []
        for batch in _batches(words):
            try:
                answer = self._client.embeddings.create(model=self._model, input=batch, encoding_format="float")
            except self._error as error:
                raise OSError(f"embeddings of {self.name} at {self._client.base_url}: {error}") from error
            if len(answer.data) != len(batch):
                raise OSError(f"{self.name} returned {len(answer.data)} embeddings for {len(batch)} words")
            rows += [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        return np.array(rows, dtype=np.float32)


def _batches(words: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for word in words:
        size += len(word.encode())
        if batch and (len(batch) == _API_BATCH or size > _API_BATCH_BYTES):
            yield batch
            batch, size = [], len(word.encode())
        batch.append(word)
    if batch:
        yield batch


def _load(name: str, revision: str | None, device: str | None) -> Any:
    with _without_zero3():
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(name, revision=revision, device=device)
        except Exception as error:
            cause = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise OSError(
                f"cannot load the embedding model {name!r}: {cause}; "
                "give a sentence-transformers hub id, a folder, openai:NAME, or ja-ginza"
            ) from error


@contextmanager
def _without_zero3() -> Iterator[None]:
    """Load a model whole although DeepSpeed ZeRO-3 is on: transformers would shard it with the policy's weights."""
    from transformers.integrations import deepspeed

    reference = deepspeed._hf_deepspeed_config_weak_ref
    deepspeed.unset_hf_deepspeed_config()
    try:
        yield
    finally:
        deepspeed._hf_deepspeed_config_weak_ref = reference


def _local_device() -> str | None:
    import torch

    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else None


def _commit(model: Any) -> str | None:
    card = getattr(model, "model_card_data", None)
    config = getattr(getattr(model, "transformers_model", None), "config", None)
    return getattr(config, "_commit_hash", None) or getattr(card, "base_model_revision", None)
