"""Answers to many items: each item's own, in order, resumed and shared without a difference."""

import pytest

from sozo.data.errors import UserError
from sozo.data.processes import Processes
from sozo.data.schema import Completion, write_columns
from sozo.eval.answered import read_answers
from sozo.eval.draw import SamplingOptions, draw_parts
from sozo.scoring.measure import Measure
from sozo.tasks.task import Item, Row, Task

ITEMS = [Item("a#1", "一"), Item("b", "二"), Item("c", "三")]


class Asks(Task):
    """Three things; an answer is worth its length."""

    name = "asks"
    measures = (Measure("asks"),)

    def items(self):
        return ITEMS

    def score(self, items, answers):
        return [Row({"asks": float(len(answer.text))}) for answer in answers]


class Echo:
    """Answers with the prompt, its place, seed and batch; fails when told to."""

    name, temperature = "echo", 1.0

    def __init__(self, fails_at=None):
        self.fails_at, self.asked = fails_at, []

    def answer(self, prompts, seed, batch):
        if batch == self.fails_at:
            raise UserError("the server is gone")
        self.asked.append(batch)
        return [Completion(f"{p} {seed} {batch} {k}", "stop") for k, p in enumerate(prompts)]


def draw(writer, folder, batch_size, seed=0, processes=None):
    sampling = SamplingOptions(num_answers=2, seed=seed, batch_size=batch_size)
    draw_parts(Asks(), ITEMS, writer, sampling, folder, processes or Processes())


def table(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_item_gets_its_answers_in_order(tmp_path):
    draw(Echo(), tmp_path, 4, seed=7)
    answers = [(a.id, a.item, a.text, a.source, a.seed, a.finish_reason) for a in read_answers(Asks(), tmp_path, None)]
    texts = ["一 7 0 0", "一 7 0 1", "二 7 0 2", "二 7 0 3", "三 7 1 0", "三 7 1 1"]
    ids = ["a#1-0", "a#1-1", "b-0", "b-1", "c-0", "c-1"]
    items = ["a#1", "a#1", "b", "b", "c", "c"]
    assert answers == [(i, item, t, "echo", 7, "stop") for i, item, t in zip(ids, items, texts, strict=True)]


def test_a_run_that_failed_continues_and_processes_share(tmp_path):
    draw(Echo(), tmp_path / "whole", 2)
    with pytest.raises(UserError, match="the server is gone"):
        draw(Echo(fails_at=2), tmp_path / "broken", 2)
    again = Echo()
    draw(again, tmp_path / "broken", 2)
    assert again.asked == [2]
    for rank in range(2):
        draw(Echo(), tmp_path / "shared", 2, processes=Processes(rank, 2))
    assert table(tmp_path / "whole") == table(tmp_path / "broken") == table(tmp_path / "shared")


def test_the_answers_of_another_table_are_refused(tmp_path):
    columns = {"id": ["x-0"], "item": ["x"], "source": ["s"], "text": ["t"]}
    write_columns(tmp_path / "part-00000.parquet", columns)
    with pytest.raises(UserError, match="the answer 'x-0' is to 'x', which asks does not ask"):
        read_answers(Asks(), tmp_path, None)
