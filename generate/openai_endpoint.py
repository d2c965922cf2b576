"""Any OpenAI-compatible endpoint as a generator: a vLLM server, `transformers serve`, SGLang, llama.cpp, OpenAI."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from data.completion import Completion
from data.errors import UserError
from data.prompts import messages, prompt
from generate.kept import KeptCompletions
from generate.protocol import request_seeds

_RETRIES = 6
_OFFICIAL = "https://api.openai.com/v1"
_LEAST_SECRET = 8  # `none` and the like, for servers without keys, are ordinary words and not masked
_FORMS = ("top_k", "generation_config", "openai")


class EndpointError(UserError):
    """The endpoint cannot be reached, refuses the request, or keeps failing."""


class OpenAIGenerator:
    """Chat completions of an OpenAI-compatible endpoint, each with a seed of its own.

    Servers differ in how they are told not to truncate the distribution (the model's own generation config often does):
    vLLM, SGLang and llama.cpp take `top_k` in the request, `transformers serve` a whole `generation_config`, OpenAI
    neither, and it truncates nothing at top_p 1. The first form that the server accepts is used and recorded. A server
    that silently ignores `top_k` cannot be told apart. How well a seed is honoured is up to the server, too:
    `transformers serve` seeds the whole process, so there only `concurrency=1` is repeatable.

    429, 5xx and time-outs are retried with growing waits, then an error. A reply without text is an empty response, and
    so is a prompt that a content filter declines.

    Args:
        model: The model's name on the server.
        base_url: Address, up to `/v1`; None takes OPENAI_BASE_URL, or OpenAI's own.
        name: The responses' source; the model's name if None.
        text: The prompt of `generate`; the DAT prompt if None.
        max_new_tokens: Length limit.
        temperature: Above 0.
        concurrency: Requests under way at once.
        keep: Folder of the run's parts: a batch that fails half way leaves there what was paid for, and the next call
            asks for the rest. None keeps nothing.

    The key comes from OPENAI_API_KEY; it is neither stored nor shown, and masked wherever a server echoes it.

    Raises:
        ValueError: There is no key. (A server without keys takes any: OPENAI_API_KEY=none.)
        EndpointError: See the class.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        name: str | None = None,
        text: str | None = None,
        max_new_tokens: int = 256,
        temperature: float = 1.0,
        concurrency: int = 16,
        keep: Path | None = None,
    ) -> None:
        self._key = os.environ.get("OPENAI_API_KEY", "")
        if not self._key:
            raise ValueError("OPENAI_API_KEY is not set; set it (to any text for a server that needs no key)")
        import openai

        self.name = name or model
        self.temperature = temperature
        self._model, self._limit, self._concurrency = model, max_new_tokens, concurrency
        self._keep = keep
        self._kept: Path | None = None
        self._prompt = prompt("dat") if text is None else text
        self._openai = openai
        self._client = openai.OpenAI(base_url=base_url, max_retries=_RETRIES)
        self.url = public_url(str(self._client.base_url))
        self._form, self._request = self._accepted_form()

    def generate(self, n: int, seed: int, batch: int) -> list[Completion]:
        """`n` completions of the prompt."""
        return self.answer([self._prompt] * n, seed, batch)

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One completion for each of `prompts`, as many at once as `concurrency` says."""
        seeds = request_seeds(len(prompts), seed, batch)
        with KeptCompletions(self._file(batch)) as kept, ThreadPoolExecutor(self._concurrency) as pool:
            missing = [k for k in range(len(prompts)) if k not in kept.completions]
            list(pool.map(lambda k: kept.add(k, self._one(prompts[k], seeds[k])), missing))
            return [kept.completions[k] for k in range(len(prompts))]

    def _file(self, batch: int) -> Path | None:
        """Where a batch is kept. Who asks for the next one has written the one before, which can go."""
        if self._keep is None:
            return None
        before, self._kept = self._kept, self._keep / f".part-{batch:05d}.jsonl.tmp"
        if before not in (None, self._kept):
            before.unlink(missing_ok=True)
        return self._kept

    def _one(self, text: str, seed: int) -> Completion:
        try:
            reply = self._create(text, seed, self._request)
        except self._openai.OpenAIError as error:
            # Azure's filter: an error 400 about this one prompt, which no later attempt would pass.
            if getattr(error, "code", None) == "content_filter":
                return Completion("", "content_filter")
            raise self._failed(error) from error
        if not reply.choices:
            return Completion("")
        return Completion(masked(reply.choices[0].message.content or "", self._key), reply.choices[0].finish_reason)

    def _create(self, text: str, seed: int, request: dict[str, Any]) -> Any:
        return self._client.chat.completions.create(
            model=self._model,
            messages=messages(text),
            temperature=self.temperature,
            top_p=1.0,
            seed=seed,
            extra_body=request,
        )

    def _accepted_form(self) -> tuple[str, dict[str, Any]]:
        """The first way to ask for the whole distribution that the server does not refuse, tried with one token."""
        refused: Exception | None = None
        for form in ("openai",) if self.url == _OFFICIAL else _FORMS:
            try:
                self._create(self._prompt, 0, self._extra(form, 1))
            except (self._openai.BadRequestError, self._openai.UnprocessableEntityError) as error:
                refused = error
            except self._openai.OpenAIError as error:
                raise self._failed(error) from error
            else:
                return form, self._extra(form, self._limit)
        assert refused is not None
        raise self._failed(refused) from refused

    def _extra(self, form: str, max_tokens: int) -> dict[str, Any]:
        if form == "top_k":
            return {"max_tokens": max_tokens, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
        if form == "generation_config":
            # What is left out here would come from the model's own generation config.
            whole = {"do_sample": True, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
            return {"max_tokens": max_tokens, "generation_config": json.dumps(whole)}
        return {"max_completion_tokens": max_tokens}

    def _failed(self, error: Exception) -> EndpointError:
        cause = " ".join(masked(str(error), self._key).split())[:300]
        return EndpointError(f"{self._model} at {self.url}: {cause}; start or mend the server and run again")

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record: no key, and no credentials in the address."""
        return {
            "generator": "openai",
            "model": self._model,
            "base_url": self.url,
            "temperature": self.temperature,
            "top_p": 1.0,
            "request_form": self._form,
            "request": self._request,
            "max_new_tokens": self._limit,
            "prompt": self._prompt,
        }


def public_url(url: str) -> str:
    """An address without user, password, query and fragment, fit to be written down.

    >>> public_url("https://me:secret@host:8000/v1/?key=secret")
    'https://host:8000/v1'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def masked(text: str, key: str) -> str:
    """A text without the key, in whichever form a server echoes it.

    >>> masked("Incorrect API key provided: sk-12345678", "sk-12345678")
    'Incorrect API key provided: ***'
    """
    if len(key) >= _LEAST_SECRET:
        for form in (key, quote(key, safe="")):
            text = text.replace(form, "***")
    return text
