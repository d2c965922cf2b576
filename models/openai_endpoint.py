"""Any OpenAI-compatible endpoint as a generator: a vLLM server, `transformers serve`, SGLang, llama.cpp, OpenAI."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sozo.data.errors import UndecidedError, UserError
from sozo.data.progress import note
from sozo.data.record import refuse_link, room, write_whole
from sozo.data.schema import ERROR, Completion
from sozo.models.generator import Generator, request_seeds
from sozo.models.generators import ModelWriter
from sozo.scoring.endpoint.bill import BILL, Bill, Budget, OverBudgetError, Price
from sozo.scoring.endpoint.client import (
    FILTERED,
    OFFICIAL,
    Endpoint,
    RequestOutcome,
    read_usage,
)
from sozo.scoring.endpoint.greeting import CHAT, GREETING, first_accepted
from sozo.scoring.endpoint.pace import CircuitBreaker, RetryPolicy
from sozo.scoring.endpoint.profile import NONE, Profile
from sozo.scoring.final_text import Ending, ending
from sozo.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointWriter(ModelWriter):
    """A model behind an endpoint."""

    profile: Profile
    base_url: str | None  # None: the environment's, or OpenAI's
    concurrency: int
    price: Price | None = None

    def load(
        self, task: Task | None = None, *, keep: Path | None = None, **_: Any
    ) -> Generator:
        """The server is greeted; what a batch that fails has paid for is left in `keep`, its bill beside that."""
        return OpenAIGenerator(self, keep=keep, budget=task.budget if task else None)


class _ServerSuspectedError(UserError):
    """So many prompts in a row got no answer that the server may be at fault."""


class OpenAIGenerator:
    """Answers of an OpenAI-compatible endpoint, each with a seed of its own.

    A server that ignores `top_k` (see `_forms`) cannot be told apart, nor one that ignores a seed (`transformers serve`
    seeds the process: only `concurrency=1` is repeatable). A reply without text is an empty answer, and so is a
    prompt that a filter declines or that gets no reply after all attempts (see `Endpoint`) while others are answered
    (`CircuitBreaker`): `finish_reason` is then content_filter or error, and of a model's refusal, whose words are kept, refusal.
    A reply of as many tokens as it may have is cut, whatever the server says. A server that answers nobody, or no
    longer, ends the batch. In
    `keep`, the folder of the run's parts, a batch that fails half way leaves what was paid for; the next call asks for
    the rest.
    """

    def __init__(
        self,
        writer: EndpointWriter,
        *,
        keep: Path | None = None,
        budget: Budget | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._profile = profile = writer.profile
        self._endpoint = Endpoint(
            writer.model,
            writer.base_url,
            concurrency=writer.concurrency,
            retry=retry,
            profile=profile,
        )
        unlimited = profile.limit_name == NONE
        self._longest = None if unlimited else writer.max_new_tokens
        if keep:
            how = writer.price, self._longest, budget
            self._endpoint.bill = Bill(keep.parent / BILL, "model", *how)
        temperature = profile.temperature
        if temperature is None:
            temperature = writer.temperature
        self.name = writer.source
        self.temperature = None if temperature == NONE else float(temperature)
        self._writer, self._keep = writer, keep
        self._kept: Path | None = None  # the file of the latest batch
        self._breaker = CircuitBreaker()
        # By an earlier run
        self._proven = keep is not None and any(keep.glob("part-*"))
        self._form, self._request = self._accepted_form()
        self._server = profile.server_at(self._endpoint.url)
        # What the first reply said that it came from
        self._models = tuple(self._endpoint.models)

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One answer for each of `prompts`, as many at once as `concurrency` says."""
        seeds = request_seeds(len(prompts), seed, batch)
        path = self._file(batch)
        kept = _read_kept(path, len(prompts)) if path else {}
        for k in kept:
            self._breaker.trips(prompts[k], True)
        # Each prompt once before any is asked again: one that is never answered must not come alone.
        places = defaultdict[str, Iterator[int]](count)
        missing = sorted(
            (k for k in range(len(prompts)) if k not in kept),
            key=lambda k: next(places[prompts[k]]),
        )
        errors: dict[int, str | None] = {}
        if path:
            refuse_link(path)
        # Unbuffered: once an answer is written, killing the process does not lose it.
        with path.open("ab", buffering=0) if path else nullcontext() as file:
            if file and file.tell():
                file.write(b"\n")  # behind what a kill tore

            def keep(number: int, outcome: RequestOutcome[Completion]) -> None:
                # Azure's filter: an error 400 about this one prompt, which no later attempt would pass.
                declined = (
                    Completion("", FILTERED) if outcome.code == FILTERED else None
                )
                completion, k = declined or outcome.value, missing[number]
                note(done=1, failed=completion is None)
                if completion is None:
                    errors[k] = outcome.error
                if self._breaker.trips(prompts[k], completion is not None):
                    raise _ServerSuspectedError(
                        str(self._endpoint.failure(outcome.error))
                    )
                if completion is None:
                    return
                if self._models and len(self._endpoint.models) > 1:
                    names = " and ".join(self._endpoint.models)
                    raise self._endpoint.failure(
                        f"replies came from {names}, and a run is of one model"
                    )
                kept[k] = completion
                if path and file:
                    line = _line(k, completion)
                    with room(path, len(line)):
                        file.write(line)

            while missing:
                bodies = [
                    self._body(prompts[k], seeds[k], self._request) for k in missing
                ]
                try:
                    self._endpoint.post_all(CHAT, bodies, self._read, keep)
                except OverBudgetError as error:
                    remedy = "what came is kept, and the same command with a higher --max-cost goes on"
                    raise OverBudgetError(f"{error}; {remedy}") from error
                except _ServerSuspectedError:
                    # Unless a prompt that it answered before is answered again: then these prompts are at fault.
                    if (
                        not self._breaker.answered
                        or self._check_health(
                            self._request, min(self._breaker.answered)
                        ).value
                        is None
                    ):
                        raise
                    self._breaker.in_a_row.clear()
                missing = [k for k in missing if k not in kept and k not in errors]
        if errors:
            if (
                self._breaker.in_a_row
                and (greeted := self._check_health(self._request)).value is None
            ):
                raise self._endpoint.failure(greeted.error)
            why = next(iter(errors.values()))
            if not (self._breaker.answered or self._proven):
                raise UndecidedError(str(self._endpoint.failure(why)))
            lost = f"{len(errors)} of {len(prompts)} prompts got no answer ({why})"
            tqdm.write(
                f"{self.name}: {lost}; --retry-errors asks again", file=sys.stderr
            )
        return [kept.get(k) or Completion("", ERROR) for k in range(len(prompts))]

    def _file(self, batch: int) -> Path | None:
        """Where a batch is kept. Who asks for the next one has written the one before, which can go."""
        before, self._kept = self._kept, self._keep and _kept_file(self._keep, batch)
        if before not in (None, self._kept):
            before.unlink(missing_ok=True)
        if self._kept:
            self._kept.parent.mkdir(parents=True, exist_ok=True)
        return self._kept

    def _read(self, content: Any) -> Completion:
        if isinstance(content, dict) and content.get("choices") == []:
            return Completion("")
        chat = self._endpoint.chat_reply(content)
        end = chat.finish_reason
        if chat.refused:
            end = str(Ending.REFUSED)
        elif ending(end) is Ending.WELL and read_usage(content)[1] == self._longest:
            end = "length"  # some servers say that it stopped there
        return Completion(chat.text or "", end)

    def _body(self, text: str, seed: int, request: dict[str, Any]) -> dict[str, Any]:
        decoder = {
            "temperature": self.temperature,
            "top_p": self._writer.sampling.top_p or 1.0,
            "seed": seed,
            **request,
        }
        form = self._writer.form
        body: dict[str, Any] = {
            "model": self._writer.model,
            "messages": form.prompt(text, conversational=True),
        }
        # vLLM's and SGLang's; OpenAI has no template.
        body |= {"chat_template_kwargs": dict(form.arguments)} if form.arguments else {}
        return body | self._profile.decoder(decoder)

    def _accepted_form(self) -> tuple[str, dict[str, Any]]:
        """The first way to ask for the whole distribution that the server does not refuse.

        It is tried with one token, where that is too few with sixteen, and at last with as many as an answer may have.
        """
        truncation = self._writer.sampling.truncation
        forms = list(_forms(1, truncation))
        if self._endpoint.url == OFFICIAL:
            forms = ["openai", "bare"]
        # The server's own temperature would be another one, and so what is truncated where it was not told so.
        if self.temperature not in (1.0, None) or truncation:
            forms.remove("bare")
        if truncation.keys() - {"top_p"}:
            forms.remove("openai")
        if not forms:
            raise UserError(
                f"{self.name}: OpenAI takes temperature and top_p, and of sampling no {max(truncation.keys() - {'top_p'})}"
            )
        longest = self._writer.max_new_tokens
        tried = list(product((1, 16, longest), forms))
        bodies = [
            self._body(GREETING, 0, _forms(limit, truncation)[form])
            for limit, form in tried
        ]
        form = tried[first_accepted(self._endpoint, bodies, self._read)][1]
        return form, _forms(longest, truncation)[form]

    def _check_health(
        self, request: dict[str, Any], prompt: str = GREETING
    ) -> RequestOutcome[Completion]:
        """What the server answers to a prompt that nobody could refuse."""
        outcomes: list[RequestOutcome[Completion]] = []
        body = self._body(prompt, 0, request)
        self._endpoint.post_all(
            CHAT, [body], self._read, lambda _, outcome: outcomes.append(outcome)
        )
        return outcomes[0]

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record: no key, and no credentials in the address."""
        return {
            "generator": "openai",
            "model": self._writer.model,
            "server": self._server,
            "reply_model": next(iter(self._models), None),
            "temperature": self.temperature,
            "top_p": self._writer.sampling.top_p or 1.0,
            "request_form": self._form,
            "request": self._request,
            "max_new_tokens": self._writer.max_new_tokens,
        }


def _forms(limit: int, truncation: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """How servers are asked for the whole distribution (the model's own generation config often truncates it), or what
    a `truncation` leaves of it, in at most `limit` tokens: vLLM, SGLang and llama.cpp take `top_k` in the request,
    `transformers serve` a whole `generation_config`, OpenAI neither, and it truncates nothing at top_p 1. Its reasoning
    models have a temperature of 1 and take none in the request.
    """
    plain = {"min_p": 0.0, "repetition_penalty": 1.0}
    config = {"do_sample": True, "top_k": 0, "top_p": 1.0, **plain, **truncation}
    return {
        "top_k": {"max_tokens": limit, "top_k": -1, **plain, **truncation},
        "generation_config": {
            "max_tokens": limit,
            "generation_config": json.dumps(config),
        },
        "openai": {"max_completion_tokens": limit},
        "bare": {
            "max_completion_tokens": limit,
            "temperature": None,
            "top_p": None,
            "seed": None,
        },
    }


def keep_answers(folder: Path, batch: int, answers: Mapping[int, Completion]) -> None:
    """Keep some answers of a batch, by their numbers: whoever draws it anew asks for the others only."""
    write_whole(
        _kept_file(folder, batch),
        b"".join(_line(*answer) for answer in answers.items()),
    )


def _kept_file(folder: Path, batch: int) -> Path:
    return folder / f".part-{batch:05d}.jsonl.tmp"


def _line(number: int, answer: Completion) -> bytes:
    return json.dumps([number, answer.text, answer.finish_reason]).encode() + b"\n"


def _read_kept(path: Path, size: int) -> dict[int, Completion]:
    """The answers of a batch of this size by their numbers, each a line; a kill may have torn the last one."""
    completions: dict[int, Completion] = {}
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        with suppress(ValueError):  # torn, or what follows the last line feed
            number, text, finish_reason = json.loads(line)
            if number in range(size):
                completions[number] = Completion(text, finish_reason)
    return completions
