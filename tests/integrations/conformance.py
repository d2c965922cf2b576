"""The thousand texts through one tool's own code, beside the core: `python tests/integrations/conformance.py TOOL`.

And a thousand groups, in tools that can hand over one, beside the reward as TRL calls it.

Run by tests/integrations/run.py in an environment that holds the tool and sozo's wheel. The last line is JSON.
"""

import asyncio
import hashlib
import json
import math
import os
import random
import sys
import tempfile
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
from stubs import stand_in
from texts import ASKED, cases, grouped

from sozo.rewards import make_dat_reward, make_diverse_reward
from sozo.rewards.integrations.core import Integration
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Answer

SETTINGS = {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}
FREE = {**SETTINGS, "penalise_duplicates": False}
DIVERSE = {
    "quality": "sozo.rewards.make_dat_reward",
    "quality_args": FREE,
    "alike": "ngram",
    "how": "divide",
}
GROUPS = {"reward": "sozo.rewards.make_diverse_reward", "reward_args": DIVERSE}
VERL_STUBS = (
    *("ray", "tensordict", "torch", "omegaconf", "transformers"),
    *("aiohttp", "codetiming", "orjson", "torch_npu", "psutil"),
)
OPENRLHF_STUBS = (
    "sympy",
    "pylatexenc",
    "torch",
    "transformers",
    "aiohttp",
    "ray",
    "vllm",
)


def core(drawn):
    """Score, reason and reward of each bare answer, by task and reward themselves."""
    task = Dat(Dat.Settings(**SETTINGS))
    rows = task.score(
        [task.items()[0]] * len(drawn),
        [Answer(str(k), "", c.answer) for k, c in enumerate(drawn)],
    )
    paid = make_dat_reward(**FREE)(completions=[case.answer for case in drawn])
    return [
        (row.values.get("dat"), row.reason, reward)
        for row, reward in zip(rows, paid, strict=True)
    ]


class Settings(SimpleNamespace):
    """As verl reads a configuration."""

    def get(self, name, default=None):
        return getattr(self, name, default)


def verl(drawn):
    """`load_reward_manager` and `NaiveRewardManager.run_single`."""
    stand_in(*VERL_STUBS)
    from verl.trainer.ppo.reward import load_reward_manager

    function = {"path": "pkg://sozo.rewards.integrations.verl", "name": "compute_score"}
    function["reward_kwargs"] = {"task": "dat", **FREE}
    manager = Settings(source="register", name="naive")
    reward = Settings(custom_reward_function=function, reward_manager=manager)

    class Ids(list):  # of one text: its characters
        shape = property(lambda self: (len(self),))

        def __getitem__(self, key):
            return (
                Ids(super().__getitem__(key))
                if isinstance(key, slice)
                else super().__getitem__(key)
            )

        def sum(self):
            return sum(self)

    tokenizer = SimpleNamespace(
        decode=lambda ids, skip_special_tokens: "".join(map(chr, ids))
    )

    async def run():
        manager = load_reward_manager(Settings(reward=reward), tokenizer)
        for case in drawn:
            ids = Ids(map(ord, case.output))
            fields = {
                "data_source": "dat",
                "reward_model": {"ground_truth": ""},
                "extra_info": {"index": 0},
            }
            batch = {"responses": ids, "attention_mask": Ids([1] * len(ids))}
            result = await manager.run_single(
                [SimpleNamespace(batch=batch, non_tensor_batch=fields)]
            )
            extra = result["reward_extra_info"]
            score = None if math.isnan(extra["dat"]) else extra["dat"]
            yield score, extra["reason"] or None, result["reward_score"]

    async def collect():
        return [result async for result in run()]

    return asyncio.run(collect())


