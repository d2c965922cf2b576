"""OpenRLHF: a file with `reward_func = make_reward_func("dat")` is its `--reward.remote_url` (docs/integrations.md)."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from sozo.rewards.integrations.core import Integration
from sozo.rewards.reward import ScoredCompletion

ALONE = "--reward.remote_url is shown one answer at a time; take make_agent_executor, with --train.agent_func_path"


def make_reward_func(
    task: str = "dat", **settings: Any
) -> Callable[..., dict[str, Any]]:
    """A `reward_func(queries, prompts, labels)` of its own history, as OpenRLHF calls it with lists of one.

    A label is empty, an item's id, or JSON with the item's columns and `split`. See `reply_of` for what it returns.

    >>> reward_func = make_reward_func("dat", noun_checker="jumandic")
    >>> reward_func(["[INST] 名詞を? [/INST] 1. 犬</s>"], ["[INST] 名詞を? [/INST]"], [""])["reasons"]
    ['format']
    """
    integration = Integration(task, **settings)
    integration.pay([], remedy=ALONE)  # OpenRLHF itself only logs an error

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
    ) -> dict[str, Any]:
        return reply_of(integration.pay(queries, labels, prompts, whole=True))

    return reward_func


def make_agent_executor(task: str = "dat", **settings: Any) -> type:
    """The `AgentExecutor` of a file that `--train.agent_func_path` names: answers in one turn, paid as a group.

    A group is the samples of one prompt, which OpenRLHF starts at once, in one process, and waits for together. If one
    of them fails, all do.
    """
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    integration = Integration(task, **settings)

    class AgentExecutor(SingleTurnAgentExecutor):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._begun: dict[int, SimpleNamespace] = {}

        async def execute(
            self,
            prompt: str,
            label: Any,
            sampling_params: Any,
            max_length: int,
            hf_tokenizer: Any,
            llm_engine: Any,
            images: Any = None,
        ) -> dict[str, Any]:
            # They alone have these parameters: another prompt has others, even if it is the same text.
            name = id(sampling_params)
            group = self._begun.setdefault(name, SimpleNamespace(written=[]))
            place = len(group.written)
            writing = super().execute(
                prompt,
                label,
                sampling_params,
                max_length,
                hf_tokenizer,
                llm_engine,
                images,
            )
            group.written.append(asyncio.ensure_future(writing))
            await asyncio.sleep(0)  # the others begin
            if place == 0:
                del self._begun[name]
                work = _pay_group(
                    integration, group.written, prompt, label, hf_tokenizer
                )
                group.paid = asyncio.ensure_future(work)
            outputs: list[dict[str, Any]] = await group.paid
            return outputs[place]

    return AgentExecutor


async def _pay_group(
    integration: Integration,
    written: Sequence[Any],
    prompt: str,
    label: Any,
    tokenizer: Any,
) -> list[dict[str, Any]]:
    """The outputs of a prompt's samples, with what each is paid."""
    outputs: list[dict[str, Any]] = await asyncio.gather(*written)
    texts = []
    for output in outputs:
        ((start, end),) = output["action_ranges"]
        answer = output["observation_tokens"][start:end]
        texts.append(tokenizer.decode(answer, skip_special_tokens=False))
    count = len(outputs)
    asked, prompts, groups = [label] * count, [prompt] * count, [0] * count
    paid = await asyncio.to_thread(
        integration.pay, texts, asked, prompts, groups=groups
    )
    for output, one in zip(outputs, paid, strict=True):
        told = reply_of([one])
        output |= {"reward": told["rewards"], "scores": told["scores"]}
        output["extra_logs"] = told["extra_logs"]
    return outputs


def reply_of(paid: Sequence[ScoredCompletion]) -> dict[str, Any]:
    """`rewards`, and `scores`, the task's measure: 0 without one; `extra_logs`, shares; and `reasons`, not logged.

    OpenRLHF makes tensors of all extra logs, so that a reason's text cannot be one.
    """
    logs = {
        "usable": [float(completion.score is not None) for completion in paid],
        "duplicate": [float(completion.duplicate) for completion in paid],
    }
    return {
        "rewards": [0.0 if c.reward is None else c.reward for c in paid],
        "scores": [completion.score or 0.0 for completion in paid],
        "extra_logs": logs,
        "reasons": [completion.reason for completion in paid],
    }
