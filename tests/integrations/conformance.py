"""The thousand texts through one tool's own code, beside the core: `python tests/integrations/conformance.py TOOL`.

Run by tests/integrations/run.py in an environment that holds the tool and sozo's wheel. The last line is JSON.
"""

import asyncio
import hashlib
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[1]))
from integrations.stubs import stand_in
from integrations.texts import ASKED, cases
from sozo.rewards import make_dat_reward
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Answer

SETTINGS = {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}
FREE = {**SETTINGS, "penalise_duplicates": False}
VERL_STUBS = (
    *("ray", "tensordict", "torch", "omegaconf", "transformers"),
    *("aiohttp", "codetiming", "orjson", "torch_npu", "psutil"),
)
OPENRLHF_STUBS = ("sympy", "pylatexenc", "torch", "transformers", "aiohttp")


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


def verl(drawn):
    """`load_reward_manager` and `NaiveRewardManager.run_single`."""
    stand_in(*VERL_STUBS)
    from verl.trainer.ppo.reward import load_reward_manager

    class Settings(SimpleNamespace):
        def get(self, name, default=None):
            return getattr(self, name, default)

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
            yield extra["dat"], extra["reason"] or None, result["reward_score"]

    async def collect():
        return [result async for result in run()]

    return asyncio.run(collect())


def openrlhf(drawn):
    """`SingleTurnAgentExecutor.execute`, with an engine that has written the text."""
    stand_in(*OPENRLHF_STUBS)
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    class Tokenizer:
        def __call__(self, text, add_special_tokens, return_tensors):
            import numpy as np

            return {"input_ids": np.array([list(map(ord, text))])}

        def decode(self, ids, skip_special_tokens):
            return "".join(map(chr, ids))

    class Engine:
        async def generate(self, ids, params, multi_modal_data):
            written = list(map(ord, self.text))
            return SimpleNamespace(
                outputs=[
                    SimpleNamespace(
                        token_ids=written, finish_reason="stop", logprobs=None
                    )
                ]
            )

    async def run(executor):
        engine, params = Engine(), SimpleNamespace(max_tokens=1, logprobs=None)
        for case in drawn:
            engine.text = case.query.removeprefix(case.prompt)
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


def verifiers(drawn):
    """`load_taskset`, and `Task.score` of a trace with one reply."""
    import verifiers.v1 as vf
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask
    from verifiers.v1.utils.loaders import taskset_class

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "my_dat.py").write_text(
            'from sozo.rewards.integrations.verifiers import SozoTaskset\n\n__all__ = ["SozoTaskset"]\n',
            "utf-8",
        )
        sys.path.insert(0, folder)
        kind = taskset_class("my-dat")
    config = kind.__orig_bases__[0].__args__[1](
        id="my-dat", task={"name": "dat", "settings": FREE}
    )
    (task,) = kind(config)
    assert task.data.prompt == ASKED

    async def score(text):
        reply = MessageNode(message=vf.AssistantMessage(content=text), sampled=True)
        traced = TraceTask(type="SozoTask", data=task.data)
        trace = vf.Trace(
            task=traced, agent=AgentInfo(config=vf.AgentConfig()), nodes=[reply]
        )
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


def main(tool):
    """Exit status 1 where a number or a reason differs."""
    drawn = cases()
    expected = core(drawn)
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
            {**report, "different": len(wrong), "digest": digest, "stand_ins": stubs}
        )
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
