"""A training that goes on for longer: the same as one that long at once, or refused with what would be another."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from transformers import SchedulerType

from grpo_runs import history, recipe, recorded, run, same_weights
from sentences import refused
from sozo.training.longer import lengthened

REWARD = """
def short(completions, topic, **kwargs):
    return [len(t) - len(c[0]["content"]) / 100 for c, t in zip(completions, topic)]
"""


def asked(*, kind="constant", **settings):
    known = {
        "max_steps": 6,
        "lr_scheduler_type": SchedulerType(kind),
        "lr_scheduler_kwargs": None,
        "warmup_steps": 0,
        "gradient_accumulation_steps": 1,
    }
    return SimpleNamespace(**known | settings)


@pytest.fixture
def checkpoint(tmp_path):
    """The end of a run of four steps, as far as is read of it."""
    folder = tmp_path / "checkpoint-4"
    folder.mkdir()
    state = {"global_step": 4, "max_steps": 4}
    (folder / "trainer_state.json").write_text(json.dumps(state))
    return folder


def test_more_steps_are_said_and_fewer_are_refused(checkpoint, tmp_path):
    for same in (4, -1):  # without steps it is epochs, which may not change
        assert lengthened(tmp_path, asked(max_steps=same), checkpoint) is None
    said = lengthened(tmp_path, asked(), checkpoint)
    assert said.startswith("max_steps 6 after 4, with the learning rates of a run")
    with refused("longer: fewer steps"):
        lengthened(tmp_path, asked(max_steps=3), checkpoint)
    with refused("longer: no checkpoint"):
        lengthened(tmp_path, asked(), None)


STABLE = {"kind": "warmup_stable_decay", "lr_scheduler_kwargs": {"num_decay_steps": 1}}


@pytest.mark.parametrize(
    ("settings", "row"),
    [
        ({"kind": "constant_with_warmup", "warmup_steps": 2}, None),
        ({"kind": "inverse_sqrt"}, None),
        ({"kind": "linear"}, "linear"),
        ({"kind": "cosine"}, "cosine"),
        ({"warmup_steps": 0.1}, "a share of all steps"),
        ({"steps_per_generation": 3}, "within a generation"),
        (STABLE, "decayed"),
        (STABLE | {"lr_scheduler_kwargs": {"num_decay_steps": 0}}, None),
    ],
)
def test_the_schedule_decides_what_can_be_longer(settings, row, checkpoint, tmp_path):
    with refused(f"longer: {row}") if row else nullcontext():
        assert lengthened(tmp_path, asked(**settings), checkpoint)


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
    assert same_weights(grown, long)
    record = recorded(grown)
    assert record["free"]["training"]["max_steps"] == 2  # as it was begun
    assert len(record["hub"]["topics"]) == 16
