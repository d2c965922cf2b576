"""Any OpenAI-compatible endpoint as a generator: a vLLM server, `transformers serve`, SGLang, llama.cpp, OpenAI."""

import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.prompts import messages
from data.schema import Completion
from generate.protocol import request_seeds
from rewards.endpoint.client import OFFICIAL, Endpoint, Outcome
from rewards.endpoint.pace import RetryPolicy

if TYPE_CHECKING:
    from generate.load import GeneratorSettings

_PATH = "chat/completions"


class OpenAIGenerator:
    """Chat completions of an OpenAI-compatible endpoint, each with a seed of its own; `settings` are settled.

    A server that ignores `top_k` (see `_forms`) cannot be told apart, nor one that ignores a seed (`transformers serve`
    seeds the process: only `concurrency=1` is repeatable). What fails after all attempts (see `Endpoint`) ends the
    batch. A reply without text is an empty response, and so is a prompt that a content filter declines. In `keep`, the
    folder of the run's parts, a batch that fails half way leaves what was paid for; the next call asks for the rest.
    """

    def __init__(
        self, settings: "GeneratorSettings", *, keep: Path | None = None, retry: RetryPolicy | None = None
    ) -> None:
        concurrency = settings.concurrency
        self._endpoint = Endpoint(settings.model, settings.base_url, concurrency=concurrency, retry=retry)
        self.name, self.temperature = settings.source or settings.model, settings.temperature
        self._settings, self._keep = settings, keep
        self._kept: Path | None = None  # the file of the latest batch
        self._form, self._request = self._accepted_form()

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One completion for each of `prompts`, as many at once as `concurrency` says."""
        seeds = request_seeds(len(prompts), seed, batch)
        with KeptCompletions(self._file(batch)) as kept:
            missing = [k for k in range(len(prompts)) if k not in kept.completions]

            def keep(number: int, outcome: Outcome[Completion]) -> None:
                # Azure's filter: an error 400 about this one prompt, which no later attempt would pass.
                declined = Completion("", "content_filter") if outcome.code == "content_filter" else None
                if (completion := declined or outcome.value) is None:
                    raise self._endpoint.failure(outcome.error)
                kept.add(missing[number], completion)

            bodies = [self._body(prompts[k], seeds[k], self._request) for k in missing]
            self._endpoint.post_all(_PATH, bodies, self._read, keep)
            return [kept.completions[k] for k in range(len(prompts))]

    def _file(self, batch: int) -> Path | None:
        """Where a batch is kept. Who asks for the next one has written the one before, which can go."""
        before, self._kept = self._kept, self._keep and self._keep / f".part-{batch:05d}.jsonl.tmp"
        if before not in (None, self._kept):
            before.unlink(missing_ok=True)
        return self._kept

    def _read(self, content: Any) -> Completion:
        if isinstance(content, dict) and content.get("choices") == []:
            return Completion("")
        chat = self._endpoint.chat_reply(content)
        return Completion(chat.text or "", chat.finish_reason)

    def _body(self, text: str, seed: int, request: dict[str, Any]) -> dict[str, Any]:
        settings = {"model": self._settings.model, "temperature": self.temperature, "top_p": 1.0, "seed": seed}
        return {"messages": messages(text), **settings, **request}

    def _accepted_form(self) -> tuple[str, dict[str, Any]]:
        """The first way to ask for the whole distribution that the server does not refuse, tried with one token."""
        outcomes: list[Outcome[Completion]] = []
        for form, request in _forms(1).items():
            if self._endpoint.url == OFFICIAL and form != "openai":
                continue
            body = self._body("こんにちは", 0, request)
            self._endpoint.post_all(_PATH, [body], self._read, lambda _, outcome: outcomes.append(outcome))
            if outcomes[-1].value is not None:
                return form, _forms(self._settings.max_new_tokens)[form]
            if outcomes[-1].status not in (400, 422):
                break
        raise self._endpoint.failure(outcomes[-1].error)

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record: no key, and no credentials in the address."""
        server = {"generator": "openai", "model": self._settings.model, "base_url": self._endpoint.url}
        decoder = {"temperature": self.temperature, "top_p": 1.0, "request_form": self._form, "request": self._request}
        return server | decoder | {"max_new_tokens": self._settings.max_new_tokens}


def _forms(limit: int | None) -> dict[str, dict[str, Any]]:
    """How servers are asked for the whole distribution (the model's own generation config often truncates it), in at
    most `limit` tokens: vLLM, SGLang and llama.cpp take `top_k` in the request, `transformers serve` a whole
    `generation_config`, OpenAI neither, and it truncates nothing at top_p 1.
    """
    whole = {"min_p": 0.0, "repetition_penalty": 1.0}
    config = {"do_sample": True, "top_k": 0, "top_p": 1.0, **whole}
    return {
        "top_k": {"max_tokens": limit, "top_k": -1, **whole},
        "generation_config": {"max_tokens": limit, "generation_config": json.dumps(config)},
        "openai": {"max_completion_tokens": limit},
    }


class KeptCompletions(AbstractContextManager["KeptCompletions"]):
    """The completions of one batch by their numbers, each a line of a file, if there is one, the moment it arrives.

    The caller vouches that the file belongs to the same prompts and settings. Several threads may add at once.
    """

    def __init__(self, path: Path | None) -> None:
        self.completions: dict[int, Completion] = {}
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            content = path.read_bytes()
            for line in content.split(b"\n"):
                with suppress(ValueError):  # torn by a kill, or what follows the last line feed
                    number, text, finish_reason = json.loads(line)
                    self.completions[number] = Completion(text, finish_reason)
            if content and not content.endswith(b"\n"):
                os.write(self._file, b"\n")

    def add(self, number: int, completion: Completion) -> None:
        """Keep one, so that killing the process does not lose it."""
        if self._file is not None:
            row = [number, completion.text, completion.finish_reason]
            os.write(self._file, json.dumps(row).encode() + b"\n")
        self.completions[number] = completion

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            os.close(self._file)
