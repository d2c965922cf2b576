"""Which answers of a table are trained on, and with whom each is paired: worked out by hand."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from answer_tables import table
from sentences import refused
from sozo.data.prompts import fill, messages, prompt
from sozo.data.schema import ERROR, write_columns
from sozo.scoring.final_text import Ending
from sozo.scoring.measure import Measure
from sozo.tasks import read_run
from sozo.tasks.run_result import RunResult
from sozo.tasks.sat.stories import load_stories
from sozo.training.arguments import SftArguments
from sozo.training.selection import (
    Pairs,
    Selected,
    select_pairs,
    select_top,
    to_stand_beside,
    training_rows,
)


def test_a_table_that_is_too_small(tmp_path):
    folder = table(tmp_path)
    with refused("selection: too few answers"):
        select_top(folder, 9)
    with refused("selection: too few pairs"):
        select_pairs(folder, 5, seed=0)


def test_a_table_that_cannot_be_used(tmp_path):
    with refused("selection: no scores"):
        select_top(table(tmp_path / "unscored", reason=[None] * 4), 1)


def selected(text):
    return Selected(["a"], [prompt("dat")], ["dat"], [text], np.zeros(1), 0, 9)


def test_rows_for_a_chat_model_and_for_a_plain_one():
    assert training_rows({"completion": selected("x")}, conversational=True) == [
        {
            "prompt": messages(prompt("dat")),
            "completion": [{"role": "assistant", "content": "x"}],
        }
    ]
    assert training_rows({"completion": selected("x")}, conversational=False) == [
        {"prompt": prompt("dat") + "\n", "completion": "x"}
    ]
    pairs = Pairs(selected("x"), selected("y"))
    assert training_rows(pairs._asdict(), conversational=False) == [
        {"prompt": prompt("dat") + "\n", "chosen": "x", "rejected": "y"}
    ]
    (row,) = training_rows(pairs._asdict(), conversational=True)
    assert (row["chosen"][0]["content"], row["rejected"][0]["content"]) == ("x", "y")


# Several prompts


class Run(RunResult):
    """A run whose answers are its settings: item -> scores, None for an unusable one."""

    @property
    def answered(self):
        return self.settings

    @property
    def prompts(self):
        return {
            item: f"ask {item.partition('~')[0]}" for item in self.answered
        }  # laws and laws~2 are one prompt

    def table(self):
        rows = [
            (
                f"{item}#{k}",
                item,
                f"{item} {score}",
                score,
                "bad" if score is None else None,
            )
            for item, scores in self.answered.items()
            for k, score in enumerate(scores)
        ]
        columns = dict(
            zip(
                ("id", "item", "text", "score", "reason"),
                map(list, zip(*rows, strict=True)),
                strict=True,
            )
        )
        kinds = {"score": pa.float64(), "reason": pa.string()}
        return pa.table(
            {
                name: pa.array(values, kinds.get(name))
                for name, values in columns.items()
            }
        )


@pytest.fixture
def run(monkeypatch):
    """Makes `read_run` give a run for each path named; others are read from disk."""
    runs = {}

    def make(name, measure="toy", scorer=(), **answered):
        runs[Path(name)] = Run(
            "toy", Measure(measure), Path(name), answered, {"scorer": dict(scorer)}, {}
        )
        return Path(name)

    monkeypatch.setattr(
        "sozo.training.selection.read_run",
        lambda path: runs.get(path) or read_run(path),
    )
    monkeypatch.setattr(
        "sozo.training.selection.is_run", lambda name: Path(name) in runs
    )
    return make


def test_each_prompt_gives_its_share(run):
    folder = run("toy", dogs=[0.1, 0.4, 0.2, 0.3], laws=[9.0, 7.0, None, 8.0])
    top = select_top(folder, 4)
    # Not the four best of all, which answer one prompt.
    assert top.ids == ["dogs#1", "dogs#3", "laws#0", "laws#3"]
    assert top.prompts == ["ask dogs"] * 2 + ["ask laws"] * 2
    assert (top.of, top.facts()["prompts"]) == (8, 2)
    assert top.facts()["prompts"] == 2
    assert training_rows({"completion": top}, conversational=False)[2] == {
        "prompt": "ask laws\n",
        "completion": "laws 9.0",
    }


def test_pairs_answer_the_same_prompt(run):
    folder = run("toy", dogs=[0.1, 0.4, 0.2, 0.3], laws=[9.0, 7.0, None, 8.0])
    pairs = select_pairs(folder, 4, seed=0)
    for good, bad in zip(
        training_rows(pairs._asdict(), conversational=False),
        pairs.rejected.prompts,
        strict=True,
    ):
        assert good["prompt"] == bad + "\n"
    assert sorted(pairs.rejected.ids) == ["dogs#0", "dogs#2", "laws#1", "laws#2"]
    assert pairs.rejected.num_unusable == 1
    even = run("even", dogs=[0.5] * 4, laws=[9.0, 7.0, 8.0, 6.0])
    with refused("selection: pairs of one answer beside others"):
        select_pairs(even, 4, seed=0)


def test_a_prompt_with_one_answer_has_no_pair(run):
    folder = run("toy", dogs=[1.0, 2.0, 3.0], laws=[1.0])
    assert select_pairs(folder, 1, seed=0).chosen.ids == ["dogs#2"]
    with refused("selection: too few pairs of several prompts"):
        select_pairs(folder, 2, seed=0)


def test_a_mix_of_tables(run, tmp_path):
    mixed = select_top(
        [table(tmp_path), run("toy", dogs=[1.0, 2.0], laws=[4.0, 3.0])], 6
    )
    assert mixed.ids == ["c", "a", "e", "g", "dogs#1", "laws#0"]
    assert mixed.prompts == [prompt("dat")] * 4 + ["ask dogs", "ask laws"]
    assert mixed.scores.tolist() == pytest.approx([0.9, 0.8, 0.7, 0.7, 2.0, 4.0])
    # By the prompt's text, whichever folder comes first.
    assert select_top([Path("toy"), tmp_path], 6).facts() == mixed.facts()
    with refused("selection: too few answers of several tables"):
        select_top([tmp_path, Path("toy")], 13)


def test_beside_the_best_stand_usable_answers_of_another_folder(run, tmp_path):
    lists = table(tmp_path)
    run("toy", cats=[1.0, 2.0, None], laws=[4.0, None, None])
    run("own", ants=[0.5, 0.7])
    top = select_top(lists, 4, {"toy": 2, "own": 1})
    # Of two usable ones to cats and one to laws every prompt gives its share, the best first; none is unusable.
    assert top.ids == ["c", "a", "e", "g", "ants#1", "cats#1", "laws#0"]
    assert top.prompts[-3:] == ["ask ants", "ask cats", "ask laws"]
    assert (top.of, top.num_unusable) == (11, 0)
    assert top.scores.tolist() == pytest.approx([0.9, 0.8, 0.7, 0.7, 0.7, 2.0, 4.0])
    # Others that answer a prompt of the first stand behind them, and are counted apart.
    run("more", dogs=[3.0])
    run("dogs", dogs=[1.0, 2.0])
    top = select_top(Path("dogs"), 1, {"more": 1})
    assert (top.texts, top.of) == (["dogs 2.0", "dogs 3.0"], 3)
    # Of too few all are taken, and what fills no step of three is left out.
    assert len(select_top(lists, 5, {"toy": 4}, 3).ids) == 6
    with refused("selection: too few answers of its own"):
        select_top(lists, 10, {"toy": 2})


def test_rows_of_one_s_own_stand_beside_and_are_asked_as_they_are(tmp_path):
    chat = tmp_path / "chat.jsonl"
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    rows = [{"messages": [*turns, *turns]}, {"prompt": "a", "completion": "c"}]
    chat.write_text("\n".join(map(json.dumps, rows)))
    top = select_top(table(tmp_path / "t"), 1, {str(chat): 2})
    asked = training_rows({"completion": top}, conversational=True)
    assert [row["prompt"] for row in asked[1:]] == [[*turns, turns[0]], [turns[0]]]
    assert [row["completion"][0]["content"] for row in asked[1:]] == ["b", "c"]
    assert "2 chat.jsonl" in top.summary()
    assert to_stand_beside(str(chat), 5) == 2
    assert to_stand_beside("not drawn yet", 5) == 5
    chat.write_text('{"messages": [1]}')
    with refused("selection: a row that is no conversation"):
        select_top(tmp_path / "t", 1, {str(chat): 1})


@pytest.mark.parametrize("wrong", [["runs/own"], {"a": True}, {"a": 1.5}, {1: 2}, "["])
def test_what_stands_beside_names_folders_and_counts(wrong):
    with refused(f"selection: beside {wrong}"):
        SftArguments(answers=["a"], beside=wrong)
    assert SftArguments(answers=["a"], beside='{"b": 8}').beside == {"b": 8}
    assert SftArguments(answers=["a"]).beside == {}


def test_what_must_never_be_trained_on_is_refused(run, monkeypatch):
    story = load_stories()[5].text
    monkeypatch.setattr(Run, "prompts", {"dogs": fill(prompt("sat"), story=story)})
    with refused("training: a story of the SAT benchmark"):
        select_top(run("toy", dogs=[1.0, 2.0]), 1)


# Several tables of one prompt are one: who wrote an answer decides nothing


def test_shares_are_by_prompt_whatever_its_tables_and_items_are_called(run):
    one, two = (
        run("one", dogs=[4.0, 3.0]),
        run("two", **{"dogs~2": [2.0, 1.0], "laws": [1.0, 2.0, 3.0, 4.0]}),
    )
    assert select_top([one, two], 4).ids == ["dogs#0", "dogs#1", "laws#3", "laws#2"]
    pairs = select_pairs(
        run("twice", **{"laws": [4.0, 3.0], "laws~2": [2.0, 1.0]}), 2, seed=0
    )
    assert pairs.chosen.ids == ["laws#0", "laws#1"]
    assert sorted(pairs.rejected.ids) == ["laws~2#0", "laws~2#1"]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"scorer": {"embedding_model": "e5"}}, "embedding_model"),
        ({"scorer": {"embedding_model": "ginza"}, "measure": "sat"}, "measure"),
    ],
)
def test_answers_scored_otherwise_cannot_be_sorted_together(run, other, what):
    one, unknown = (
        run("one", scorer={"embedding_model": "ginza"}, dogs=[1.0]),
        run("unknown", dogs=[2.0]),
    )
    two = run("two", **other, dogs=[9.0])
    with refused(f"selection: another {what}"):
        select_top([one, unknown, two], 1)
    # A server's vectors are never twice the same to the last digit.
    probes = [
        {"embedding_probe": {"水": f"0.6000 {last}"}} for last in ("0.8000", "0.8001")
    ]
    near = [
        run(f"probe {k}", scorer=probe, dogs=[float(k)])
        for k, probe in enumerate(probes)
    ]
    assert select_top(near, 2).of == 2
    # Of different prompts nothing is compared.
    assert select_top([one, run("three", **other, laws=[9.0])], 2).ids == [
        "dogs#0",
        "laws#0",
    ]


def test_pairs_of_equal_answers_are_left_out(tmp_path):
    same = table(
        tmp_path / "same", dict.fromkeys("abcdefgh", 0.5), parts=1, text=["1. 犬"] * 8
    )
    with refused("selection: pairs of one answer"):
        select_pairs(same, 4, seed=0)
    # a and b against d and c: whichever they are paired with, one pair of the two is of one text.
    some = table(
        tmp_path / "some",
        dict.fromkeys("abcd", 0.5),
        parts=1,
        text=["1. 犬", "1. 猫", "1. 犬", "1. 犬"],
    )
    with refused("selection: a pair of one answer"):
        select_pairs(some, 2, seed=0)
    # Of one pair, a against d, the next best takes the place: b.
    pairs = select_pairs(some, 1, seed=0)
    assert (pairs.chosen.ids, pairs.chosen.texts, pairs.rejected.texts) == (
        ["b"],
        ["1. 猫"],
        ["1. 犬"],
    )
    apart = table(
        tmp_path / "apart",
        {"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1},
        parts=1,
        text=["1. 犬", "2", "3", "4"],
    )
    assert select_pairs(apart, 2, seed=0).chosen.ids == ["a", "b"]


# Other rules of pairs


def test_usable_pairs_leave_unusable_answers_out(tmp_path):
    pairs = select_pairs(table(tmp_path), 2, seed=0, rule="usable")
    assert pairs.chosen.ids == ["c", "a"]
    assert sorted(pairs.rejected.ids) == ["e", "g"]
    assert pairs.rejected.of == 4
    with refused("selection: too few pairs of usable answers"):
        select_pairs(tmp_path, 3, seed=0, rule="usable")


@pytest.mark.parametrize("reason", [ERROR, Ending.FORM])
def test_what_is_no_answer_is_not_trained_on(reason, tmp_path):
    rows = {
        "id": list("abcd"),
        "text": ["1. 犬", "1. 猫", "", "no list"],
        "score": [0.9, 0.8, None, None],
        "reason": [None, None, reason, "format"],
    }
    write_columns(tmp_path / "part-00000.parquet", rows)
    assert select_top(tmp_path, 3).ids == ["a", "b", "d"]
    assert select_pairs(tmp_path, 1, seed=0).rejected.ids == ["d"]
    with refused("selection: what is no answer does not count"):
        select_top(tmp_path, 4)
    none = rows | {"score": [None] * 4, "reason": [reason] * 4}
    write_columns(tmp_path / "part-00000.parquet", none)
    with refused("selection: no answers"):
        select_top(tmp_path, 1)


def test_bare_parts_of_another_task_are_refused(tmp_path):
    columns = {"id": ["桃-0"], "item": ["桃"], "text": ["昔々"], "score": [0.5]}
    write_columns(tmp_path / "part-00000.parquet", columns)
    with refused("selection: bare parts of another task"):
        select_top(tmp_path, 1)
