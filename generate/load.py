"""From what a user names (`--model`, `--backend`, ...) to a generator: cheap checks first, then the model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from data.settings import deciding, setting
from generate.openai_endpoint import public_url
from generate.protocol import Generator, GeneratorError
from models.adapter import ADAPTER_FILE, is_adapter

BACKENDS = ("auto", "transformers", "vllm", "openai")
RANDOM, TINY = "random", "tiny"


@dataclass(frozen=True, slots=True)
class GeneratorSettings:
    """What decides how a model writes. `--help` says what each field means.

    >>> GeneratorSettings("random").settled().backend
    'random'
    """

    model: str = setting("", "A folder (a LoRA adapter's too), a hub id, tiny (embedded) or random (random nouns).")
    backend: str = setting("auto", "auto, transformers, vllm (offline engine) or openai (any compatible endpoint).")
    base_url: str | None = setting(None, "Address of the endpoint, up to /v1; the key comes from OPENAI_API_KEY.")
    concurrency: int = setting(16, "Requests under way at once (openai).", decides=False)
    model_revision: str | None = setting(None, "Hub revision of the model; the commit is recorded.")
    dtype: str = setting("auto", "Weights' type: auto, bfloat16, float16 or float32.")
    temperature: float = setting(1.0, "Sampling temperature; nothing is truncated (top_k 0, top_p 1).")
    max_new_tokens: int | None = setting(
        None, "Length limit in tokens (default: 256 for the ten words of DAT, 1024 for an answer or a rewrite)."
    )
    slots: int = setting(256, "Responses decoded at once (transformers); fewer need less memory.", decides=False)
    nouns: str | None = setting(None, "Random nouns come from this file, one per line, or are those of tiny.")
    source: str | None = setting(None, "Name of the row; like the model or the file if not given.")

    def deciding(self) -> dict[str, Any]:
        """The settings that decide what is written, for a run's record: no credentials in an address."""
        values = deciding(self)
        return values | {"base_url": public_url(self.base_url)} if self.base_url else values

    def settled(self, max_new_tokens: int = 256) -> GeneratorSettings:
        """With the backend, the source and the length limit decided, after every check that needs no network or model.

        Args:
            max_new_tokens: The limit where the user gave none.

        Raises:
            ValueError: A value is out of range, or two do not go together.
            GeneratorError: The folder is no model.
        """
        if self.backend not in (*BACKENDS, RANDOM):
            raise ValueError(f"unknown backend {self.backend!r}; choose one of {', '.join(BACKENDS)}")
        limit = max_new_tokens if self.max_new_tokens is None else self.max_new_tokens
        for name, value in (("max_new_tokens", limit), ("concurrency", self.concurrency), ("slots", self.slots)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if self.temperature <= 0:
            raise ValueError(f"temperature must be above 0, not {self.temperature}")
        backend = self._backend()
        if self.base_url and backend != "openai":
            raise ValueError(f"base_url goes with the backend openai, not with {backend}")
        if self.base_url and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("base_url must begin with http:// or https:// and end with the API's /v1")
        if self.nouns and backend != RANDOM:
            raise ValueError(f"nouns goes with the model {RANDOM}, not with {self.model}")
        if backend in ("transformers", "vllm") and self.model != TINY:
            _check_folder(self.model)
        return replace(self, backend=backend, source=self.source or self.model, max_new_tokens=limit)

    def _backend(self) -> str:
        if self.backend != "auto":
            return self.backend
        if self.base_url:
            return "openai"
        if self.model == RANDOM:
            return RANDOM
        # vLLM comes with torch, which is slow to import: only where vLLM is there.
        if find_spec("vllm") is not None:
            import torch

            if torch.cuda.is_available():
                return "vllm"
        return "transformers"

    def pinned(self) -> GeneratorSettings:
        """With the folder of `tiny`, and of a hub model the commit, so that all of it comes from one version.

        Raises:
            GeneratorError: The model cannot be found or made.
        """
        if self.backend not in ("transformers", "vllm"):
            return self
        if self.model == TINY:
            return replace(self, model=tiny_folder())
        if Path(self.model).is_dir():
            return self
        from transformers import AutoConfig

        try:
            config = AutoConfig.from_pretrained(self.model, revision=self.model_revision, trust_remote_code=False)
        except Exception as error:
            raise _cannot_load(self.model, error) from error
        return replace(self, model_revision=getattr(config, "_commit_hash", None) or self.model_revision)


def load_generator(settings: GeneratorSettings, *, keep: Path | None = None) -> Generator:
    """The generator that `settings` name.

    Args:
        settings: Who writes, and how.
        keep: See `generate.openai_endpoint.OpenAIGenerator`; the others draw a batch at no price.

    Raises:
        GeneratorError: The model, its tokenizer or the endpoint cannot be used.
        ValueError: A setting is wrong.
        ModuleNotFoundError: A package is missing.

    >>> load_generator(GeneratorSettings("random")).name
    'random'
    """
    settings = settings.settled().pinned()
    if settings.backend == RANDOM:
        from generate.random_nouns import RandomNouns

        return RandomNouns(_nouns(settings.nouns), name=settings.source or RANDOM)
    decoder: dict[str, Any] = {
        "name": settings.source,
        "max_new_tokens": settings.max_new_tokens,
        "temperature": settings.temperature,
    }
    if settings.backend == "openai":
        from generate.openai_endpoint import OpenAIGenerator

        return OpenAIGenerator(
            settings.model, base_url=settings.base_url, concurrency=settings.concurrency, keep=keep, **decoder
        )
    if settings.backend == "vllm":
        return _vllm(settings, decoder)
    from generate.transformers_model import TransformersGenerator

    model, tokenizer = _load_model(settings)
    return TransformersGenerator(model, tokenizer, slots=settings.slots, **decoder)


def _nouns(where: str | None) -> Sequence[str]:
    """The nouns of a file, of the embedded model, or JumanDIC's."""
    if where is None:
        from data.nouns import load_nouns

        return load_nouns()
    path = Path(tiny_folder()) / "nouns.txt" if where == TINY else Path(where)
    try:
        return path.read_text("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise GeneratorError(
            f"{path}: cannot be read as a list of nouns; give a text file, one noun per line"
        ) from error


def tiny_folder() -> str:
    """The folder of the embedded model, made first if it is not there (half a minute on two cores).

    In a process of its own: eval does not import training, where the model is at home.
    """
    command = [sys.executable, "-m", "models.tiny"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    lines = done.stdout.split("\n")
    if done.returncode or not Path(folder := "".join(lines[-2:])).is_dir():
        raise GeneratorError("the embedded model could not be made; python -m models.tiny says why")
    return folder


def _check_folder(model: str) -> None:
    folder = Path(model)
    if folder.is_dir():
        if not any((folder / name).is_file() for name in ("config.json", ADAPTER_FILE)):
            raise GeneratorError(f"{model}: holds no model (neither config.json nor {ADAPTER_FILE}); give a model's")
    elif folder.exists() or model.count("/") > 1 or model.startswith((".", "/", "~")):
        raise GeneratorError(f"{model}: no such folder; give a model's folder, a hub id, {TINY} or {RANDOM}")


def _load_model(settings: GeneratorSettings) -> tuple[Any, Any]:
    """Model and tokenizer on this process's device; a LoRA adapter is merged into its base model."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    path, options = settings.model, {"dtype": settings.dtype, "trust_remote_code": False}
    tokenizer_path, revision = path, settings.model_revision
    try:
        if is_adapter(path):
            from peft import AutoPeftModelForCausalLM, PeftConfig

            model = AutoPeftModelForCausalLM.from_pretrained(path, **options).merge_and_unload()
            if not (Path(path) / "tokenizer_config.json").is_file():
                tokenizer_path, revision = PeftConfig.from_pretrained(path).base_model_name_or_path, None
        else:
            model = AutoModelForCausalLM.from_pretrained(path, revision=revision, **options)
    except Exception as error:
        raise _cannot_load(path, error) from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(tokenizer_path, revision=revision, trust_remote_code=False)
    except Exception as error:
        cause = f"its tokenizer cannot be loaded ({_cause(error)})"
        raise GeneratorError(f"{path}: {cause}; save the tokenizer in the model's folder") from error
    device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"
    return model.to(device).eval(), tokenizer


def _vllm(settings: GeneratorSettings, decoder: dict[str, Any]) -> Generator:
    if find_spec("vllm") is None:
        raise ModuleNotFoundError("the backend vllm needs the package vllm: pip install 'sozo[vllm]'")
    from generate.vllm_engine import VllmGenerator

    try:
        return VllmGenerator(settings.model, revision=settings.model_revision, dtype=settings.dtype, **decoder)
    except Exception as error:
        raise _cannot_load(settings.model, error) from error


def _cannot_load(model: str, error: Exception) -> GeneratorError:
    return GeneratorError(
        f"cannot load the model {model!r} ({_cause(error)}); give a model's folder, or a hub id that can be reached"
    )


def _cause(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
