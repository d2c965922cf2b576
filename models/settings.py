"""What a user names to say who writes (`--model`, `--backend`, ...), and all checks of it that need no model."""

import json
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Self

from sozo.data.errors import UserError
from sozo.data.prompts.form import PromptForm, read_form, settled_form
from sozo.data.secrets import public_url
from sozo.data.settings import Checked, deciding, rare_setting, setting
from sozo.models.weights import check_model, pinned
from sozo.scoring.endpoint.profile import HELP, check_address, read_profile

BACKENDS = ("auto", "transformers", "vllm", "openai")
RANDOM, FRONTIER = OF_NOUNS = (
    "random",
    "frontier",
)  # no language models: they draw lists of nouns
OF_FORM = ("system_prompt", "chat_template_kwargs")
_LOCAL = ("transformers", "vllm")
_OF_FRONTIER = ("strength", "word_strength", "frontier_encoder")


@dataclass(frozen=True, slots=True)
class GeneratorSettings(Checked):
    """What decides how a model writes. `--help` says what each field means."""

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
    temperature: float | None = setting(
        None,
        "Sampling temperature (default: 1, of SIPeN 0.0001); nothing is truncated (top_k 0, top_p 1).",
    )
    max_new_tokens: int | None = setting(
        None,
        "Length limit in tokens (default: 256 for DAT, 4096 for JCQ, 16 for SIPeN, 1024 for others).",
        least=1,
    )
    system_prompt: str | None = setting(
        None, "System message before each prompt (default: what it was trained with)."
    )
    source: str | None = setting(
        None, "Name of the row; like the model or the file if not given."
    )
    endpoint: str | None = rare_setting(None, f"How the endpoint is spoken to: {HELP}.")
    concurrency: int = rare_setting(
        16, "Requests under way at once (openai).", affects_result=False, least=1
    )
    slots: int | None = rare_setting(
        None,
        "Answers decoded at once (transformers; default: 256, on a GPU what fits of 1024).",
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

    def deciding(self) -> dict[str, Any]:
        """The settings that decide what is written, for a run's record: no credentials in an address."""
        unused = [name for name in OF_FORM if getattr(self, name) is None]
        if self.backend != FRONTIER:  # nothing of a language model's record
            unused += _OF_FRONTIER
        values = {
            name: value for name, value in deciding(self).items() if name not in unused
        }
        profile = read_profile(self.endpoint)
        if self.base_url:
            values["base_url"] = profile.server_at(public_url(self.base_url))
        return values | {"endpoint": profile.deciding() or None}

    @property
    def form(self) -> PromptForm:
        """How prompts come before the model."""
        return read_form(self.system_prompt, self.chat_template_kwargs)

    def settled(self, max_new_tokens: int = 256, temperature: float = 1.0) -> Self:
        """With backend, source, length limit and temperature decided, after all checks without a model."""
        limit = max_new_tokens if self.max_new_tokens is None else self.max_new_tokens
        temperature = temperature if self.temperature is None else self.temperature
        if temperature <= 0:
            raise UserError(f"temperature must be above 0, not {temperature}")
        base_url = self.base_url or read_profile(self.endpoint).base_url
        if base_url:
            check_address(base_url, "base_url")
        backend = self._backend(base_url)
        self._check_fit(backend)
        if backend in _LOCAL:
            check_model(self.model)
        folder = self.model if backend in _LOCAL else None
        system, arguments = settled_form(
            self.system_prompt, self.chat_template_kwargs, folder
        )
        template = (
            None
            if arguments is None
            else json.dumps(arguments, ensure_ascii=False, sort_keys=True)
        )
        settled = replace(
            self,
            system_prompt=system,
            chat_template_kwargs=template,
            max_new_tokens=limit,
        )
        source = self.source or self.model
        return replace(
            settled,
            backend=backend,
            source=source,
            base_url=base_url,
            temperature=temperature,
        )

    def _check_fit(self, backend: str) -> None:
        """Refuse settings that belong to another backend, and a frontier without its strength."""
        owners: dict[str, tuple[str, tuple[str, ...]]] = {"nouns": ("models", OF_NOUNS)}
        owners |= dict.fromkeys(("base_url", "endpoint"), ("backend", ("openai",)))
        owners |= dict.fromkeys(_OF_FRONTIER, ("model", (FRONTIER,)))
        for name, (kind, backends) in owners.items():
            if backend not in backends and getattr(self, name) not in (None, ""):
                other = backend if kind == "backend" else self.model
                raise UserError(
                    f"{name} goes with the {kind} {' and '.join(backends)}, not with {other}"
                )
        if backend == FRONTIER and (
            self.strength is None or not 0 <= self.strength < float("inf")
        ):
            raise UserError(
                f"the model {FRONTIER} needs a strength of 0 or more (1000, say), not {self.strength}"
            )

    def _backend(self, base_url: str | None) -> str:
        if self.backend not in (*BACKENDS, *OF_NOUNS):
            raise UserError(
                f"unknown backend {self.backend!r}; choose one of {', '.join(BACKENDS)}"
            )
        if self.backend != "auto":
            return self.backend
        if base_url:
            return "openai"
        if self.model in OF_NOUNS:
            return self.model
        # vLLM comes with torch, which is slow to import: only where vLLM is there.
        if find_spec("vllm") is not None:
            import torch

            if torch.cuda.is_available():
                return "vllm"
        return "transformers"

    def pinned(self) -> Self:
        """With the folder of `tiny`, and of a hub model the commit (see `sozo.models.weights.pinned`)."""
        if self.backend not in _LOCAL:
            return self
        model, revision = pinned(self.model, self.model_revision)
        return replace(self, model=model, model_revision=revision)