def verl_groups(groups):
    """`get_custom_reward_fn`, and `BatchRewardManager.verify` of all groups in one batch, shuffled as by their lengths."""
    stand_in(*VERL_STUBS)
    from verl.trainer.ppo.reward import get_custom_reward_fn
    from verl.workers.reward_manager.batch import BatchRewardManager

    path, name = "pkg://sozo.rewards.integrations.verl", "compute_scores"
    function = {"path": path, "name": name, "reward_kwargs": {"task": "dat", **GROUPS}}
    reward = Settings(custom_reward_function=function)

    class Mask:
        def __getitem__(self, places):
            return self

        def sum(self, dim):
            return [len(case.output) for _, case in rows]

    class Batch(list):
        batch = property(lambda self: {**tensors, "attention_mask": Mask()})
        non_tensor_batch = property(lambda self: columns)

    rows = [(number, case) for number, group in enumerate(groups) for case in group]
    rows.sort(key=lambda row: len(row[1].output))
    tensors = {
        "prompts": SimpleNamespace(shape=(len(rows), 1)),
        "responses": [case.output + "<pad>" for _, case in rows],
    }
    columns = {
        "data_source": ["dat"] * len(rows),
        "extra_info": [{"index": number} for number, _ in rows],
    }
    truth = SimpleNamespace(
        non_tensor_batch={"reward_model": {"ground_truth": ""}},
    )
    tokenizer = SimpleNamespace(decode=lambda text, skip_special_tokens: text)
    manager = BatchRewardManager(
        tokenizer, 0, get_custom_reward_fn(Settings(reward=reward))
    )
    told = manager.verify(Batch([truth] * len(rows)))
    paid = [{} for _ in groups]
    for (number, case), one in zip(rows, told, strict=True):
        paid[number][case.output] = one["score"]
    return [
        [by_text[case.output] for case in group]
        for by_text, group in zip(paid, groups, strict=True)
    ]


class Tokenizer:
    """Of which each character is a token, as OpenRLHF calls one."""

    def __call__(self, text, add_special_tokens, return_tensors):
        import numpy as np

        return {"input_ids": np.array([list(map(ord, text))])}

    def decode(self, ids, skip_special_tokens):
        return "".join(map(chr, ids))


class Engine:
    """Has written the texts, one for each call."""

    def __init__(self, texts):
        self.texts = iter(texts)

    async def generate(self, ids, params, multi_modal_data):
        written = list(map(ord, next(self.texts)))
        await asyncio.sleep(len(written) % 3 / 1e4)  # they end in another order
        one = SimpleNamespace(token_ids=written, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[one])


def openrlhf(drawn):
    """`SingleTurnAgentExecutor.execute`, with an engine that has written the text."""
    stand_in(*OPENRLHF_STUBS)
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    async def run(executor):
        params = SimpleNamespace(max_tokens=1, logprobs=None)
        engine = Engine(case.query.removeprefix(case.prompt) for case in drawn)
        for case in drawn:
            output = await executor.execute(
                case.prompt, "", params, 1 << 20, Tokenizer(), engine
            )
            ((reward,), (score,)), logs = (
                (output["reward"], output["scores"]),
                output["extra_logs"],
            )
            yield score if logs["usable"] == [1.0] else None, reward

    async def collect():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "reward.py"
            source = "from sozo.rewards.integrations.openrlhf import make_reward_func\n"
            file.write_text(
                f"{source}reward_func = make_reward_func('dat', **{FREE})\n", "utf-8"
            )
            executor = SingleTurnAgentExecutor(str(file))
            results = [result async for result in run(executor)]
            # It logs no texts: the reasons are those of the function that it called.
            reasons = [
                executor.reward_func([case.query], [case.prompt], [""])["reasons"][0]
                for case in drawn
            ]
        return [
            (score, reason, reward)
            for (score, reward), reason in zip(results, reasons, strict=True)
        ]

    return asyncio.run(collect())


def openrlhf_groups(groups):
    """`_load_agent_executor`, and `RolloutRayActor.generate_responses` of several prompts at once."""
    stand_in(*OPENRLHF_STUBS)
    from openrlhf.trainer.ray.vllm_engine import RolloutRayActor, _load_agent_executor

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agent.py"
        source = "from sozo.rewards.integrations.openrlhf import make_agent_executor\n"
        call = f"make_agent_executor('dat', **{GROUPS})"
        file.write_text(f"{source}AgentExecutor = {call}\n", "utf-8")
        executor = _load_agent_executor(str(file))

    async def one(group, texts=None):
        engine = RolloutRayActor.__new__(RolloutRayActor)
        engine.executor = executor
        texts = texts or [case.output for case in group]
        engine.generate = Engine(texts).generate
        params = SimpleNamespace(max_tokens=1, logprobs=None)
        outputs = await engine.generate_responses(
            ASKED, "", params, 1 << 20, Tokenizer(), num_samples=len(group)
        )
        return [reward for output in outputs for reward in output["reward"]]

    async def run():
        paid = []
        # Of four only three are written: nobody waits for the fourth.
        cut = asyncio.gather(one(groups[0], ["犬"] * 3), return_exceptions=True)
        (error,) = await asyncio.wait_for(cut, 60)
        assert "StopIteration" in str(error)
        assert executor._begun == {}
        for start in range(0, len(groups), 50):
            part = groups[start : start + 50]
            paid += await asyncio.gather(*map(one, part))
        return paid

    return asyncio.run(run())


