"""The judge that a user's options name, and what its tokens cost."""

from __future__ import annotations

from typing import Any

from generate.load import GeneratorSettings, load_generator
from generate.protocol import Generator
from rewards.judges.endpoint import EndpointJudge
from rewards.judges.local import LocalJudge
from rewards.judges.options import JudgeSettings
from rewards.judges.protocol import Judge

# As near to the paper's temperature 0 as sampling comes: a token two nats less likely has a chance of e^-20000.
_GREEDY = 1e-4


def make_judge(options: JudgeSettings) -> Judge:
    """The judge that the options name; a local model is loaded when it is first asked.

    Raises:
        ValueError: There is no such backend, there is no key, or a number is out of range.
    """
    if options.judge_backend == "openai":
        return EndpointJudge(
            options.judge_model,
            base_url=options.judge_base_url,
            concurrency=options.judge_concurrency,
            max_tokens=options.judge_max_tokens,
        )
    if options.judge_backend not in ("transformers", "vllm"):
        raise ValueError(f"judge_backend must be openai, transformers or vllm, not {options.judge_backend}")
    if options.judge_base_url:
        raise ValueError(f"judge_base_url goes with judge_backend openai, not with {options.judge_backend}")
    settings = GeneratorSettings(
        options.judge_model,
        backend=options.judge_backend,
        temperature=_GREEDY,
        max_new_tokens=options.judge_max_tokens,
    ).settled()
    loaded: list[Generator] = []

    def reply(prompts: list[str]) -> Any:
        if not loaded:
            loaded.append(load_generator(settings))
        return loaded[0].answer(prompts, 0, 0)

    return LocalJudge(
        options.judge_model,
        reply,
        parameters={"temperature": _GREEDY},
        batch_size=options.judge_concurrency,
        max_tokens=options.judge_max_tokens,
    )
