"""Any OpenAI-compatible endpoint as a generator: a vLLM server, `transformers serve`, SGLang, llama.cpp, OpenAI."""

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from itertools import product
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sozo.data.schema import Completion
from sozo.models.generator import request_seeds
from sozo.models.settings import GeneratorSettings
from sozo.scoring.endpoint.client import FILTERED, OFFICIAL, Endpoint, Outcome, RetryPolicy
from sozo.scoring.endpoint.profile import NONE, read_profile

_PATH = "chat/completions"
_OF_ONE_PROMPT = (400, 403, 404, 413, 422)  # what may be refused for its own sake, while others are answered
_GIVE_UP_AFTER = 20  # prompts refused, and none answered: that is no prompt's own fault


class OpenAIGenerator:
    """Chat completions of an OpenAI-compatible endpoint, each with a seed of its own; `settings` are settled.

    A server that ignores `top_k` (see `_forms`) cannot be told apart, nor one that ignores a seed (`transformers serve`
    seeds the process: only `concurrency=1` is repeatable). What fails after all attempts (see `Endpoint`) ends the
    batch. A reply without text is an empty response, and so is a prompt that is declined while others of its batch are
    answered: `finish_reason` is then content_filter or error. In `keep`, the
    folder of the run's parts, a batch that fails half way leaves what was paid for; the next call asks for the rest.
    """

    def __init__(
        self, settings: GeneratorSettings, *, keep: Path | None = None, retry: RetryPolicy | None = None
    ) -> None:
        self._profile = profile = read_profile(settings.endpoint)
        self._endpoint = Endpoint(
            settings.model, settings.base_url, concurrency=settings.concurrency, retry=retry, profile=profile
        )
        temperature = settings.temperature if profile.temperature is None else profile.temperature
        self.name = settings.source or settings.model
        self.temperature = None if temperature is None or temperature == NONE else float(temperature)
        self._settings, self._keep = settings, keep
        self._kept: Path | None = None  # the file of the latest batch
        self._form, self._request = self._accepted_form()
        self._server = profile.server_at(self._endpoint.url)
        self._models = tuple(self._endpoint.models)  # what the first reply said that it came from

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One completion for each of `prompts`, as many at once as `concurrency` says."""
        seeds = request_seeds(len(prompts), seed, batch)
        path = self._file(batch)
        kept = _read_kept(path) if path else {}
        missing = [k for k in range(len(prompts)) if k not in kept]
        refused: dict[int, Outcome[Completion]] = {}
        # Unbuffered: once a completion is written, killing the process does not lose it.
        with path.open("ab", buffering=0) if path else nullcontext() as file:
            if file and file.tell():
                file.write(b"\n")  # behind what a kill tore

            def keep(number: int, outcome: Outcome[Completion]) -> None:
                # Azure's filter: an error 400 about this one prompt, which no later attempt would pass.
                declined = Completion("", FILTERED) if outcome.code == FILTERED else None
                if (completion := declined or outcome.value) is None:
                    refused[missing[number]] = outcome
                    if outcome.status not in _OF_ONE_PROMPT or not (kept or len(refused) < _GIVE_UP_AFTER):
                        raise self._endpoint.failure(outcome.error)
                    return
                if self._models and len(self._endpoint.models) > 1:
                    names = " and ".join(self._endpoint.models)
                    raise self._endpoint.failure(f"replies came from {names}, and a run is of one model")
                kept[missing[number]] = completion
                if file:
                    row = [missing[number], completion.text, completion.finish_reason]
                    file.write(json.dumps(row).encode() + b"\n")

            bodies = [self._body(prompts[k], seeds[k], self._request) for k in missing]
            self._endpoint.post_all(_PATH, bodies, self._read, keep)
        if refused:
            error = next(iter(refused.values())).error
            if not kept:
                raise self._endpoint.failure(error)
            tqdm.write(f"{self.name}: {len(refused)} of {len(prompts)} prompts were refused ({error})", file=sys.stderr)
        return [kept.get(k) or Completion("", "error") for k in range(len(prompts))]

    def _file(self, batch: int) -> Path | None:
        """Where a batch is kept. Who asks for the next one has written the one before, which can go."""
        before, self._kept = self._kept, self._keep and self._keep / f".part-{batch:05d}.jsonl.tmp"
        if before not in (None, self._kept):
            before.unlink(missing_ok=True)
        if self._kept:
            self._kept.parent.mkdir(parents=True, exist_ok=True)
        return self._kept

    def _read(self, content: Any) -> Completion:
        if isinstance(content, dict) and content.get("choices") == []:
            return Completion("")
        chat = self._endpoint.chat_reply(content)
        return Completion("", FILTERED) if chat.refused else Completion(chat.text or "", chat.finish_reason)

    def _body(self, text: str, seed: int, request: dict[str, Any]) -> dict[str, Any]:
        decoder = {"temperature": self.temperature, "top_p": 1.0, "seed": seed, **request}
        form = self._settings.form
        body: dict[str, Any] = {"model": self._settings.model, "messages": form.prompt(text, conversational=True)}
        # vLLM's and SGLang's; OpenAI has no template.
        body |= {"chat_template_kwargs": dict(form.arguments)} if form.arguments else {}
        return body | self._profile.decoder(decoder)

    def _accepted_form(self) -> tuple[str, dict[str, Any]]:
        """The first way to ask for the whole distribution that the server does not refuse.

        It is tried with one token, where that is too few with sixteen, and at last with as many as an answer may have.
        """
        outcomes: list[Outcome[Completion]] = []
        limits = (1, 16, self._settings.max_new_tokens)
        for limit, form in product(limits, _forms(1)):
            if self._endpoint.url == OFFICIAL and form not in ("openai", "bare"):
                continue
            if form == "bare" and self.temperature not in (1.0, None):  # the server's own would be another one
                continue
            body = self._body("こんにちは", 0, _forms(limit)[form])
            self._endpoint.post_all(_PATH, [body], self._read, lambda _, outcome: outcomes.append(outcome))
            if outcomes[-1].value is not None:
                return form, _forms(self._settings.max_new_tokens)[form]
            if outcomes[-1].status not in (400, 422):
                break
        raise self._endpoint.failure(outcomes[-1].error)

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record: no key, and no credentials in the address."""
        return {
            "generator": "openai",
            "model": self._settings.model,
            "server": self._server,
            "reply_model": next(iter(self._models), None),
            "temperature": self.temperature,
            "top_p": 1.0,
            "request_form": self._form,
            "request": self._request,
            "max_new_tokens": self._settings.max_new_tokens,
        }


