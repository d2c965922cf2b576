"""A run that is evaluated as it trains: values, floors, and a training that notices nothing of it."""

import logging

import numpy as np
import pytest
import torch

from fakes import list_text
from grpo_runs import recipe, run
from scripted_grpo import scripted
from sentences import refused
from sozo.data.evaluations import read_evaluations, write_evaluations
from sozo.models import processes
from sozo.tasks.task import Row
from sozo.training.evaluation import Evaluation, Floor, FloorWatch, read_evaluate
from sozo.training.grpo_trainer import MixTrainer

TOY = {
    "every": 2,
    "tasks": [{"task": "lipogram", "num_answers": 70}],
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
        ("a floor without a number", DAT | {"floors": [{"measure": "dat"}]}),
        (
            "a floor that does nothing",
            DAT | {"floors": [{"measure": "a", "least": 1, "action": "x"}]},
        ),
        ("no JSON", "{"),
        ("a list", [1]),
    ],
)
def test_what_cannot_be_is_refused_first(row, given):
    with refused(f"evaluate: {row}"):
        read_evaluate(given)


def test_an_evaluation_is_means_and_what_lists_show_together():
    settings = read_evaluate(
        {"every": 1, "tasks": [{"task": "dat", "noun_checker": "jumandic"}]}
    )
    (evaluated,) = settings.evaluated
    rows = [Row({"dat": 0.5, "dat/usable": 1.0}, None, {"words": ("a", "b")})]
    rows += [Row({"dat": 0.7, "dat/usable": 1.0}, None, {"words": ("b", "c")})]
    rows += [Row({"dat/usable": 0.0}, "format", {"words": None})] * 2
    values = {"dat": pytest.approx(0.6), "dat/usable": 0.5, "dat/different_words": 3.0}
    assert settings.values(evaluated.task, rows) == values
    assert settings.values(evaluated.task, rows[2:]) == {
        "dat/usable": 0.0,
        "dat/different_words": 0.0,
    }

    class TwiceAsFar:
        def for_language(self, language):
            return self

        def scores(self, lists):
            return np.array([2.0 * len(words) for words in lists])

    together = evaluated.task.together(rows, TwiceAsFar())
    assert together == {"dat/different_words": 3.0, "dat/second_encoder": 4.0}


def test_a_floor_is_said_once_until_it_holds_again(caplog):
    floors = [
        Floor(measure="a", least=0.5),
        Floor(measure="b", most=2.0, action="stop"),
    ]
    watch = FloorWatch([*floors, Floor(measure="never", least=0)], say=True)
    with caplog.at_level(logging.WARNING):
        stops = [
            watch.stop(logs, k)
            for k, logs in enumerate(
                [{"a": 0.4}, {"a": 0.1}, {"a": 0.5}, {"a": 0.4, "b": 2}]
            )
        ]
        assert stops == [None] * 4
        assert watch.stop({"b": 2.5, "a": "x"}, 4) == "step 4: b is 2.5, above 2"
        watch.finish()
    assert [record.getMessage() for record in caplog.records] == [
        "step 0: a is 0.4, below 0.5",
        "step 3: a is 0.4, below 0.5",
        "step 4: b is 2.5, above 2; training stops",
        "floor of never: nothing of this name was logged",
    ]
    assert FloorWatch([Floor(measure="a", least=0.5, action="stop")], say=False).stop(
        {"a": float("nan")}, 1
    )


def test_a_missing_juman_is_found_before_a_model_is_loaded_and_not_by_a_plan(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", "/nowhere")
    settings = read_evaluate(
        {"every": 1, "tasks": [{"task": "dat", "noun_checker": "jumanpp"}]}
    )
    with refused("evaluate: no Juman++"):
        Evaluation(settings, tmp_path, first=True)


def train(folder, evaluate=None, **settings):
    """Four steps of a model of one layer; the trainer, and the evaluation."""
    trainer = scripted(
        folder, LISTS, rewards=[pay], kind=MixTrainer, max_steps=4, **settings
    )
    evaluation = None
    if evaluate:
        evaluation = Evaluation(read_evaluate(evaluate), folder, first=True)
        evaluation.trainer = trainer
        trainer.add_callback(evaluation)
    trainer.train()
    return trainer, evaluation


def pay(completions, **kwargs):
    return [float(len(str(text)) % 3) for text in completions]


def test_training_does_not_notice(toy, tmp_path, monkeypatch):
    plain, _ = train(tmp_path / "plain")
    trainer, _ = train(tmp_path / "run", TOY)
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
    monkeypatch.setattr(Evaluation, "_values", lambda self: pytest.fail("drawn again"))
    again, _ = train(tmp_path / "again", TOY)
    assert sum("eval_lipogram" in entry for entry in again.state.log_history) == 3


def test_what_an_evaluation_has_to_say_it_says_once(toy, tmp_path, capfd):
    train(tmp_path, TOY | {"every": 1, "max_new_tokens": 64})
    assert len(read_evaluations(tmp_path)) == 5
    assert capfd.readouterr().err.count("its window of 64 tokens has room for") == 1


def test_a_floor_stops_the_run(toy, tmp_path):
    floors = [{"measure": "lipogram/usable", "most": -1, "action": "warn"}]
    trainer, evaluation = train(tmp_path / "warned", TOY | {"floors": floors})
    assert (trainer.state.global_step, evaluation.stopped) == (4, None)
    floors = [{"measure": "loss", "least": 1e9, "action": "stop"}]
    trainer, evaluation = train(tmp_path / "stopped", TOY | {"floors": floors})
    assert trainer.state.global_step == 1
    assert evaluation.stopped.startswith("step 1: loss is ")


def test_an_evaluation_of_dat_tells_the_pairing():
    dat = {"task": "dat", "noun_checker": "jumandic", "embedding_model": "ja-ginza"}
    settings = read_evaluate({"every": 1, "tasks": [dat]})
    task = settings.evaluated[0].task

    def pairing(lists):
        rows = [Row({"dat": 1.0}, None, {"words": tuple(words)}) for words in lists]
        return settings.values(task, rows).get("dat/pairing")

    animals, institutions = ["犬", "猫", "馬"], ["法律", "憲法", "裁判"]
    near = pairing([animals, institutions] * 4)
    mixed = [[*animals[:k], *institutions[k:]] for k in (1, 2)]
    assert (
        near
        < -0.1
        < pairing(
            [
                [words[(k + shift) % 3] for k in range(3)]
                for shift in range(3)
                for words in mixed
            ]
        )
    )
    assert pairing([animals] * 8) == pytest.approx(
        0, abs=1e-6
    )  # a model that says one thing
    assert pairing([animals] * 2) is None


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
    dat = {"task": "dat", "noun_checker": "jumandic", "num_answers": 130}
    evaluate = {"every": 2, "tasks": [dat], "max_new_tokens": 24}
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
