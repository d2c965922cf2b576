"""Encoders: words in, raw vectors out. Normalising, caching and judging vectors is `WordVectors`' work."""

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from sozo.data.errors import UserError, require
from sozo.data.extras import install_command
from sozo.data.progress import answers_bar, note
from sozo.data.whole_models import refuse_missing, whole_models
from sozo.scoring.embeddings.prompts import resolve
from sozo.scoring.endpoint.client import Endpoint, RequestOutcome, UnusableReplyError
from sozo.scoring.endpoint.profile import Profile

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
SERVED = "api"  # revision of an encoder of which only its server knows what it is
UNKNOWN = "unknown"  # of one that is known by where it lies
_API_BATCH = 512
_COMMON = "水"  # a word that no server has a reason to refuse
_TOO_MUCH = (400, 413, 422)  # how servers refuse a batch that is too long for them
# An endpoint takes 300,000 tokens at a time, and no tokenizer makes more tokens of a text than it has bytes.
_API_BATCH_BYTES = 300_000


class Encoder(Protocol):
    """Anything that embeds words. `name` and `revision` are recorded with every result, and key the disk cache."""

    name: str
    revision: str

    def encode(self, words: Sequence[str]) -> Matrix:
        """Float32 vectors of shape (len(words), dimensions). A zero or non-finite row says: no vector for this word."""


class SentenceTransformerEncoder:
    """Any sentence-transformers model: a hub id (whose commit is recorded), a folder, or a `SentenceTransformer`.

    `prompt` replaces the model's default prompt, if it has one. The paper: `pkshatech/GLuCoSE-base-ja-v2` for DAT
    (section 4.1); it does not say with which prompt.
    """

    def __init__(
        self,
        model: Any,
        *,
        revision: str | None = None,
        batch_size: int = 64,
        name: str | None = None,
        prompt: str | None = None,
    ) -> None:
        name = name or (model if isinstance(model, str) else type(model).__name__)
        self._model = _load(model, revision) if isinstance(model, str) else model
        self._batch_size = batch_size
        own = self._model.prompts.get(self._model.default_prompt_name, "")
        self._prompt, shown = resolve(name, prompt, own)
        self.name = name + shown
        config = getattr(
            getattr(self._model, "transformers_model", None), "config", None
        )
        card = getattr(self._model, "model_card_data", None)
        commit = getattr(config, "_commit_hash", None) or getattr(
            card, "base_model_revision", None
        )
        self.revision = (revision or commit or UNKNOWN) + shown

    def encode(self, words: Sequence[str]) -> Matrix:
        """Raw vectors, shape (len(words), dimensions)."""
        options = {
            "batch_size": self._batch_size,
            "convert_to_numpy": True,
            "show_progress_bar": False,
        }
        # The library prepends it, in place of the model's default prompt; some models leave its tokens out of the mean.
        return np.asarray(
            self._model.encode(list(words), prompt=self._prompt, **options),
            dtype=np.float32,
        )


