"""A mix of tasks: what is asked, who is paid by whom, and which completions come together in a micro-batch."""

import json

import pytest

from fakes import AXES, FakeNouns, axis_encoder, list_text
from mixes import batches, rows_of
from sentences import refused
from sozo.data.prompts import messages
from sozo.rewards.dat import DatReward
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.sat.stories import load_stories
from sozo.training.entries import Entry, read_entries
from sozo.training.grpo_trainer import by_prompt
from sozo.training.mix import dataset_rows, described, reward_functions, reward_weights

STORY = "鶴を助けた若者の家に、美しい娘が来て機を織った。"


@pytest.fixture
def entries(tmp_path, monkeypatch):
    """DAT twice, two toy items, and a file of prompts with a reward of its own and a column of two types."""
    monkeypatch.setenv("SOZO_TASKS", "toy_task.Lipogram")
    lines = [{"prompt": "犬", "weight": 2.0}, {"prompt": "猫", "weight": "3"}]
    (tmp_path / "mine.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), "utf-8"
    )
    monkeypatch.setattr("toy_task.TOPICS", ("rain", "bread"))
    tasks = [
        {"task": "dat", "num_prompts": 2, "noun_checker": "jumandic"},
        {"task": "lipogram", "measure": "lipogram/words"},
        {
            "prompts": str(tmp_path / "mine.jsonl"),
            "reward_funcs": ["test_mix.weighed"],
            "num_prompts": 3,
        },
    ]
    return read_entries(tasks)


def weighed(completions, weight, item, log_extra=None, **kwargs):
    """A user's reward that knows nothing of mixes, and is at a loss without completions."""
    assert completions
    if log_extra:
        log_extra("weight", weight)
    return [float(w) * len(text) for w, text in zip(weight, completions, strict=True)]


def test_the_items_are_asked_in_turn(entries):
    rows = dataset_rows(entries, conversational=False)
    assert [row["asked"] for row in rows] == [0, 0, 1, 2, 3, 4, 3]
    assert rows[4] == {"prompt": "犬\n", "asked": 3}
    assert dataset_rows(entries, conversational=True)[4]["prompt"] == messages("犬")
    assert [entry.count for entry in entries] == [2, 2, 3]


def test_a_completion_of_another_task_gets_no_number(entries):
    dat, toy, mine = reward_functions(entries)
    assert [f.__name__ for f in (dat, toy, mine)] == [
        "dat_reward",
        "lipogram_reward",
        "weighed",
    ]
    dat.reward._build = lambda: DatScorer(FakeNouns(AXES), axis_encoder())
    extra = {}
    asked = {
        "asked": [2, 0, 4, 0, 3],
        "prompts": list("abcde"),
        "log_extra": extra.__setitem__,
        "trainer_state": None,
    }
    texts = ["a dull day", list_text(AXES[:10]), "xx", "x", "yyy"]
    paid = [function(completions=texts, **asked) for function in (dat, toy, mine)]
    assert paid == [
        [None, 10.0, None, 0.0, None],
        [3.0, None, None, None, None],
        [None, None, 6.0, None, 6.0],
    ]
    assert extra["dat_reward/reason"] == [None, None, None, "format", None]
    assert extra["lipogram_reward/score"] == [3.0, None, None, None, None]
    assert extra["weighed/weight"] == [None, None, "3", None, 2.0]


def test_rewards_of_ours_are_called_without_completions_too(entries):
    # They gather over processes, so that one without a completion of theirs must come along.
    _, toy, mine = reward_functions(entries)
    extra = {}
    assert toy(
        completions=["x"], prompts=["犬"], asked=[3], log_extra=extra.__setitem__
    ) == [None]
    assert extra == {
        f"lipogram_reward/{name}": [None] for name in ("score", "reason", "duplicate")
    }
    assert mine(completions=["x"], prompts=["?"], asked=[0]) == [None]


def test_an_async_reward_is_awaited(entries):
    async def later(completions, **kwargs):
        return [1.0] * len(completions)

    entry = Entry(task="lipogram", reward_funcs=["math.pi"])
    entry.__dict__["rewards"] = [later]
    (function,) = reward_functions([entry])
    paid = function(completions=["x", "y"], prompts=["?", "?"], asked=[1, 7])
    assert paid == [1.0, None]


