"""`sozo run` loads a model once for all its tasks, closes it before the next one, and keeps a failure to its task."""

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from model_folders import LLM
from run_files import bytes_of, config_of
from sentences import says
from sozo.data.errors import UserError
from sozo.data.run_folder import unlock
from sozo.eval.cli import make_app
from sozo.models import generators, transformers_model, vllm_engine
from sozo.tasks.task import Task
from toy_task import Lipogram, score

TASKS = ("toy_task.Lipogram", "test_one_engine.Pangram")


class Pangram(Lipogram):
    """Longer answers at another temperature."""

    name, max_new_tokens, temperature = "pangram", 9, 0.5


class Refusing(Task):
    """What a user can mend, found when the first answers are scored."""

    name, measures, items = "refusing", Lipogram.measures, Lipogram.items

    def score(self, items, answers):
        raise UserError("no answer has a form; teach the model one first")


class Broken(Refusing):
    name = "broken"

    def score(self, items, answers):
        return [score(answer.words) for answer in answers]


@pytest.fixture
def models(model_folder, tmp_path):
    return [shutil.copytree(model_folder, tmp_path / name) for name in ("one", "two")]


@pytest.fixture
def loads(monkeypatch):
    """The names of the models that were loaded, in order."""
    names, original = [], transformers_model.load_model
    monkeypatch.setattr(
        transformers_model,
        "load_model",
        lambda name, **how: names.append(name) or original(name, **how),
    )
    return names


def sozo(monkeypatch, *words, tasks=TASKS):
    monkeypatch.setenv("SOZO_TASKS", ",".join(tasks))
    return CliRunner().invoke(make_app(), [*map(str, words)])


def run(monkeypatch, tmp_path, models, *benchmarks, tasks=TASKS, more=()):
    words = [
        "run",
        *(word for model in models for word in ("--model", model)),
        "--output",
        tmp_path / "out",
    ]
    words += [word for name in benchmarks for word in ("--tasks", name)]
    return sozo(monkeypatch, *words, *more, tasks=tasks)


def finished(folder):
    return sorted(
        str(path.parent.relative_to(folder)) for path in folder.rglob("metrics.json")
    )


def test_a_model_is_loaded_once_and_answers_as_it_would_alone(
    models, loads, tmp_path, monkeypatch
):
    done = run(monkeypatch, tmp_path, models, "lipogram", "pangram")
    assert done.exit_code == 0, done.output
    assert loads == [str(model) for model in models]
    assert finished(tmp_path / "out") == [
        "one/lipogram",
        "one/pangram",
        "two/lipogram",
        "two/pangram",
    ]
    words = ("run", "--tasks", "pangram", "--model", models[0])
    done = sozo(monkeypatch, *words, "--output", tmp_path / "alone")
    assert done.exit_code == 0, done.output
    mine, alone = (tmp_path / name / "one" / "pangram" for name in ("out", "alone"))
    assert bytes_of(mine / "answers") == bytes_of(alone / "answers")
    assert config_of(mine)["loaded"] == config_of(alone)["loaded"]
    loads.clear()
    assert run(monkeypatch, tmp_path, models, "lipogram", "pangram").exit_code == 0
    assert not loads  # all is there


def test_an_engine_starts_once_and_is_shut_down_before_the_next(
    models,
    vllm,
    tmp_path,
    monkeypatch,
):
    events = []
    start = LLM.__init__

    def recording(self, model, **options):
        events.append(f"start {model[-3:]}")
        start(self, model, **options)
        core = self.llm_engine = type("", (), {})()
        core.engine_core = core
        core.shutdown = lambda: events.append(f"stop {model[-3:]}")

    monkeypatch.setattr(LLM, "__init__", recording)
    done = run(
        monkeypatch, tmp_path, models, "lipogram", "pangram", more=("--backend", "vllm")
    )
    assert done.exit_code == 0, done.output
    assert events == ["start one", "stop one", "start two", "stop two"]
    # Each task has its own length and temperature of the engine.
    asked = [(params.max_tokens, params.temperature) for _, params, _ in LLM.made.calls]
    assert asked == [(32, 1.0), (9, 0.5)]
    # A window for the longest prompt and answer; a task that needs a longer one starts it anew.
    window = LLM.made.arguments["max_model_len"]
    assert 32 < window < 128
    more = ("--backend", "vllm", "--max-new-tokens", "40")
    events.clear()
    out = tmp_path / "more"
    assert run(monkeypatch, out, models[:1], "lipogram", more=more).exit_code == 0
    assert LLM.made.arguments["max_model_len"] == window + 8


def test_an_engine_is_shut_down_where_a_task_fails(models, vllm, tmp_path, monkeypatch):
    stopped = []
    monkeypatch.setattr(
        vllm_engine.VllmEngine, "close", lambda self: stopped.append(self)
    )
    more = {"tasks": ("test_one_engine.Broken",), "more": ("--backend", "vllm")}
    assert run(monkeypatch, tmp_path, models[:1], "broken", **more).exit_code == 1
    assert len(stopped) == 1


