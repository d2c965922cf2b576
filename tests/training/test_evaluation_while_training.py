"""A run that is evaluated as it trains: values, and a training that notices nothing of it."""

import pytest
import torch

from fakes import list_text
from grpo_runs import recipe, run
from scripted_grpo import scripted
from sentences import refused
from sozo.data.evaluations import read_evaluations, write_evaluations
from sozo.models import processes
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Row
from sozo.training.evaluation import Evaluation, evaluated, read_evaluate
from sozo.training.grpo_trainer import MixTrainer

TOY = {
    "every": 2,
    "tasks": ["lipogram"],
    "num_answers": 70,
    "max_new_tokens": 6,
}
LISTS = [
    list_text("犬猫水山川本車空海石"),
    list_text("犬猫水山川本車空海花"),
    list_text("犬猫水山川本車空海木"),
    "x",
]


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")


DAT = {"every": 5, "tasks": ["dat"]}


@pytest.mark.parametrize(
    ("row", "given"),
    [
        ("never", DAT | {"every": 0}),
        ("no tasks", DAT | {"tasks": []}),
        ("no interval", {"evry": 5}),
        ("an unknown key", DAT | {"tasks": [{"task": "dat", "noun_chekker": "x"}]}),
        ("a judge's task", DAT | {"tasks": ["jcq"]}),
        ("one task twice", DAT | {"tasks": ["dat", "dat"]}),
        ("no JSON", "{"),
        ("a list", [1]),
    ],
)
def test_what_cannot_be_is_refused_first(row, given):
    with refused(f"evaluate: {row}"):
        read_evaluate(given)


def test_an_evaluation_is_means_and_what_lists_show_together():
    task = Dat(DatSettings(noun_checker="jumandic"))
    rows = [Row({"dat": 0.5, "dat/usable": 1.0}, None, {"words": ("a", "b")})]
    rows += [Row({"dat": 0.7, "dat/usable": 1.0}, None, {"words": ("b", "c")})]
    rows += [Row({"dat/usable": 0.0}, "format", {"words": None})] * 2
    values = {"dat": pytest.approx(0.6), "dat/usable": 0.5, "dat/different_words": 3.0}
    assert evaluated(task, rows) == values
    none = {"dat/usable": 0.0, "dat/different_words": 0.0}
    assert evaluated(task, rows[2:]) == none


def test_a_missing_juman_is_found_before_a_model_is_loaded_and_not_by_a_plan(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", "/nowhere")
    settings = read_evaluate(
        {"every": 1, "tasks": [{"task": "dat", "noun_checker": "jumanpp"}]}
    )
    with refused("evaluate: no Juman++"):
        Evaluation(settings, tmp_path)


def train(folder, evaluate=None, **settings):
    """The trainer behind four steps of a model of one layer."""
    trainer = scripted(
        folder, LISTS, rewards=[pay], kind=MixTrainer, max_steps=4, **settings
    )
    if evaluate:
        evaluation = Evaluation(read_evaluate(evaluate), folder)
        evaluation.trainer = trainer
        trainer.add_callback(evaluation)
    trainer.train()
    return trainer


def pay(completions, **kwargs):
    return [float(len(str(text)) % 3) for text in completions]


def test_training_does_not_notice(toy, tmp_path, monkeypatch):
    plain, trainer = train(tmp_path / "plain"), train(tmp_path / "run", TOY)
    for (name, weight), other in zip(
        plain.model.state_dict().items(),
        trainer.model.state_dict().values(),
        strict=True,
    ):
        assert torch.equal(weight, other), name
    losses = [
        [entry["loss"] for entry in t.state.log_history if "loss" in entry]
        for t in (plain, trainer)
    ]
    assert losses[0] == losses[1]

    known = read_evaluations(tmp_path / "run")
    assert list(known) == [0, 2, 4]
    assert all(
        {"lipogram", "lipogram/words", "lipogram/usable"} == set(values)
        for values in known.values()
    )
    logged = {
        entry["step"]: entry
        for entry in trainer.state.log_history
        if "eval_lipogram" in entry
    }
    assert {step: entry["eval_lipogram/words"] for step, entry in logged.items()} == {
        step: values["lipogram/words"] for step, values in known.items()
    }

    # What has a line is not done again.
    write_evaluations(tmp_path / "again", known)
    monkeypatch.setattr(Evaluation, "_drawn", lambda self: pytest.fail("drawn again"))
    again = train(tmp_path / "again", TOY)
    assert sum("eval_lipogram" in entry for entry in again.state.log_history) == 3


def test_memory_that_is_kept_stays_kept(monkeypatch):
    calls = []
    monkeypatch.setattr(
        processes, "_mallopt", lambda **settings: calls.append(settings)
    )
    monkeypatch.setattr(processes, "_kept", False)
    with processes.freed_memory_kept():
        pass
    assert len(calls) == 2
    processes.keep_freed_memory()
    with processes.freed_memory_kept():
        pass
    assert len(calls) == 3


@pytest.mark.slow
@pytest.mark.parametrize("launch", ["cpu2_ddp.yaml", "cpu2_zero3.yaml"])
def test_two_processes_find_what_one_finds(launch, tmp_path):
    dat = {"task": "dat", "noun_checker": "jumandic"}
    evaluate = {"every": 2, "tasks": [dat], "num_answers": 130, "max_new_tokens": 24}
    common = {
        "output_dir": "out",
        "max_steps": 2,
        "report_to": "none",
        "save_strategy": "no",
        "evaluate": evaluate,
    }
    values = {}
    for name, options in {
        "one": {},
        "two": {"launch": launch, "per_device_train_batch_size": 4},
    }.items():
        (tmp_path / name).mkdir()
        done = run(recipe(**common | options), tmp_path / name)
        assert done.returncode == 0, done.stderr
        values[name] = read_evaluations(tmp_path / name / "out")
    assert list(values["one"]) == list(values["two"]) == [0, 2]
    assert values["one"][0] == pytest.approx(values["two"][0])
