"""A study's arms and seeds: which commands they stand for, what is made once, what is refused."""

import json

import pytest

from sentences import refused
from sozo.data.errors import OtherSettingsError
from sozo.studies.study.config import load_study
from sozo.studies.study.plan import plan_lines
from sozo.studies.study.record import State, start, state
from sozo.studies.study.steps import StudyList, study_steps
from tiny_study import change

ARMS = {
    "random": {"model": "random", "seeds": [0]},
    "base": {},
    "warm": {"sampling": "temperature=1.5", "seeds": [0]},
    "SFT": {"train": "sft", "answers": "random"},
    "SFT 8": {
        "train": "sft",
        "answers": "random",
        "num_training_answers": 8,
        "top_k": 64,
        "seeds": [1],
    },
    "SFT GRPO": {"train": "grpo", "from": "SFT", "learning_rate": 1e-4},
    "cool": {"from": "SFT GRPO", "sampling": "temperature=0.5", "seeds": [1]},
    "DPO": {"train": "dpo", "from": "SFT", "answers": "SFT", "seeds": [0]},
}


@pytest.fixture
def arms(study):
    change(study / "recipes" / "reproduce.yaml", seeds=[0, 1], arms=ARMS)
    return study


def load(folder, **changes):
    change(folder / "recipes" / "reproduce.yaml", **changes)
    return load_study(folder / "recipes" / "reproduce.yaml", "o")


def test_steps_by_hand(arms):
    steps = {step.name: step for step in study_steps(load(arms))}
    assert {name: step.after for name, step in steps.items()} == {
        "random": (),
        "base": (),
        "warm": (),
        "random-32": (),
        "sft": ("random-32",),
        "sft-sample": ("sft",),
        "sft-grpo": ("sft",),
        "sft-grpo-sample": ("sft-grpo",),
        "sft-32": ("sft",),
        "dpo": ("sft", "sft-32"),
        "dpo-sample": ("dpo",),
        "base@1": (),
        # Random nouns have seed 0 alone: both seeds train on the same lists.
        "sft@1": ("random-32",),
        "sft-sample@1": ("sft@1",),
        "random-8": (),
        "sft8@1": ("random-8",),
        "sft8-sample@1": ("sft8@1",),
        "sft-grpo@1": ("sft@1",),
        "sft-grpo-sample@1": ("sft-grpo@1",),
        "cool@1": ("sft-grpo@1",),
    }
    drawn = {
        name: (s.flags["num_answers"], s.flags["seed"])
        for name, s in steps.items()
        if not s.trains
    }
    assert drawn.pop("random-32") == (32, 1000)
    assert drawn.pop("sft-32") == (
        32,
        2000,
    )  # from a model that was trained on what came from seed 1000
    assert drawn.pop("random-8") == (8, 1000)
    assert {name: count for name, (count, _) in drawn.items()} == dict.fromkeys(
        drawn, 16
    )
    assert {seed for name, (_, seed) in drawn.items() if "@1" in name} == {1}
    assert {
        name: s.flags["seed"] for name, s in steps.items() if s.trains and "@1" in name
    } == {
        "sft@1": 1,
        "sft8@1": 1,
        "sft-grpo@1": 1,
    }


def test_an_arm_says_over_the_study_what_it_says(arms):
    steps = {step.name: step for step in study_steps(load(arms))}
    assert (steps["warm"].flags["sampling"], steps["warm"].flags["model"]) == (
        "temperature=1.5",
        "tiny",
    )
    assert (steps["cool@1"].flags["sampling"], steps["cool@1"].flags["model"]) == (
        "temperature=0.5",
        "o/sft-grpo@1",
    )
    assert "sampling" not in steps["base"].flags
    assert (
        steps["sft-grpo"].flags["learning_rate"],
        steps["sft-grpo"].flags["run_name"],
    ) == (
        1e-4,
        "recipes-sft-grpo",
    )
    assert steps["sft"].flags["top_k"] == 64
    assert steps["random"].flags["nouns"] == "tiny"
    assert "dtype" not in steps["random"].flags
    rows = StudyList(load(arms)).rows
    assert list(rows)[:4] == ["random", "base", "warm", "SFT"]
    assert (rows["SFT GRPO@1"].model, str(rows["SFT GRPO@1"].answers)) == (
        "o/sft-grpo@1",
        "o/sft-grpo-sample@1",
    )
    assert (rows["random"].model, rows["cool@1"].model) == (None, "o/sft-grpo@1")