@pytest.mark.parametrize("kind", [Refusing, Broken])
def test_a_failure_costs_the_others_nothing(kind, models, loads, tmp_path, monkeypatch):
    tasks = (*TASKS, f"test_one_engine.{kind.__name__}")
    order = ("lipogram", kind.name, "pangram")
    done = run(monkeypatch, tmp_path, models, *order, tasks=tasks)
    assert finished(tmp_path / "out") == [
        "one/lipogram",
        "one/pangram",
        "two/lipogram",
        "two/pangram",
    ]
    *before, last = done.stderr.splitlines()
    assert done.exit_code == 2
    assert says(f"run: some failed, {kind.name}", last)
    said = [line for line in before if line.startswith("error: ")]
    if kind is Broken:
        assert not said
        assert (
            done.stderr.count(
                "AttributeError: 'Answer' object has no attribute 'words'"
            )
            == 2
        )
    else:
        assert [line.split(": ")[1] for line in said] == [
            f"one/{kind.name}",
            f"two/{kind.name}",
        ]
        assert len(loads) == 2
    assert len(re.findall("^lipogram", done.stdout, re.MULTILINE)) == 2
    assert len(re.findall("^pangram", done.stdout, re.MULTILINE)) == 2
    # Mended, the same command does what is missing, and nothing else.
    for name in ("one", "two"):
        unlock(tmp_path / "out" / name / kind.name)
    monkeypatch.setattr(kind, "score", Lipogram.score)
    done = run(monkeypatch, tmp_path, models, *order, tasks=tasks)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("finished before") == 4
    assert len(finished(tmp_path / "out")) == 6


def test_a_model_that_does_not_load_costs_the_next_one_nothing(
    models, loads, tmp_path, monkeypatch
):
    (models[0] / "model.safetensors").write_bytes(b"torn")
    done = run(monkeypatch, tmp_path, models, "lipogram", "pangram")
    assert done.exit_code == 2
    assert finished(tmp_path / "out") == ["two/lipogram", "two/pangram"]
    assert says("run: a torn model", done.stderr.splitlines()[-1])


def test_one_task_of_one_model_fails_in_one_line_as_ever(models, tmp_path, monkeypatch):
    done = run(
        monkeypatch,
        tmp_path,
        models[:1],
        "refusing",
        tasks=("test_one_engine.Refusing",),
    )
    assert done.exit_code == 2
    assert says("run: the task's own refusal", done.stderr)


def test_several_processes_end_together(models, tmp_path, monkeypatch):
    # One that went on would wait for others that did not fail.
    monkeypatch.setattr("sozo.eval.run.world_size", lambda: 2)
    tasks = (*TASKS, "test_one_engine.Refusing")
    done = run(monkeypatch, tmp_path, models, "refusing", "lipogram", tasks=tasks)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert not finished(tmp_path / "out")


def test_a_judge_on_this_machine_has_the_machine_for_itself(
    models, tmp_path, monkeypatch
):
    """Who writes is closed before the judge is loaded, which is loaded once for all that it judges."""
    judge, events = shutil.copytree(models[0], tmp_path / "judge"), []
    load, close = transformers_model.load_model, generators.Loaded.close

    def loading(name, **how):
        events.append(f"load {Path(name).name}")
        return load(name, **how)

    def closing(self):
        events.append("close")
        close(self)

    monkeypatch.setattr(transformers_model, "load_model", loading)
    monkeypatch.setattr(generators.Loaded, "close", closing)
    more = (
        "--trial",
        "--max-new-tokens",
        4,
        "--judge-backend",
        "transformers",
        "--judge-model",
        judge,
    )
    more += ("--judge-max-tokens", 4)
    done = run(
        monkeypatch, tmp_path, models, "jcq", "lipogram", tasks=TASKS[:1], more=more
    )
    assert done.exit_code == 0, done.output
    of_one, of_two = (
        ["load " + name, "close", "load judge", "close"] for name in ("one", "two")
    )
    assert events == [*of_one, *of_two, "close"]
    assert finished(tmp_path / "out") == [
        "one/jcq",
        "one/lipogram",
        "two/jcq",
        "two/lipogram",
    ]


@pytest.mark.suite
def test_where_no_benchmark_is_named_hivemind_is_left_out(monkeypatch, tmp_path):
    chosen = []

    def choose(name):
        chosen.append(name)
        return lambda settings: None

    def enough(*_):
        raise UserError("enough")

    monkeypatch.setenv("SOZO_TASKS", TASKS[0])
    monkeypatch.setattr("sozo.eval.cli.task_type", choose)
    monkeypatch.setattr("sozo.eval.cli._run", enough)
    CliRunner().invoke(
        make_app(), ["run", "--model", "tiny", "--output", str(tmp_path / "out")]
    )
    named = ["dat", "jcq", "sat", "general", "pbig", "sentences", "sipen"]
    assert chosen == [*named, Lipogram.name]