def test_names_are_told_apart(entries):
    names = [
        function.__name__ for function in reward_functions([*entries, *entries[:2]])
    ]
    assert names == [
        "dat_reward",
        "lipogram_reward",
        "weighed",
        "dat_reward_2",
        "lipogram_reward_2",
    ]


def test_a_reward_that_gives_too_few_numbers(entries):
    entries[1].__dict__["rewards"] = [lambda **kwargs: []]
    _, toy, _ = reward_functions(entries)
    with refused("rewards: too few numbers"):
        toy(completions=["x"], prompts=["?"], asked=[1])


def test_weights_stand_beside_their_rewards(entries):
    assert reward_weights(entries) is None
    weighted = read_entries(["dat", {"task": "lipogram", "reward_weights": [0.5]}])
    assert reward_weights(weighted) == [1.0, 0.5]


def test_the_record_identifies_data_and_rewards(entries, tmp_path):
    facts = described(entries)
    names = [task["name"] for task in facts["tasks"]]
    assert names == ["dat", "lipogram", "mine.jsonl"]
    assert facts["rewards"][0]["noun_checker"] == "jumandic"
    assert facts["rewards"][1] == {
        "task": "lipogram",
        "path": "",
        "measure": "lipogram/words",
        "scale": 1.0,
        "offset": 0.0,
        "penalise_duplicates": False,
    }
    assert facts["rewards"][2] == {"task": "mine.jsonl", "path": "test_mix.weighed"}
    digest = facts["tasks"][2]["sha256"]
    (tmp_path / "mine.jsonl").write_text(
        '{"prompt": "犬", "weight": 1}\n{"prompt": "猿"}\n', "utf-8"
    )
    entry = Entry(
        prompts=str(tmp_path / "mine.jsonl"), reward_funcs=["test_mix.weighed"]
    )
    assert described([entry])["tasks"][0]["sha256"] != digest


def test_settings_and_options_of_the_tasks_own_reward():
    (entry,) = read_entries(
        [
            {
                "task": "dat",
                "scale": 2.0,
                "language": "en",
                "olson": True,
                "penalise_duplicates": False,
            }
        ]
    )
    (reward,) = entry.rewards
    assert isinstance(reward, DatReward)
    assert (reward.scale, reward.penalise_duplicates, entry.built.settings.olson) == (
        2.0,
        False,
        True,
    )
    (entry,) = read_entries([{"task": "sat", "stories": "my.jsonl", "min_length": 200}])
    assert entry.model_extra == {"stories": "my.jsonl", "min_length": 200}


# What must never be trained on


def test_stories_of_the_users_own(tmp_path):
    def items(*texts):
        lines = [
            json.dumps({"id": str(k), "text": text}) for k, text in enumerate(texts)
        ]
        (tmp_path / "my.jsonl").write_text("\n".join(lines), "utf-8")
        return read_entries([{"task": "sat", "stories": str(tmp_path / "my.jsonl")}])[
            0
        ].items

    (item,) = items(STORY)
    assert (item.id, item.columns) == ("0", {"story": STORY})
    with refused("training: a story of the SAT benchmark"):
        items(STORY, load_stories()[0].text)
    with refused("training: a story of the SAT benchmark"):
        _ = read_entries(["sat"])[0].items


@pytest.mark.parametrize(
    "line", ["", '{"text": "?"}', '{"prompt": "?", "asked": 3}', "[]"]
)
def test_a_file_of_prompts_that_cannot_be_used(line, tmp_path):
    (tmp_path / "mine.jsonl").write_text(line, "utf-8")
    with refused(f"entries: a file with {line or 'nothing'}"):
        _ = Entry(prompts=str(tmp_path / "mine.jsonl"), reward_funcs=["a.b"]).items


# The trainer


def test_one_prompt_is_left_as_it_is():
    alone = batches(*["ab"] * 6, size=2)
    assert rows_of(by_prompt(alone, 3)) == rows_of(alone)
    single = batches("a", "b", size=2)
    assert by_prompt(single, 1) == single
