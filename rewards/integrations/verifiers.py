"""verifiers 0.4: a module that imports `SozoTaskset` and says so in `__all__` is a taskset (docs/integrations.md)."""

from collections.abc import Iterable
from typing import Any

import verifiers.v1 as vf
from pydantic import Field
from verifiers.v1.envs.best_of_n import BestOfNEnv

from sozo.rewards.integrations.core import Integration, open_integration
from sozo.rewards.reward import ScoredCompletion

__all__ = ["SozoGroup", "SozoTaskset"]
ALONE = "name SozoGroup beside SozoTaskset in __all__, and say by --env.n how many answers are a group"


class SozoConfig(vf.TaskConfig):
    """Which task, and its settings and those of its reward: `--env.taskset.task.name sat`."""

    name: str = "dat"
    settings: dict[str, Any] = Field(default_factory=dict)


class SozoTask(vf.Task[vf.TaskData, vf.State, SozoConfig]):
    """One item, paid by the task's reward; the reason of an unusable answer is `info["reason"]` of its trace."""

    @vf.reward(weight=1.0)
    async def sozo(self, trace: vf.Trace) -> float:
        """The task's reward of the last reply; its measure, `usable` and `duplicate` are metrics."""
        integration = open_integration(self.config.name, **self.config.settings)
        (paid,) = integration.pay(
            [trace.last_reply], [self.data.name], [self.data.prompt], remedy=ALONE
        )
        return _recorded(integration, trace, paid)


def _recorded(
    integration: Integration, trace: vf.Trace, paid: ScoredCompletion
) -> float:
    """The reward of a trace, which is given the rest."""
    values = {} if paid.score is None else {integration.name: paid.score}
    trace.record_metrics({**values, "usable": len(values), "duplicate": paid.duplicate})
    trace.info["reason"] = paid.reason
    return float(paid.reward or 0.0)


class SozoTasksetConfig(vf.TasksetConfig):
    """How often each item is asked: `--env.taskset.copies 64`."""

    task: SozoConfig = SozoConfig()
    copies: int = 1


class SozoTaskset(vf.Taskset[SozoTask, SozoTasksetConfig]):
    """The items of a task. Those of SAT are its benchmark: to train, give stories of your own (`settings.stories`)."""

    def load(self) -> Iterable[SozoTask]:
        config = self.config.task
        for item in open_integration(config.name, **config.settings).items.values():
            for _ in range(self.config.copies):
                yield SozoTask(vf.TaskData(name=item.id, prompt=item.prompt), config)


class SozoGroup(BestOfNEnv):
    """An episode of `--env.n` answers to one prompt, which are paid as a group when the last one is there.

    In prime-rl the group of its algorithm holds `group_size` such episodes: with `group_size = 1` both are one.
    """

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """As in best-of-n; no answer is paid alone."""
        await super().run(task.defer_scoring(), agents)

    async def finalize(self, task: vf.Task, episode: vf.Episode) -> None:
        """Reward, metrics and reason of each answer."""
        integration = open_integration(task.config.name, **task.config.settings)
        traces = episode.traces
        asked = [task.data.name] * len(traces)
        prompts = [task.data.prompt] * len(traces)
        paid = integration.pay(
            [trace.last_reply for trace in traces],
            asked,
            prompts,
            groups=[0] * len(traces),
            group_size=self.config.n,
        )
        for trace, one in zip(traces, paid, strict=True):
            trace.record_reward("sozo", _recorded(integration, trace, one))
