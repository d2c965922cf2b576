"""Answers judged together: in a run, in training and as a reward, by numbers worked out by hand."""

import json
import random

import pytest

from group_task import Spread
from model_server import KEY, completion, server
from sentences import refused
from sozo.eval.compare import compare, compare_models
from sozo.eval.draw import SamplingOptions
from sozo.eval.evaluated import find_evaluated
from sozo.eval.run import run_task, score_answers
from sozo.models.settings import GeneratorSettings
from sozo.rewards.task import TaskReward, reward_of
from sozo.scoring.measure import Measure
from sozo.tasks.task import Answer
from sozo.training.evaluation import batches_of, evaluated
from sozo.training.selection import select_top

PROMPTS = {item.id: item.prompt for item in Spread().items()}
TEXTS = {
    "a": ["0", "2", "6"],
    "b": ["1", "1", "4"],
    "c": ["5", "x", "7"],
}  # items are 4, 2 and 2 apart
SHARES = {"a": [4, 3, 5], "b": [1.5, 1.5, 3], "c": [2, None, 2]}


def answers_file(path, texts, order=None):
    rows = [
        {"item": item, "id": f"{item}{k}", "text": text}
        for item, own in texts.items()
        for k, text in enumerate(own)
    ]
    random.Random(order).shuffle(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "group_task.Spread")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_answers_from_a_file_in_any_order(tmp_path):
    run = score_answers(
        Spread(), answers_file(tmp_path / "a.jsonl", TEXTS, 1), tmp_path / "out"
    )
    got = {answer.id: answer.values.get("spread") for answer in run.result.answers()}
    assert got == {
        f"{item}{k}": value
        for item, own in SHARES.items()
        for k, value in enumerate(own)
    }
    assert run.metrics["reasons"] == {"no_number": 1}
    # Over items, not over answers: mean of 4, 2, 2; Student's with t(2) = 4.303 times sqrt(4 / 3) / sqrt(3).
    estimate = run.metrics["measures"]["spread"]
    assert (estimate["n"], estimate["of"], estimate["value"]) == (
        3,
        3,
        pytest.approx(8 / 3),
    )
    assert run.result.by_item(Measure("spread")) == {"a": 4, "b": 2, "c": 2}


def test_who_has_no_partner_has_no_value(tmp_path):
    texts = {"a": ["3"], "b": ["", "3", "y"], "c": ["1", "2"]}
    run = score_answers(
        Spread(), answers_file(tmp_path / "a.jsonl", texts), tmp_path / "out"
    )
    assert run.metrics["reasons"] == {"alone": 2, "no_number": 1, "no_text": 1}
    assert run.result.by_item(Measure("spread")) == {"a": None, "b": None, "c": 1}
    assert run.metrics["measures"]["spread"]["n"] == 1


def test_a_model_is_asked_several_times_and_a_part_holds_whole_items(tmp_path):
    def answer(body):
        item = (
            body["messages"][-1]["content"]
            .removeprefix("A number for ")
            .removesuffix(".")
        )  # else a probe
        return completion(
            TEXTS.get(item, ["?"])[body.get("seed", 0) % 3 if item in TEXTS else 0]
        )

    with server(answer) as (url, _):
        writer = GeneratorSettings(model="m", base_url=url)
        run = run_task(
            Spread(), writer, SamplingOptions(batch_size=2), tmp_path / "out"
        )
    assert [answer.id for answer in run.result.answers()] == [
        f"{item}-{k}" for item in "abc" for k in range(3)
    ]
    parts = sorted((tmp_path / "out" / "answers").glob("part-*"))
    assert len(parts) == 3


def test_how_many_answers(monkeypatch):
    task = Spread()
    assert SamplingOptions().resolved(task, task.items()).answers_per_item == 3
    resolved = SamplingOptions(
        answers_per_item=5, batch_size=12, num_usable=7
    ).resolved(task, task.items())
    assert (resolved.answers_per_item, resolved.batch_size, resolved.num_usable) == (
        5,
        15,
        None,
    )
    with refused("draw: one answer to an item"):
        SamplingOptions(answers_per_item=1).resolved(task, task.items())


def test_models_are_compared_over_items(tmp_path):
    for name, texts in {
        "one": TEXTS,
        "two": {"a": ["0", "2", "7"], "b": ["1", "1", "7"], "c": ["5", "x", "9"]},
    }.items():
        score_answers(
            Spread(),
            answers_file(tmp_path / f"{name}.jsonl", texts),
            tmp_path / "runs" / name,
            source=name,
        )
    ((base, method),) = compare_models(
        find_evaluated([str(tmp_path / "runs")]), "one"
    ).pairs
    change = compare(base, method, Spread.measures[0]).estimate
    # Items of two are 14 / 3, 4 and 4 apart.
    assert (change.n, change.value) == (3, pytest.approx((2 / 3 + 2 + 2) / 3))


def test_a_reward_pays_each_its_share():
    reward = TaskReward(Spread(), scale=2.0)
    pairs = [(PROMPTS[item], text) for item, own in TEXTS.items() for text in own]
    random.Random(0).shuffle(pairs)
    prompts, texts = zip(*pairs, strict=True)
    paid = dict(
        zip(pairs, reward(prompts=list(prompts), completions=list(texts)), strict=True)
    )
    for item, own in TEXTS.items():
        assert [paid[PROMPTS[item], text] for text in own] == [
            2 * (share or 0) for share in SHARES[item]
        ]
    assert reward(prompts=[], completions=[]) == []


def test_less_is_better_is_paid_as_the_distance_from_the_worst():
    class Alike(Spread):
        measures = (Measure("spread", together=True, better=-1, scale=(0, 10)),)

    assert reward_of(Alike())(prompts=["?"] * 3, completions=TEXTS["a"]) == [6, 7, 5]


def test_while_training_an_item_is_asked_as_often():
    task = Spread()
    (batch,) = batches_of(task, 6)
    assert [item.id for item in batch] == ["a", "a", "a", "b", "b", "b"]
    answers = [
        Answer(str(k), item.id, text)
        for k, (item, text) in enumerate(zip(batch, TEXTS["a"] * 2, strict=True))
    ]
    rows = task.with_others(batch, answers, task.score(batch, answers))
    assert evaluated(task, rows) == {"spread/usable": 1.0, "spread": 4.0}


def test_what_is_best_if_it_is_least_is_not_selected_by_the_most(tmp_path, monkeypatch):
    monkeypatch.setattr(
        Spread, "measures", (Measure("spread", together=True, better=-1),)
    )
    score_answers(Spread(), answers_file(tmp_path / "a.jsonl", TEXTS), tmp_path / "out")
    with refused("selection: less is better"):
        select_top(tmp_path / "out", 3)
