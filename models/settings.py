"""Who writes: what a user asked, and what that comes to (`resolve`), after all checks that need no model."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sozo.data.errors import UserError
from sozo.data.joined import GENERATORS, added, joined
from sozo.data.prompts.form import read_form, settled_form
from sozo.data.secrets import public_url
from sozo.data.settings import deciding, rare_setting, setting
from sozo.models.generators import JoinedWriter, Writer
from sozo.models.nouns import FrontierWriter, NounWriter
from sozo.models.openai_endpoint import EndpointWriter
from sozo.models.sampling import Sampling
from sozo.models.transformers_model import MOST_SLOTS, USUAL_SLOTS, LocalWriter
from sozo.models.vllm_engine import VllmWriter
from sozo.models.weights import check_model
from sozo.scoring.endpoint.bill import Price, Spending, check_limit
from sozo.scoring.endpoint.profile import (
    HELP,
    Profile,
    check_address,
    read_profile,
)
from sozo.tasks.judged import JudgedTask
from sozo.tasks.task import Task

BACKENDS = ("auto", "transformers", "vllm", "openai")
RANDOM, FRONTIER = OF_NOUNS = (
    "random",
    "frontier",
)  # no language models: they draw lists of nouns
OF_FORM = ("system_prompt", "chat_template_kwargs")
_LOCAL = ("transformers", "vllm")
_OF_FRONTIER = ("strength", "word_strength", "frontier_encoder", "dealt")


def _of_tasks(name: str) -> str:
    """The defaults that tasks have, such as `4096 for jcq, 1024 for others`."""
    from sozo.tasks import task_types  # of other packages too, which may import this

    names = dict[float, list[str]]()
    for kind in task_types().values():
        names.setdefault(getattr(kind, name), []).append(kind.name)
    usual = getattr(Task, name)
    names.pop(usual, None)
    own = [f"{value:g} for {' and '.join(kinds)}" for value, kinds in names.items()]
    return ", ".join([*own, f"{usual:g} for others"])


@dataclass(frozen=True, slots=True)
class GeneratorSettings(Spending):
    """What was asked: flags, and nothing besides. `--help` says what each field means, `resolve` what it comes to."""

    panel = "Model"
    model: str = setting(
        "",
        "A folder (LoRA adapter's too), a hub id, tiny (embedded), random (nouns) or frontier.",
    )
    backend: str = setting(
        "auto",
        "auto, transformers, vllm (offline engine) or openai (any compatible endpoint).",
    )
    base_url: str | None = setting(
        None, "Address of the endpoint, up to /v1; the key comes from OPENAI_API_KEY."
    )
    sampling: str | None = setting(
        None,
        lambda: (
            "How answers are drawn: temperature=1.3, top_k=20, top_p=0.9, min_p=0.1, best-of=4, or some "
            f"joined by commas; each is a row (default: temperature {_of_tasks('temperature')}; nothing truncated)."
        ),
    )
    max_new_tokens: int | None = setting(
        None,
        lambda: f"Length limit in tokens (default: {_of_tasks('max_new_tokens')}).",
        least=1,
    )
    system_prompt: str | None = setting(
        None, "System message before each prompt (default: what it was trained with)."
    )
    price_in: float | None = setting(
        None,
        "Dollars for a million tokens that the model reads.",
        affects_result=False,
        least=0,
    )
    price_out: float | None = setting(
        None, "Of a million that it writes.", affects_result=False, least=0
    )
    source: str | None = setting(
        None, "Name of the row; like the model or the file if not given."
    )
    endpoint: str | None = setting(None, f"How the endpoint is spoken to: {HELP}.")
    concurrency: int = rare_setting(
        16, "Requests under way at once (openai).", affects_result=False, least=1
    )
    slots: int | None = rare_setting(
        None,
        lambda: (
            f"Answers decoded at once (transformers; default: {USUAL_SLOTS}, on a GPU what fits of {MOST_SLOTS})."
        ),
        affects_result=False,
        least=1,
    )
    model_revision: str | None = rare_setting(
        None, "Hub revision of the model; the commit is recorded."
    )
    dtype: str = rare_setting(
        "auto", "Weights' type: auto, bfloat16, float16 or float32."
    )
    chat_template_kwargs: str | None = rare_setting(
        None, "Arguments of the chat template, JSON (default: as system_prompt)."
    )
    nouns: str | None = rare_setting(
        None,
        "Of random and frontier: nouns from this file, one per line, or those of tiny.",
    )
    strength: float | None = rare_setting(
        None, "Of frontier: lists are drawn with p ~ exp(strength x score)."
    )
    word_strength: float | None = rare_setting(
        None,
        "Of frontier: words come as often as independent ones of this strength; strength only combines them.",
    )
    frontier_encoder: str | None = rare_setting(
        None, "Of frontier: encoder of that score (default: what scores the run)."
    )
    dealt: bool | None = rare_setting(
        None,
        "Of frontier: each word goes to another list of the batch, at its place (a placebo).",
    )

    def price(self) -> Price | None:
        """The price of the model's tokens; None if it is not known."""
        return Price.given(self.price_in, self.price_out)


