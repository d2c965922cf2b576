"""An answer that stands in two folders is trained once: ways to name one table twice, and what only looks alike."""

import os
import shutil

import pytest

from answer_tables import table
from sentences import refused
from sozo.training.selection import select_pairs, select_top

pytestmark = pytest.mark.usefixtures("lipogram")


def copies(folder):
    """Ways to name one table twice or thrice; its parts lie in FOLDER/answers."""
    parts, link, copy = (
        folder / "answers",
        folder.with_name("link"),
        folder.with_name("copy"),
    )
    link.symlink_to(folder)
    shutil.copytree(folder, copy)
    files = sorted(parts.glob("*.parquet"))
    return {
        "thrice": [folder, os.path.relpath(folder), f"{folder}/"],
        "over the parent": [folder, f"{folder}/../{folder.name}"],
        "a link and its copy": [link, copy],
        "a part": [folder, files[0]],
        "parts twice": [parts, *files],
    }


WAYS = ("thrice", "over the parent", "a link and its copy", "a part", "parts twice")


@pytest.fixture
def once(tmp_path):
    table(tmp_path / "run" / "answers")
    return tmp_path / "run"


@pytest.mark.parametrize("way", WAYS)
def test_sft_s_answers_are_there_once(way, once):
    alone = select_top(once, 4)
    folders = copies(once)[way]
    for order in (folders, folders[::-1]):
        top = select_top(order, 4)
        assert (top.ids, top.texts) == (alone.ids, alone.texts)
        assert top.facts() == alone.facts()
    with refused("selection: eight answers, not nine"):
        select_top(folders, 9)


@pytest.mark.parametrize(
    ("rule", "way"),
    [("paper", "a link and its copy"), ("usable", "a part"), ("usable", "parts twice")],
)
def test_dpo_s_pairs_are_those_of_one_folder(rule, way, once):
    alone = select_pairs(once, 2, seed=0, rule=rule)
    folders = copies(once)[way]
    pairs = select_pairs(folders, 2, seed=0, rule=rule)
    assert [side.facts() for side in pairs] == [side.facts() for side in alone]


def test_what_was_drawn_twice_stays_twice(tmp_path):
    """One text under two ids: the model wrote it twice, and that it did is what is learned."""
    same = table(
        tmp_path / "same",
        {"a": 0.9, "b": 0.9, "c": 0.1},
        parts=1,
        text=["1. 犬", "1. 犬", "2"],
    )
    assert select_top(same, 2).texts == ["1. 犬", "1. 犬"]
    other = table(
        tmp_path / "other", {"d": 0.9, "e": 0.2}, parts=1, text=["1. 犬", "3"]
    )
    top = select_top([same, other], 3)
    assert (top.ids, top.texts, top.of) == (["a", "b", "d"], ["1. 犬"] * 3, 5)
