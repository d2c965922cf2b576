"""An answer that stands in two folders is trained once: ways to name one table twice, and what only looks alike."""

import json
import os
import shutil

import pytest

from answer_tables import table
from sentences import refused
from sozo.eval.run import score_answers
from sozo.training.selection import select_pairs, select_top
from toy_task import Lipogram

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
        "thrice": [folder, os.path.relpath(folder), f"{folder}/../{folder.name}"],
        "a link and its copy": [link, copy],
        "parts twice": [parts, *files],
    }


WAYS = ("thrice", "a link and its copy", "parts twice")


@pytest.fixture
def once(tmp_path):
    table(tmp_path / "run" / "answers")
    return tmp_path / "run"


def told(caplog, capsys):
    return caplog.text + "".join(capsys.readouterr())


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_there_once_and_it_is_said(way, once, caplog, capsys):
    alone, pairs = select_top(once, 4), select_pairs(once, 2, seed=0)
    told(caplog, capsys)
    caplog.clear()
    folders = copies(once)[way]
    for order in (folders, folders[::-1]):
        top = select_top(order, 4)
        assert (top.ids, top.texts) == (alone.ids, alone.texts)
        assert top.facts() == alone.facts()
        assert told(caplog, capsys)
        caplog.clear()
    sides = select_pairs(folders, 2, seed=0)
    assert [side.facts() for side in sides] == [side.facts() for side in pairs]
    with refused("selection: eight answers, not nine"):
        select_top(folders, 9)


def test_a_table_and_its_longer_self(tmp_path):
    """Drawn on in a copy: the copy's first answers are the same ones."""
    first = table(
        tmp_path / "first", {f"{k:04d}": 0.5 + k / 100 for k in range(8)}, parts=1
    )
    longer = table(
        tmp_path / "longer", {f"{k:04d}": 0.5 + k / 100 for k in range(16)}, parts=2
    )
    assert select_top([first, longer], 16).facts() == select_top(longer, 16).facts()


def test_an_answer_that_was_scored_again_is_one_in_every_order(tmp_path):
    one = table(tmp_path / "one", {"a": 0.8, "b": 0.5}, parts=1)
    two = table(tmp_path / "two", {"a": 0.9, "b": 0.5}, parts=1)
    tops = [select_top(folders, 2).facts() for folders in ([one, two], [two, one])]
    assert tops[0] == tops[1]
    assert tops[0]["of"] == 2


def test_a_prompt_does_not_count_double_in_the_shares(tmp_path):
    task = Lipogram()
    items = task.items()[:3]
    file = tmp_path / "a.jsonl"
    lines = [
        json.dumps({"item": item.id, "text": f"{item.id}の{k}"}) + "\n"
        for item in items
        for k in range(4)
    ]
    file.write_text("".join(lines), "utf-8")
    whole = score_answers(task, file, tmp_path / "whole").folder
    file.write_text("".join(lines[:4]), "utf-8")
    of_first = score_answers(task, file, tmp_path / "first").folder
    alone = select_top(whole, 6)
    assert select_top([whole, of_first], 6).facts() == alone.facts()
    assert [alone.prompts.count(item.prompt) for item in items] == [2, 2, 2]


def test_what_was_drawn_twice_stays_twice(tmp_path, caplog, capsys):
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
    assert not told(caplog, capsys)


def test_two_seeds_answers_of_one_id_both_stay(tmp_path, caplog, capsys):
    one = table(tmp_path / "one", {"0": 0.5, "1": 0.5}, parts=1, text=["甲", "乙"])
    two = table(tmp_path / "two", {"0": 0.4, "1": 0.4}, parts=1, text=["丙", "丁"])
    assert select_top([one, two], 4).of == 4
    assert not told(caplog, capsys)
    # Of one id and text they are one.
    three = table(tmp_path / "three", {"0": 0.5, "1": 0.3}, parts=1, text=["甲", "丁"])
    top = select_top([one, three], 3)
    assert (top.texts, top.of) == (["甲", "乙", "丁"], 3)


def test_one_text_and_id_to_two_prompts_are_two_answers(tmp_path):
    task = Lipogram()
    items, folders = [item.id for item in task.items()], []
    for k, item in enumerate(items[:2]):
        file = tmp_path / f"{k}.jsonl"
        file.write_text(
            json.dumps({"id": "0-0", "item": item, "text": "犬"}) + "\n", "utf-8"
        )
        folders.append(score_answers(task, file, tmp_path / str(k)).folder)
    top = select_top(folders, 2)
    assert (top.of, top.num_prompts, top.ids) == (2, 2, ["0-0", "0-0"])