def resolve(settings: GeneratorSettings, task: Task | type[Task] = Task) -> Writer:
    """Who answers the task, after all checks that need no model; a task has a length limit and a temperature."""
    sampling = Sampling.parse(settings.sampling)
    if settings.base_url:
        check_address(settings.base_url, "base_url")
    profile = read_profile(settings.endpoint)
    base_url = settings.base_url or profile.base_url
    backend = _backend(settings, base_url)
    _check_fit(settings, backend)
    _check_sampling(sampling, backend, profile, task)
    local = settings.model if backend in _LOCAL else None
    if local is not None:
        check_model(local)
    system, arguments = settled_form(
        settings.system_prompt, settings.chat_template_kwargs, local
    )
    template = None
    if arguments is not None:
        template = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
    brought = joined(GENERATORS).get(backend)
    source = settings.source or sampling.named(settings.model)
    lengths = {
        "temperature": sampling.temperature or task.temperature,
        "max_new_tokens": settings.max_new_tokens or task.max_new_tokens,
    }
    record = deciding(settings) | {
        **lengths,
        "source": source,
        "backend": backend,
        "base_url": profile.server_at(public_url(base_url)) if base_url else None,
        "sampling": sampling.text or None,
        "system_prompt": system,
        "endpoint": profile.deciding() or None,
        "chat_template_kwargs": template,
    }
    unused = {name for name in ("sampling", *OF_FORM, "dealt") if record[name] is None}
    if backend != FRONTIER:  # nothing of a language model's record
        unused.update(_OF_FRONTIER)
    if brought and sampling.temperature is None:  # it may take another, or have none
        unused.add("temperature")
    who: dict[str, Any] = {
        "model": settings.model,
        "model_revision": settings.model_revision,
        "source": source,
        "record": {name: record[name] for name in record if name not in unused},
        "sampling": sampling,
    }
    if backend == RANDOM:
        return NounWriter(nouns=settings.nouns, **who)
    if backend == FRONTIER:
        who |= {name: getattr(settings, name) for name in _OF_FRONTIER}
        return FrontierWriter(nouns=settings.nouns, **who)
    who |= lengths | {"form": read_form(system, template)}
    if brought:
        return JoinedWriter(generator=brought.value, **who)
    if backend == "openai":
        price = settings.price()
        check_limit(settings.max_cost, "model", price, int(lengths["max_new_tokens"]))
        return EndpointWriter(
            profile=profile,
            base_url=base_url,
            concurrency=profile.concurrency or settings.concurrency,
            price=price,
            **who,
        )
    kind = VllmWriter if backend == "vllm" else LocalWriter
    return kind(dtype=settings.dtype, slots=settings.slots, **who)


def _backend(settings: GeneratorSettings, base_url: str | None) -> str:
    brought = added(GENERATORS, (*BACKENDS, *OF_NOUNS))
    if settings.backend not in (*BACKENDS, *OF_NOUNS, *brought):
        known = ", ".join((*BACKENDS, *brought))
        raise UserError(f"unknown backend {settings.backend!r}; choose one of {known}")
    if settings.backend != "auto":
        return settings.backend
    if base_url:
        return "openai"
    if settings.model in (*OF_NOUNS, *brought):
        return settings.model
    # vLLM comes with torch, which is slow to import: only where vLLM is there.
    if find_spec("vllm") is not None:
        import torch

        if torch.cuda.is_available():
            return "vllm"
    return "transformers"


def _check_sampling(
    sampling: Sampling, backend: str, profile: Profile, task: Task | type[Task]
) -> None:
    """Refuse what could not be drawn so, before anybody is paid."""
    if sampling.text and backend in OF_NOUNS:
        raise UserError(
            f"sampling {sampling.text} goes with a language model, not with {backend}"
        )
    if sampling.truncation and backend not in (*_LOCAL, "openai"):
        raise UserError(
            f"sampling {sampling.text}: {backend} may not know "
            f"{' and '.join(sampling.truncation)}; it takes a temperature"
        )
    body = dict(profile.extra_body or {})
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    given = sampling.truncation | {"temperature": sampling.temperature}
    for name in body.keys() & {name for name, value in given.items() if value}:
        raise UserError(
            f"sampling {sampling.text}: the endpoint's settings say {name} {body[name]}; leave out one of the two"
        )
    kind = task if isinstance(task, type) else type(task)
    if sampling.best_of and (issubclass(kind, JudgedTask) or kind.measures[0].together):
        raise UserError(
            f"sampling {sampling.text}: the best answer is the one with the best score, and {task.name} gives none to "
            "an answer alone; leave out best-of"
        )


def _check_fit(settings: GeneratorSettings, backend: str) -> None:
    """Refuse settings that belong to another backend, and a frontier without its strength."""
    owners: dict[str, tuple[str, tuple[str, ...]]] = {"nouns": ("models", OF_NOUNS)}
    owners |= dict.fromkeys(("base_url", "endpoint"), ("backend", ("openai",)))
    owners |= dict.fromkeys(_OF_FRONTIER, ("model", (FRONTIER,)))
    for name, (kind, backends) in owners.items():
        if backend not in backends and getattr(settings, name) not in (None, ""):
            other = backend if kind == "backend" else settings.model
            raise UserError(
                f"{name} goes with the {kind} {' and '.join(backends)}, not with {other}"
            )
    if backend == FRONTIER and (
        settings.strength is None or not 0 <= settings.strength < float("inf")
    ):
        raise UserError(
            f"the model {FRONTIER} needs a strength of 0 or more (1000, say), not {settings.strength}"
        )