def my_module(name, *classes):
    """A user's module that names some of ours can be imported."""
    folder = tempfile.mkdtemp()
    line = f"from sozo.rewards.integrations.verifiers import {', '.join(classes)}"
    file = Path(folder) / f"{name}.py"
    file.write_text(f"{line}\n\n__all__ = {list(classes)}\n", "utf-8")
    sys.path.insert(0, folder)


def trace_of(task, text):
    """A trace with one reply."""
    import verifiers.v1 as vf
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask

    reply = MessageNode(message=vf.AssistantMessage(content=text), sampled=True)
    traced = TraceTask(type="SozoTask", data=task.data)
    agent = AgentInfo(config=vf.AgentConfig())
    return vf.Trace(task=traced, agent=agent, nodes=[reply])


def verifiers_groups(groups):
    """`load_environment` and `Env.run_episode`, with an agent that has written the texts."""
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    my_module("my_groups", "SozoTaskset", "SozoGroup")
    task = {"name": "dat", "settings": GROUPS}
    taskset = {"id": "my-groups", "task": task, "copies": len(groups)}
    env = load_environment(
        resolve_env_config({"taskset": taskset, "n": len(groups[0])})
    )

    async def episode(task, group):
        texts = iter(case.output for case in group)

        def agents(ctx, completed, *hooks):
            async def run(given):
                trace = trace_of(given, next(texts))
                await asyncio.sleep(len(trace.last_reply) % 3 / 1e4)
                await given.score(trace)
                completed.append(trace)

            return SimpleNamespace(agent=SimpleNamespace(run=run))

        env._episode_agents = agents
        done = await env.run_episode(task, None)
        assert not done.errors, done.errors
        paid = {}
        for trace in done.traces:
            assert trace.rewards.keys() == {"sozo"}
            paid[trace.last_reply] = trace.reward
        return [paid[case.output.strip()] for case in group]

    async def run():
        tasks = list(env.taskset.load())
        return [await episode(*pair) for pair in zip(tasks, groups, strict=True)]

    return asyncio.run(run())


def verifiers(drawn):
    """`load_taskset`, and `Task.score` of a trace with one reply."""
    from verifiers.v1.utils.loaders import taskset_class

    my_module("my_dat", "SozoTaskset")
    kind = taskset_class("my-dat")
    config = kind.__orig_bases__[0].__args__[1](
        id="my-dat", task={"name": "dat", "settings": FREE}
    )
    (task,) = kind(config)
    assert task.data.prompt == ASKED

    async def score(text):
        trace = trace_of(task, text)
        await task.score(trace)
        return trace.metrics.get("dat"), trace.info["reason"], trace.reward

    return [asyncio.run(score(case.output)) for case in drawn]


def inspect_ai(drawn):
    """`inspect_ai.eval` of `sozo/creativity` by its mock model."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    outputs = [ModelOutput.from_content("mockllm/model", case.output) for case in drawn]
    for output in outputs:
        output.usage = ModelUsage()
    with tempfile.TemporaryDirectory() as folder:
        (log,) = evaluate(
            "sozo/creativity",
            model=get_model("mockllm/model", custom_outputs=outputs),
            task_args={"name": "dat", "copies": len(drawn), **SETTINGS},
            max_connections=1,
            max_samples=1,
            log_dir=folder,
            display="none",
        )
        assert log.status == "success", log.error
        results = []
        for sample in log.samples:
            (score,) = sample.scores.values()
            scored = score.value == score.value
            results.append((score.value if scored else None, score.reason, None))
            assert scored == (score.reason is None)
        mean = log.results.scores[0].metrics["mean"].value
        values = [score for score, _, _ in results if score is not None]
        assert abs(mean - sum(values) / len(values)) < 1e-12, (
            "unscored samples count in the mean"
        )
        return results


def inspect_ai_epochs():
    """Samples of which the epochs, as a group, have another value than the core's; and how many there are."""
    os.environ["SOZO_TASKS"] = "group_task.Crowd"
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    draw = random.Random(3)
    texts = [draw.choice("0123456789x") for _ in range(3000)]
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    for output in outputs:
        output.usage = ModelUsage()
    with tempfile.TemporaryDirectory() as folder:
        (log,) = evaluate(
            "sozo/creativity",
            model=get_model("mockllm/model", custom_outputs=outputs),
            task_args={"name": "crowd"},
            log_dir=folder,
            display="none",
        )
        assert log.status == "success", log.error
        samples, (reductions,) = log.samples, log.reductions  # read from the file
    said = defaultdict(list)
    for sample in samples:
        item = sample.metadata["item"]
        said[sample.id].append((sample.epoch, sample.output.completion, item))
    assert "epochs_together" in reductions.reducer
    values = []
    wrong = []
    for reduced in reductions.samples:
        rows = Integration("crowd").measure(
            [text for _, text, _ in sorted(said[reduced.sample_id])],
            [item for _, _, item in said[reduced.sample_id]],
            together=True,
        )
        known = [row.values["crowd"] for row in rows if row.values]
        value = reduced.value if reduced.value == reduced.value else None
        if value != (fmean(known) if known else None):
            wrong.append((reduced, rows))
        values += [value] if known else []
    mean = log.results.scores[0].metrics["mean"].value
    assert abs(mean - fmean(values)) < 1e-12
    assert 900 < len(values) < len(reductions.samples)
    return wrong, len(reductions.samples)


