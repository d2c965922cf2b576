"""The integrations: the same number through each, and no 0 in silence. Real packages: make test-integrations."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from documents import ROOT
from integration_texts import FREE, OTHER, REWRITE, SETTINGS, STORY, TEN
from integrations.texts import ASKED, cases
from sentences import refused
from sozo.rewards import make_dat_reward
from sozo.rewards.integrations import lm_eval, verl
from sozo.rewards.integrations.core import Integration, answer_in, open_integration
from sozo.tasks import task_type
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Answer


@pytest.fixture(scope="module")
def drawn_and_paid():
    """The cases, and what the task and the reward say of the bare answers."""
    drawn, task = cases(200), Dat(Dat.Settings(**SETTINGS))
    answers = [Answer(str(k), "", case.answer) for k, case in enumerate(drawn)]
    rows = task.score([task.items()[0]] * len(drawn), answers)
    paid = make_dat_reward(**FREE)(completions=[case.answer for case in drawn])
    return drawn, rows, paid


def test_a_text_is_worth_what_its_answer_is(drawn_and_paid):
    drawn, rows, paid = drawn_and_paid
    integration = Integration("dat", **FREE)
    for texts, prompts in (
        ([case.output for case in drawn], None),
        ([case.output for case in drawn], [case.prompt for case in drawn]),
        (
            [
                [
                    {"role": "user", "content": ASKED},
                    {"role": "assistant", "content": c.answer},
                ]
                for c in drawn
            ],
            None,
        ),
    ):
        assert integration.measure(texts, None, prompts) == rows
        results = integration.pay(texts, None, prompts)
        assert [result.reward for result in results] == paid
        assert [(result.score, result.reason) for result in results] == [
            (r.values.get("dat"), r.reason) for r in rows
        ]
    for prompts in ([case.prompt for case in drawn], [ASKED] * len(drawn)):
        results = integration.pay(
            [case.query for case in drawn], None, prompts, whole=True
        )
        assert [result.reward for result in results] == paid


@pytest.mark.parametrize(
    ("text", "prompts", "answer"),
    [
        ("<|im_start|>assistant\n犬", [], "犬"),
        # an unknown prompt in a template; one with a system message that is known; one that ends with the answer's head
        ("[INST] 何? [/INST]犬</s>", [], "犬"),
        (
            "<|im_start|>system\nA<|im_end|>\n<|im_start|>user\n何?<|im_end|>\n<|im_start|>assistant\n犬",
            ["何?"],
            "犬",
        ),
        (
            "<bos><start_of_turn>user\n何?<end_of_turn>\n<start_of_turn>model\n犬",
            ["<start_of_turn>user\n何?"],
            "犬",
        ),
        # a conversation of several answers, whose prompt is known
        (
            "[INST] a [/INST]b</s>[INST] c [/INST]犬",
            ["[INST] a [/INST]b</s>[INST] c [/INST]"],
            "犬",
        ),
        ("何?犬", ["何?"], "犬"),
        # What the model said begins behind all of the prompt.
        ("何?\n\n 犬\n", ["何?\n"], "\n 犬"),
        ("何? 犬", ["何?\n"], " 犬"),
    ],
)
def test_the_answer_in_a_text(text, prompts, answer):
    assert answer_in(text, prompts) == answer


@pytest.mark.parametrize("text", ["はい。何?犬", "[INST] a [/INST]b[INST] c [/INST]犬"])
def test_a_query_without_a_prompt_that_is_known_is_refused(text):
    with refused("integration: no prompt before the answer"):
        answer_in(text, ["何?"])


def test_each_integration_has_a_history_that_validation_does_not_fill():
    integration = Integration("dat", **SETTINGS)
    first, again, other = integration.pay([TEN, TEN, OTHER])
    assert (first.reason, again.reason, again.reward, again.duplicate) == (
        None,
        "duplicate",
        0.0,
        True,
    )
    assert first.reward == pytest.approx(10 * first.score, rel=1e-6)
    third = TEN.replace("犬", "馬")
    for options in {"validate": True}, {"asked": ['{"split": "val"}'] * 2}:
        reasons = [one.reason for one in integration.pay([TEN, third], **options)]
        assert reasons == [None, None]
    reasons = [one.reason for one in integration.pay([third, other.text])]
    assert reasons == [None, "duplicate"]
    assert Integration("dat", **SETTINGS).pay([TEN])[0].reason is None
    integration.restore()
    assert integration.pay([TEN])[0].reason is None


@pytest.mark.parametrize(
    "row", [{"ground_truth": "42"}, {"answer": 42}, {"data_source": "math"}]
)
def test_rows_for_another_reward_are_refused(row):
    with refused("integration: rows of another reward"):
        Integration("dat", **SETTINGS).pay([TEN], [row])


def test_verl_s_rows_for_another_reward_are_refused_and_numbers_are_floats():
    with refused("integration: rows of another source"):
        verl.compute_score("gsm8k", TEN, "42", {}, **SETTINGS)
    rows = [verl.compute_score("d", text, "", {}, **SETTINGS) for text in (TEN, "x")]
    assert np.array([row["dat"] for row in rows]).dtype == float


def test_verl_keeps_one_integration_for_equal_settings():
    one = open_integration("dat", **FREE)
    assert one is open_integration("dat", **dict(reversed(FREE.items())))
    assert one is not open_integration("dat")
    with ThreadPoolExecutor(8) as pool:
        opened = [pool.submit(open_integration, "sat", scale=7.0) for _ in range(8)]
    assert len({id(integration.result()) for integration in opened}) == 1
    columns = ({"split": "train"}, {"split": "test"}, None)
    told = [verl.compute_score("d", TEN, "", c, **SETTINGS, scale=3.0) for c in columns]
    assert [one["reason"] for one in told] == ["", "", "duplicate"]


def test_sat_is_paid_by_its_gate_and_measured_as_in_the_paper():
    integration = Integration("sat", min_length=10)
    paid, copied = integration.pay(
        [f"{REWRITE}<|eot_id|>", STORY],
        [{"story": STORY}, json.dumps({"story": STORY})],
    )
    assert paid.reward == pytest.approx(10 * paid.score)
    assert (copied.reward, copied.score, copied.reason) == (0.0, None, "copied")
    row, same = integration.measure([REWRITE, STORY], [{"story": STORY}] * 2)
    assert row.values["sat"] == paid.score
    assert same.values["sat"] == 0.0
    item = next(iter(integration.items))
    assert integration.measure([REWRITE], [item])[0].values["sat"] > 0
    assert (
        verl.compute_score("sat", REWRITE, item, {}, task="sat", min_length=10)["score"]
        == 0.0
    )


@pytest.mark.suite
def test_a_task_of_items_that_do_not_all_pay():
    ids = [item.id for item in task_type("sipen")().items()]
    paid = Integration("sipen").pay(["はい</s>"] * len(ids), ids)
    # Not every item is a control, by which it is paid.
    assert {one.reason for one in paid} == {None, "no_value"}


def test_a_task_of_ones_own(monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "examples.task.Acrostic")
    monkeypatch.chdir(ROOT)
    (row,) = Integration("acrostic").measure(
        ["さむい朝だった\nくるまが来ない\nらくだに乗った<|im_end|>"], ["sakura"]
    )
    assert row.values == {"acrostic": 1.0, "acrostic/length": 7.0}
    with refused("integration: which item is answered"):
        Integration("acrostic").measure(["さむい朝だった"])


@pytest.mark.parametrize(
    ("said", "make"),
    {
        "integration: a judge scores it": lambda: Integration("jcq"),
        "integration: no such task": lambda: Integration("nosuch"),
        "integration: no such setting": lambda: Integration("dat", noun_cheker="x"),
        "integration: one text": lambda: Integration("dat").measure(TEN),
        "integration: fewer texts than prompts": lambda: Integration("dat").pay(
            [TEN], None, ["?", "?"]
        ),
        "integration: no such item": lambda: Integration("sat").pay([REWRITE], ["no"]),
        "integration: no text": lambda: Integration("dat").pay([["?"]]),
        "integration: no prompt": lambda: Integration("dat").pay([TEN], None, [None]),
        "integration: asked in no JSON": lambda: Integration("sat").pay(["a"], ["{"]),
        "integration: asked in a number": lambda: Integration("sat").pay(["a"], [1.5]),
        "integration: a story that is a number": lambda: Integration("sat").pay(
            ["a"], [{"story": 5}]
        ),
    }.items(),
)
def test_what_cannot_be_meant_is_told(said, make):
    with refused(said):
        make()


@pytest.mark.suite
def test_a_measure_of_answers_judged_together_is_refused():
    with refused("integration: judged together"):
        lm_eval.documents("hivemind")
    with refused("integration: sentences without groups"):
        Integration("sentences").pay([])


@pytest.mark.suite
def test_texts_that_a_model_only_reads_are_asked_nowhere():
    items = Integration("general").items
    assert len(items) == 80
    assert not any(item.read for item in items.values())
    (row,) = Integration("general").measure([""], [next(iter(items))])
    assert row.values["general"] == 0
