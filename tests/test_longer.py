"""A training that goes on for longer: the same as one that long at once, or refused with what would be another."""

import json
from types import SimpleNamespace

import pytest
from safetensors.torch import load_file

from grpo_runs import history, recipe, run
from sozo.data.errors import UserError
from sozo.training.longer import more_steps, refuse_other_steps

REWARD = """
def short(completions, topic, **kwargs):
    return [len(t) - len(c[0]["content"]) / 100 for c, t in zip(completions, topic)]
"""


def asked(*, max_steps=6, num_train_epochs=1.0, kind="constant", **other):
    return SimpleNamespace(
        max_steps=max_steps,
        num_train_epochs=num_train_epochs,
        lr_scheduler_type=kind,
        **{
            "lr_scheduler_kwargs": None,
            "warmup_steps": 0,
            "gradient_accumulation_steps": 1,
        }
        | other,
    )


def folder(tmp_path, done=4, total=4, **lengths):
    """What a run of so many steps left, as far as is read of it."""
    lengths = {"max_steps": total, "num_train_epochs": 1.0} | lengths
    settings = {"training": {"seed": 0} | lengths}
    record = {"settings": settings, "free": {"training": {}}}
    (tmp_path / "run_config.json").write_text(json.dumps(record))
    checkpoint = tmp_path / f"checkpoint-{done}"
    for place in (tmp_path, checkpoint):
        place.mkdir(exist_ok=True)
        state = {"global_step": done, "max_steps": total}
        (place / "trainer_state.json").write_text(json.dumps(state))
    return tmp_path, checkpoint


@pytest.mark.parametrize(
    ("recorded", "now", "said"),
    [
        ({}, {"max_steps": 4}, None),
        ({}, {"max_steps": 6}, "max_steps 6 after 4"),
        # Epochs decide nothing where steps are given.
        ({}, {"max_steps": 4, "num_train_epochs": 9}, None),
        ({"max_steps": -1}, {"max_steps": -1}, None),
        (
            {"max_steps": -1},
            {"max_steps": -1, "num_train_epochs": 2.0},
            "num_train_epochs 2 after 1",
        ),
        ({"max_steps": -1}, {"max_steps": 4}, None),
        ({"max_steps": -1}, {"max_steps": 6}, "max_steps 6 after 4"),
    ],
)
def test_what_is_longer(recorded, now, said, tmp_path):
    output, _ = folder(tmp_path, **recorded)
    assert more_steps(output, asked(**now)) == said
    assert more_steps(tmp_path / "new", asked(**now)) is None


@pytest.mark.parametrize("now", [{"max_steps": 3}, {"max_steps": -1}])
def test_a_run_does_not_become_shorter(now, tmp_path):
    output, _ = folder(tmp_path)
    with pytest.raises(
        UserError, match=r"a run with max_steps 4, but now .* 4 or more"
    ):
        more_steps(output, asked(**now))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"kind": "constant"}, None),
        ({"kind": "constant_with_warmup", "warmup_steps": 2}, None),
        ({"kind": "inverse_sqrt"}, None),
        ({"kind": "linear"}, "linear lays the learning rate out over all 4 steps"),
        ({"kind": "cosine"}, "cosine lays the learning rate out"),
        ({"warmup_steps": 0.1}, "warmup_steps 0.1 is a share of all steps"),
        (
            {"steps_per_generation": 3},
            "its last step, 4, is 1 behind the beginning of a generation",
        ),
        (
            {
                "kind": "warmup_stable_decay",
                "lr_scheduler_kwargs": {"num_decay_steps": 1},
            },
            "its learning rate came down from step 3 on",
        ),
        (
            {
                "kind": "warmup_stable_decay",
                "lr_scheduler_kwargs": {"num_decay_steps": 0},
            },
            None,
        ),
    ],
)
def test_the_schedule_decides_what_can_be_longer(settings, why, tmp_path):
    output, checkpoint = folder(tmp_path)
    training = asked(**settings)
    if why is None:
        refuse_other_steps(output, training, checkpoint, finished=True)
        return
    with pytest.raises(UserError, match=f"cannot be lengthened: .*{why}"):
        refuse_other_steps(output, training, checkpoint, finished=True)


def test_a_finished_run_without_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no checkpoint left .* --model_name_or_path"):
        refuse_other_steps(tmp_path, asked(), None, finished=True)
    # One that was cut off before its first checkpoint begins anew.
    refuse_other_steps(tmp_path, asked(kind="linear"), None, finished=False)


def test_a_lengthened_run_is_one_that_was_long_at_once(mini, tmp_path):
    """Its prompts are a data set's, whose columns a reward of one's own is given."""
    (tmp_path / "mine_reward.py").write_text(REWARD)
    (tmp_path / "topics").mkdir()
    rows = [{"prompt": "犬", "topic": "dog"}, {"prompt": "猫", "topic": "a cat"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "topics" / "train.jsonl").write_text(lines)
    tasks = [{"prompts": "hub:topics", "reward_funcs": ["mine_reward.short"]}]
    settings = {
        "model_name_or_path": mini,
        "tasks": tasks,
        "lr_scheduler_type": "constant_with_warmup",
        "report_to": "none",
        "save_steps": 2,
    }

    def train(output, steps):
        command = recipe(output_dir=output, max_steps=steps, **settings)
        done = run(command, tmp_path)
        assert done.returncode == 0, done.stderr
        return done

    long, grown = tmp_path / "long", tmp_path / "grown"
    train("long", 4)
    train("grown", 2)
    done = train("grown", 4)
    assert "grown: max_steps 4 after 2, with the learning rates of" in done.stdout
    assert "continued from checkpoint-2, step 2/4\n" in done.stdout
    assert history(grown) == history(long)
    one, other = (load_file(place / "model.safetensors") for place in (grown, long))
    assert all(one[name].equal(other[name]) for name in other)
    record = json.loads((grown / "run_config.json").read_text())
    assert record["free"]["training"]["max_steps"] == 4
    assert len(record["hub"]["topics"]) == 16
    assert "more steps (max_steps)" in train("grown", 4).stderr
