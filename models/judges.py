"""The judge that a user's settings name: behind an endpoint, or a model on this machine, which is loaded here."""

from pathlib import Path
from typing import Any

from sozo.data.checkpoints import model_digests
from sozo.data.errors import UserError
from sozo.data.schema import Completion
from sozo.models.generator import Generator
from sozo.models.generators import Loaded
from sozo.models.settings import GeneratorSettings, resolve
from sozo.scoring.judges.endpoint import LocalJudge, endpoint_judge
from sozo.scoring.judges.protocol import Judge, JudgeSettings

# As near to the paper's temperature 0 as sampling comes: a token two nats less likely has a chance of e^-20000.
_GREEDY = 1e-4


def make_judge(settings: JudgeSettings, loaded: Loaded | None = None) -> Judge:
    """The judge that the settings name; a local model is loaded when it is first asked, once until `loaded` closes."""
    loaded = loaded or Loaded()
    if settings.judge_backend == "openai":
        return endpoint_judge(settings)
    if settings.judge_backend not in ("transformers", "vllm"):
        raise UserError(
            f"judge_backend must be openai, transformers or vllm, not {settings.judge_backend}"
        )
    for name in ("judge_base_url", "judge_endpoint"):
        if getattr(settings, name):
            raise UserError(
                f"{name} goes with judge_backend openai, not with {settings.judge_backend}"
            )
    name, limit = settings.judge_model, settings.judge_max_tokens
    asked = GeneratorSettings(
        name,
        settings.judge_backend,
        sampling=f"temperature={_GREEDY}",
        max_new_tokens=limit,
    )
    writer = resolve(asked)

    def reply(prompts: list[str]) -> list[Completion]:
        generator: Generator = loaded.load(
            asked, lambda: writer.pinned().load(loaded=loaded)
        )
        return generator.answer(prompts, 0, 0)

    digests = model_digests(Path(name)) if Path(name).is_dir() else {}
    options: dict[str, Any] = {
        "parameters": {"temperature": _GREEDY, **digests},
        "batch_size": settings.judge_concurrency,
    }
    return LocalJudge(name, reply, max_tokens=limit, **options)