class OpenAIEncoder:
    """An OpenAI-compatible embeddings endpoint, at OPENAI_BASE_URL if set; see `scoring.endpoint.client.Endpoint`."""

    def __init__(
        self, model: str, profile: Profile | None = None, *, prompt: str | None = None
    ) -> None:
        profile = profile or Profile()
        self._prompt, shown = resolve(f"openai:{model}", prompt)
        self.name, self.revision = f"openai:{model}{shown}", SERVED + shown
        self._model, self._extra = model, dict(profile.extra_body or {})
        self._endpoint = Endpoint(
            f"embeddings of {self.name}", profile=profile, concurrency=4
        )
        self._most = _API_BATCH  # words in a request
        self._size: int | None = None  # numbers in a vector

    def encode(self, words: Sequence[str]) -> Matrix:
        """Raw vectors, shape (len(words), dimensions). A batch without an answer is halved, down to one word.

        A word that never gets one, while another word does, has numbers that are not finite.
        """
        vectors: dict[str, list[float]] = {}
        lost: dict[str, str | None] = {}  # texts that got no answer, and why
        texts = [self._prompt + word for word in words]
        most, waiting = self._most, list(dict.fromkeys(texts))
        with answers_bar(self.name, len(waiting), quiet=len(waiting) <= most):
            while waiting:
                self._ask(_batches(waiting, self._most), vectors, lost)
                waiting = [
                    word for word in waiting if word not in vectors and word not in lost
                ]
        sizes = {len(vector) for vector in vectors.values()} | (
            {self._size} if self._size else set()
        )
        if len(sizes) > 1:
            raise self._endpoint.failure(
                f"it returned vectors of {' and '.join(map(str, sorted(sizes)))} numbers"
            )
        self._size = max(sizes, default=None)
        if lost:
            self._most = most  # it was the words, and not their number
            why = next(iter(lost.values()))
            line = f"{self._endpoint.label}: {len(lost)} of {len(words)} words got no vector ({why})"
            tqdm.write(line, file=sys.stderr)
        none = [math.nan] * (self._size or 0)
        return np.array([vectors.get(text, none) for text in texts], dtype=np.float32)

    @property
    def servers(self) -> tuple[dict[str, Any], ...]:
        """Where the vectors come from, and what the server calls it, for a run's record."""
        return (
            {
                "encoder": self.name,
                "base_url": self._endpoint.url,
                "reply_models": self._endpoint.models,
            },
        )

    def _read(self, content: Any) -> list[list[float]]:
        vectors = _read_vectors(content)
        self._endpoint.replied(content)
        return vectors

    def _ask(
        self,
        batches: list[list[str]],
        vectors: dict[str, list[float]],
        lost: dict[str, str | None],
    ) -> None:
        """Add the vectors of batches until one fails; then fewer words are asked for at once, or the one is lost."""
        failed: list[str | None] = []

        def take(number: int, outcome: RequestOutcome[list[list[float]]]) -> None:
            batch, reply = batches[number], outcome.value
            if reply is None:
                if len(batch) == 1:
                    lost[batch[0]] = outcome.error
                    note(failed=1)
                self._most = min(self._most, max(1, len(batch) // 2))
                if len(batch) == 1 or outcome.status not in _TOO_MUCH:
                    failed.append(outcome.error)
                    raise self._endpoint.failure(outcome.error)
            elif len(reply) != len(batch):
                raise self._endpoint.failure(
                    f"it returned {len(reply)} embeddings for {len(batch)} words"
                )
            else:
                vectors.update(zip(batch, reply, strict=True))
                note(done=len(batch))

        fixed = {"model": self._model, "encoding_format": "float", **self._extra}
        try:
            self._endpoint.post_all(
                "embeddings",
                [{**fixed, "input": batch} for batch in batches],
                self._read,
                take,
            )
        except UserError:
            if not failed or batches == [[_COMMON]]:
                raise
            # Raises where the server is at fault, and not a word
            self._ask([[_COMMON]], vectors, {})


def _read_vectors(content: Any) -> list[list[float]]:
    """The vectors of a reply in the order of the words, whatever order the server put them in."""
    try:
        items = sorted(content["data"], key=lambda item: item["index"])
        vectors = [item["embedding"] for item in items]
        places = [item["index"] for item in items]
    except (TypeError, KeyError):
        raise UnusableReplyError(
            "the reply holds no embeddings, each with its index"
        ) from None
    if places != list(range(len(items))):
        raise UnusableReplyError("the reply's embeddings are not numbered from 0")
    for vector in vectors:
        if (
            not vector
            or not isinstance(vector, list)
            or not all(type(value) in (int, float) for value in vector)
        ):
            raise UnusableReplyError("an embedding of the reply is no list of numbers")
    return vectors


def _batches(words: Sequence[str], most: int) -> list[list[str]]:
    """As many words to a request as it takes."""
    batches: list[list[str]] = []
    size = 0
    for word in words:
        size += len(word.encode())
        if not batches or len(batches[-1]) == most or size > _API_BATCH_BYTES:
            batches.append([])
            size = len(word.encode())
        batches[-1].append(word)
    return batches


def _out_of_reach(name: str) -> bool:
    """Whether the hub is silent: the libraries would ask it six times, with pauses, for each file of a model."""
    from huggingface_hub import model_info
    from huggingface_hub.errors import HfHubHTTPError

    try:
        model_info(name, timeout=10)
    except HfHubHTTPError:
        return False  # it says what is wrong, and a short name has an organisation to come before it
    except Exception:  # whichever its HTTP library raises
        return True
    return False


def _load(name: str, revision: str | None) -> Any:
    require("sentence_transformers", f"the embedding model {name}")
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.integrations import deepspeed

    lost: list[tuple[str, Any, list[str]]] = []

    def mark(name: str, model: Any, keys: list[str]) -> None:
        lost.append((name, model, keys))
        for weight in map(model.get_parameter_or_buffer, keys):
            if weight.is_floating_point():
                weight.data.fill_(math.nan)

    device = (
        f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        if torch.cuda.is_available()
        else None
    )
    # Where DeepSpeed ZeRO-3 is on, transformers would shard it with the policy's weights.
    reference = deepspeed._hf_deepspeed_config_weak_ref
    deepspeed.unset_hf_deepspeed_config()
    try:
        offline = not Path(name).is_dir() and _out_of_reach(name)
        with whole_models(mark):
            model = SentenceTransformer(
                name, revision=revision, device=device, local_files_only=offline
            )
        # A vector need not ask all weights: many encoders are published without BERT's pooler.
        if lost and not np.isfinite(model.encode("a", show_progress_bar=False)).all():
            refuse_missing(*lost[0])
        return model
    except UserError:
        raise
    except Exception as error:
        cause = next(iter(str(error).strip().splitlines()), type(error).__name__)
        remedy = "give a sentence-transformers hub id, a folder, openai:NAME, ja-ginza, e5 or categories"
        needed = f"the papers' tokenizers need {install_command('paper')}"
        raise UserError(
            f"cannot load the embedding model {name!r}: {cause}; {remedy} ({needed})"
        ) from error
    finally:
        deepspeed._hf_deepspeed_config_weak_ref = reference