def lm_eval(drawn):
    """`simple_evaluate` of the YAML by its dummy model, which is made to say the texts."""
    from lm_eval import simple_evaluate
    from lm_eval.models.dummy import DummyLM
    from lm_eval.tasks import TaskManager

    import sozo.rewards.integrations

    class Texts(DummyLM):
        def generate_until(self, requests, disable_tqdm=False):
            return [case.output for case, _ in zip(drawn, requests, strict=True)]

    packaged = Path(sozo.rewards.integrations.__path__[0]) / "sozo_dat.yaml"
    settings = json.dumps({"name": "dat", "copies": len(drawn), "settings": SETTINGS})
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "mine.yaml"
        own.write_text(
            f"include: {packaged}\ntask: mine\ndataset_kwargs: {settings}\n", "utf-8"
        )
        manager = TaskManager(include_path=folder)
        results = simple_evaluate(
            Texts(), tasks=["mine"], task_manager=manager, log_samples=True
        )
    print(dict(results["results"]["mine"]))
    return [
        (row.get("dat"), row["reason"] or None, None)
        for row in results["samples"]["mine"]
    ]


def flexeval(drawn):
    """`evaluate_from_data` with the metric."""
    from flexeval import evaluate_from_data

    from sozo.rewards.integrations.flexeval import Creativity

    rows = [
        {"lm_output": case.output, "references": [], "extra_info": {}} for case in drawn
    ]
    _, details = evaluate_from_data(rows, metrics=[Creativity("dat", SETTINGS)])
    return [(detail.get("dat"), detail["reason"], None) for detail in details]


def by_trl(groups):
    """What the reward pays each, called as TRL does."""
    reward = make_diverse_reward(**DIVERSE)
    return [
        reward(
            prompts=[ASKED] * len(group), completions=[case.answer for case in group]
        )
        for group in groups
    ]


def main(tool):
    """Exit status 1 where a number or a reason differs."""
    drawn, groups = cases(), grouped()
    expected, by_group = core(drawn), by_trl(groups)
    results = {
        f.__name__: f
        for f in (verl, openrlhf, verifiers, inspect_ai, lm_eval, flexeval)
    }[tool](drawn)
    wrong = []
    for k, ((score, reason, reward), by_core) in enumerate(
        zip(results, expected, strict=True)
    ):
        same = (score, reason) == by_core[:2] and reward in (None, by_core[2])
        if not same or (reward is None and tool in ("verl", "openrlhf", "verifiers")):
            wrong.append(k)
    for k in wrong[:5]:
        print(k, results[k], expected[k], drawn[k])
    shown = {"verl": verl_groups, "openrlhf": openrlhf_groups}
    shown["verifiers"] = verifiers_groups
    wrong_groups, count = [], 0
    if tool in shown:
        pairs = list(zip(shown[tool](groups), by_group, strict=True))
        wrong_groups, count = [one for one in pairs if one[0] != one[1]], len(pairs)
    elif tool == "inspect_ai":
        wrong_groups, count = inspect_ai_epochs()
    print(wrong_groups[:5])
    name = {"lm_eval": "lm-eval", "inspect_ai": "inspect-ai"}.get(tool, tool)
    digest = hashlib.sha256(json.dumps([r[:2] for r in results]).encode()).hexdigest()[
        :12
    ]
    stubs = {"verl": VERL_STUBS, "openrlhf": OPENRLHF_STUBS}.get(tool, ())
    report = {
        "tool": name,
        "version": version(name),
        "python": sys.version.split()[0],
        "texts": len(drawn),
    }
    print(
        json.dumps(
            {
                **report,
                "different": len(wrong) + len(wrong_groups),
                "groups": count,
                "digest": digest,
                "stand_ins": stubs,
            }
        )
    )
    return bool(wrong or wrong_groups)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