def test_answers_to_another_task_stand_beside_an_arm_s_lists(
    arms, tmp_path, monkeypatch
):
    monkeypatch.chdir(arms)
    folder = tmp_path / "stories"
    own = {"train": "sft", "answers": "random", "beside": {str(folder): 8}}
    loaded = load(arms, arms={"random": {"model": "random"}, "a": own})
    step = next(step for step in study_steps(loaded) if step.name == "a")
    words = step.words([])
    assert words[words.index("--beside") + 1] == json.dumps({str(folder): 8})
    folder.mkdir()
    (folder / "metrics.json").write_text("{}", "utf-8")
    assert state(step) == State.WAITS
    # What stands there decides what the step makes.
    (arms / "o" / "random-32").mkdir(parents=True)
    (arms / "o" / "random-32" / "metrics.json").write_text("{}", "utf-8")
    assert state(step) == State.NEW
    start(step)
    (arms / "o" / "a").mkdir()
    assert state(step) == State.CUT_OFF
    (folder / "metrics.json").write_text("{} ", "utf-8")
    with refused("arms: answers beside have changed", OtherSettingsError):
        state(step)


def test_a_dry_run_counts_with_what_an_arm_says(arms):
    own = load(
        arms,
        arms={
            "a": {},
            "b": {"train": "grpo", "num_prompts": 40, "learning_rate": 2e-3},
        },
    )
    (lines,) = [plan_lines(own, step) for step in study_steps(own) if step.name == "b"]
    assert "640 completions / 64 a step = 10 optimizer steps" in lines[0]
    assert "learning rate 0.002" in lines[0]


@pytest.mark.parametrize(
    ("wrong", "row"),
    [
        ({"a": {"train": "ppo"}}, "arms: no such method"),
        ({"a": {"train": "sft"}}, "arms: sft without answers"),
        ({"a": {"answers": "a"}}, "arms: answers of itself"),
        ({"base": {}, "a": {"from": "bas"}}, "arms: from no arm"),
        ({"a": {"sampling": ["temprature=1"]}}, "arms: unknown way to draw"),
        ({"a": {"sampling": [0.7]}}, "arms: sampling a number"),
        ({"a": {"num_answers": 1}}, "arms: setting of the study"),
        ({"a": {"config": "grpo.yaml"}}, "arms: config without train"),
        (
            {"r": {}, "a": {"from": "r", "model": "tiny"}},
            "arms: from another and a model",
        ),
        ({"a": {"seeds": [3]}}, "arms: seed that is none of the study's"),
        ({"a": {"train": "grpo", "sampling": [""]}}, "arms: sampling empty"),
        ({"a/b": {}}, "arms: name no folder"),
        (
            {"r": {}, "a": {"train": "sft", "answers": "r", "beside": ["runs/own"]}},
            "arms: beside a list",
        ),
        ([], "arms: none"),
    ],
)
def test_what_cannot_be_is_refused(arms, wrong, row):
    with refused(row):
        load(arms, arms=wrong)


def test_what_a_steps_own_command_refuses_is_refused_before_any_begins(arms):
    def refuses(row, **arm):
        loaded = load(arms, arms={"a": arm})
        with refused(row):
            for step in study_steps(loaded):
                plan_lines(loaded, step)

    refuses("arms: unknown setting of a training", train="grpo", lerning_rate=1)
    refuses("arms: temperature", temperature=1)
    refuses("arms: unknown setting of sampling", dtyp="float32")
    refuses("arms: config that is not there", train="grpo", config="none.yaml")
    two = {"a b": {}, "a-b": {"sampling": "temperature=2"}}
    with refused("arms: two of one folder"):
        study_steps(load(arms, arms=two))
    with refused("arms: seeds no list"):
        load(arms, seeds=0)


def test_an_arm_with_several_samplings_has_a_row_for_each(arms):
    """They draw with the arm's own model and flags, from what it was trained to be."""
    asked = ["temperature=0.5,min_p=0.1", "best-of=4"]
    made = load(
        arms,
        arms={
            "base": {"dtype": "float32", "sampling": asked},
            "GRPO": {"train": "grpo", "sampling": ["top_p=0.9"]},
        },
    )
    assert [arm.name for arm in made.rows] == [
        "base",
        "base temperature=0.5,min_p=0.1",
        "base best-of=4",
        "GRPO",
        "GRPO top_p=0.9",
    ]
    steps = {step.name: step for step in study_steps(made)}
    hot = steps["base-temperature-0.5-min_p-0.1"]
    assert hot.flags["sampling"] == "temperature=0.5,min_p=0.1"
    assert hot.flags["dtype"] == "float32"
    trained = steps["grpo-top_p-0.9"]
    assert trained.flags["model"] == str(steps["grpo"].folder)
    assert trained.after == ("grpo",)
