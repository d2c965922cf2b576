"""Answers to many prompts: each item's own, in order, resumed and shared without a difference."""

import pytest
from eval.answers import Answer, Item, answer_items, read_answers

from data.processes import Processes
from data.schema import write_columns
from generate import Completion

ITEMS = [Item("a#1", "一"), Item("b", "二"), Item("c", "三")]


class Echo:
    """Answers with the prompt, its place, seed and batch; fails when told to."""

    name, temperature = "echo", 1.0

    def __init__(self, fails_at=None):
        self.fails_at, self.asked = fails_at, []

    def answer(self, prompts, seed, batch):
        if batch == self.fails_at:
            raise OSError("the server is gone")
        self.asked.append(batch)
        return [Completion(f"{p} {seed} {batch} {k}", "stop") for k, p in enumerate(prompts)]


def test_every_item_gets_its_answers_in_order(tmp_path):
    answer_items(Echo(), ITEMS, tmp_path, num_answers=2, seed=7, batch_size=4)
    assert read_answers(tmp_path) == [
        Answer("a#1", 0, "一 7 0 0", "stop"),
        Answer("a#1", 1, "一 7 0 1", "stop"),
        Answer("b", 0, "二 7 0 2", "stop"),
        Answer("b", 1, "二 7 0 3", "stop"),
        Answer("c", 0, "三 7 1 0", "stop"),
        Answer("c", 1, "三 7 1 1", "stop"),
    ]


def test_a_run_that_failed_goes_on_and_processes_share(tmp_path):
    settings = {"num_answers": 2, "seed": 0, "batch_size": 2}
    answer_items(Echo(), ITEMS, tmp_path / "whole", **settings)
    with pytest.raises(OSError, match="gone"):
        answer_items(Echo(fails_at=1), ITEMS, tmp_path / "cut", **settings)
    again = Echo()
    answer_items(again, ITEMS, tmp_path / "cut", **settings)
    assert again.asked == [1, 2]
    for rank in (1, 0):
        answer_items(Echo(), ITEMS, tmp_path / "two", processes=Processes(rank, 2), **settings)
    assert read_answers(tmp_path / "cut") == read_answers(tmp_path / "two") == read_answers(tmp_path / "whole")


def test_what_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="comes twice"):
        answer_items(Echo(), [Item("a", ""), Item("a", "")], tmp_path, num_answers=1, seed=0, batch_size=1)
    with pytest.raises(ValueError, match="cannot make 0"):
        answer_items(Echo(), ITEMS, tmp_path, num_answers=0, seed=0, batch_size=1)
    write_columns(tmp_path / "part-00000.parquet", {"id": ["00000000"], "text": ["1. 犬"]})
    with pytest.raises(ValueError, match="no answer's"):
        read_answers(tmp_path)
