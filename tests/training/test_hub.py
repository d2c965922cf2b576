"""Prompts from a data set of the hub: a folder of data files stands for one, which `datasets` reads by the same code."""

import json

import pytest

from sentences import refused
from sozo.training.entries import read_entries
from sozo.training.hub import HubPrompts


def entry(prompts):
    (only,) = read_entries([{"prompts": prompts, "reward_funcs": ["mine.short"]}])
    return only


def data(folder, *rows, split="train"):
    folder.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{split}.jsonl").write_text(lines)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)


def test_rows_are_items_as_those_of_a_file(tmp_path):
    rows = {"prompt": "犬", "topic": "a"}, {"prompt": "猫", "topic": "b"}
    data(tmp_path / "ours", *rows)
    file = entry("ours/train.jsonl")
    assert entry("hub:ours").items == file.items
    assert entry("hub:ours:train[:1]").items == file.items[:1]


def test_a_prompt_may_be_a_message_of_the_user(tmp_path):
    user = {"role": "user", "content": "犬"}
    data(tmp_path / "chat", {"prompt": [user]})
    data(tmp_path / "system", {"prompt": [{"role": "system", "content": "s"}, user]})
    assert [item.prompt for item in entry("hub:chat").items] == ["犬"]
    with refused("hub: a prompt of several messages"):
        _ = entry("hub:system").items


@pytest.mark.parametrize(
    "name", ["hub:", "hub:a@b@c", "hub:other", "hub:other:test", "hub:org/none"]
)
def test_what_cannot_be_had_is_one_line(name, tmp_path):
    data(tmp_path / "other", {"question": "?"})
    with refused(f"hub: {name}"):
        _ = entry(name).items


def test_files_that_cannot_be_read_are_said_with_the_cause(tmp_path):
    data(tmp_path / "broken")
    (tmp_path / "broken" / "train.jsonl").write_text('{"prompt": "a"}\n{\n')
    with refused("hub: a broken file"):
        _ = entry("hub:broken").items
    data(tmp_path / "empty")
    with refused("hub: an empty file"):
        _ = entry("hub:empty").items


@pytest.mark.parametrize("name", ["prompts", "item", "self"])
def test_a_column_does_not_take_the_place_of_what_rewards_are_handed(name, tmp_path):
    data(tmp_path / "taken", {"prompt": "a", name: "b"})
    with refused(f"hub: a column {name}"):
        _ = entry("hub:taken").items


def test_too_many_rows_are_refused_with_a_part_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("sozo.training.hub._MOST", 2)
    data(tmp_path / "many", *({"prompt": str(n)} for n in range(3)))
    with refused("hub: too many rows"):
        _ = entry("hub:many").items
    assert len(entry("hub:many:train[:2]").items) == 2


def test_a_name_may_have_a_configuration_a_revision_and_a_split(tmp_path):
    assert HubPrompts.named("hub:org/name") == HubPrompts("org/name")
    whole = HubPrompts("org/name", "main", "abc", "test")
    assert HubPrompts.named("hub:org/name/main@abc:test") == whole
    (tmp_path / "a/b/c").mkdir(parents=True)
    assert HubPrompts.named("hub:a/b/c") == HubPrompts("a/b/c")