def _forms(limit: int | None) -> dict[str, dict[str, Any]]:
    """How servers are asked for the whole distribution (the model's own generation config often truncates it), in at
    most `limit` tokens: vLLM, SGLang and llama.cpp take `top_k` in the request, `transformers serve` a whole
    `generation_config`, OpenAI neither, and it truncates nothing at top_p 1. Its reasoning models have a temperature of
    1 and take none in the request.
    """
    untruncated = {"min_p": 0.0, "repetition_penalty": 1.0}
    config = {"do_sample": True, "top_k": 0, "top_p": 1.0, **untruncated}
    return {
        "top_k": {"max_tokens": limit, "top_k": -1, **untruncated},
        "generation_config": {"max_tokens": limit, "generation_config": json.dumps(config)},
        "openai": {"max_completion_tokens": limit},
        "bare": {"max_completion_tokens": limit, "temperature": None, "top_p": None, "seed": None},
    }


def _read_kept(path: Path) -> dict[int, Completion]:
    """The completions of a batch by their numbers, each a line; a kill may have torn the last one."""
    completions: dict[int, Completion] = {}
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        with suppress(ValueError):  # torn, or what follows the last line feed
            number, text, finish_reason = json.loads(line)
            completions[number] = Completion(text, finish_reason)
    return completions
