"""The integrations: the same number through each, and no 0 in silence. Real packages: make test-integrations."""

import json
import subprocess
import sys
from threading import Thread

import pytest

from documents import ROOT
from integration_texts import FREE, OTHER, REWRITE, SETTINGS, STORY, TEN
from integrations.texts import ASKED, TEMPLATES, cases
from sozo.data.errors import UserError
from sozo.rewards import make_dat_reward
from sozo.rewards.integrations import lm_eval, verl
from sozo.rewards.integrations.core import Integration, answer_in, open_integration
from sozo.rewards.integrations.openrlhf import make_reward_func
from sozo.rewards.reward import Reward
from sozo.tasks import task_type
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Answer


@pytest.fixture(scope="module")
def thousand():
    """The cases, and what the task and the reward say of the bare answers."""
    drawn, task = cases(), Dat(Dat.Settings(**SETTINGS))
    answers = [Answer(str(k), "", case.answer) for k, case in enumerate(drawn)]
    rows = task.score([task.items()[0]] * len(drawn), answers)
    paid = make_dat_reward(**FREE)(completions=[case.answer for case in drawn])
    return drawn, rows, paid


def test_the_thousand_are_of_all_kinds(thousand):
    drawn, rows, _ = thousand
    assert {row.reason for row in rows} == {
        None,
        "format",
        "not_japanese",
        "symbol",
        "not_noun",
        "repeated_word",
    }
    assert sum(row.reason is None for row in rows) > 400
    assert cases(5) == drawn[:5] != cases(5, seed=1)


def test_a_text_is_worth_what_its_answer_is(thousand):
    drawn, rows, paid = thousand
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


def test_verl_openrlhf_and_lm_eval_give_the_same(thousand):
    drawn, rows, paid = thousand
    doc = lm_eval.documents("dat", 1, SETTINGS, pretrained="m")["test"][0]
    reward_func = make_reward_func("dat", **FREE)
    for case, row, reward in zip(drawn, rows, paid, strict=True):
        extra = {"index": 1, "num_turns": None}
        by_verl = verl.compute_score(
            data_source="x",
            solution_str=case.output,
            ground_truth="",
            extra_info=extra,
            task="dat",
            **FREE,
        )
        assert by_verl == {
            "score": reward,
            "dat": row.values.get("dat"),
            "reason": row.reason or "",
        }
        by_openrlhf = reward_func([case.query], [case.prompt], [""])
        assert by_openrlhf == {
            "rewards": [reward],
            "scores": [row.values.get("dat", 0.0)],
            "extra_logs": {"usable": [row.values["dat/usable"]], "duplicate": [0.0]},
            "reasons": [row.reason],
        }
        scored = {"scored": row.values["dat/usable"], "reason": row.reason or ""}
        assert lm_eval.process_results(doc, [case.output]) == {**row.values, **scored}


@pytest.mark.parametrize(
    ("text", "prompts", "answer"),
    [
        ("<|im_start|>assistant\n犬", [], "\n犬"),
        # an unknown prompt in a template; one with a system message that is known; one that ends with the answer's head
        ("[INST] 何? [/INST]犬</s>", [], "犬"),
        (
            "<|im_start|>system\nA<|im_end|>\n<|im_start|>user\n何?<|im_end|>\n<|im_start|>assistant\n犬",
            ["何?"],
            "\n犬",
        ),
        (
            "<bos><start_of_turn>user\n何?<end_of_turn>\n<start_of_turn>model\n犬",
            ["<start_of_turn>user\n何?"],
            "\n犬",
        ),
        # a conversation of several answers, whose prompt is known
        (
            "[INST] a [/INST]b</s>[INST] c [/INST]犬",
            ["[INST] a [/INST]b</s>[INST] c [/INST]"],
            "犬",
        ),
        ("何?犬", ["何?"], "犬"),
    ],
)
def test_the_answer_in_a_text(text, prompts, answer):
    assert answer_in(text, prompts) == answer


@pytest.mark.parametrize(
    "text", ["犬", "はい。何?犬", "[INST] a [/INST]b[INST] c [/INST]犬"]
)
def test_a_query_without_a_prompt_that_is_known_is_refused(text):
    with pytest.raises(
        UserError, match="no prompt that is known stands before the answer"
    ):
        answer_in(text, ["何?"])
    with pytest.raises(UserError, match="no prompt that is known"):
        make_reward_func("dat", **SETTINGS)([text], ["何?"], [""])


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
    for options in (
        {"validate": True},
        {"asked": [{"split": "test"}] * 2},
        {"asked": ['{"split": "val"}'] * 2},
    ):
        assert [
            result.reason for result in integration.pay([TEN, third], **options)
        ] == [None, None]
    assert [result.reason for result in integration.pay([third, other.text])] == [
        None,
        "duplicate",
    ]
    assert Integration("dat", **SETTINGS).pay([TEN])[0].reason is None
    assert integration.pay([third], [{"split": None}])[0].reason == "duplicate"
    integration.restore()
    assert integration.pay([TEN])[0].reason is None


def test_verl_keeps_one_integration_for_equal_settings():
    assert (
        open_integration("dat", **FREE)
        is open_integration("dat", **dict(reversed(FREE.items())))
        is not open_integration("dat")
    )
    integrations = []
    threads = [
        Thread(
            target=lambda: integrations.append(
                open_integration("sat", penalise_duplicates=True)
            )
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(integration) for integration in integrations}) == 1
    results = [
        verl.compute_score("d", TEN, "", {"split": split}, **SETTINGS, scale=3.0)
        for split in ("train", "test")
    ]
    assert [result["reason"] for result in results] == ["", ""]
    assert (
        verl.compute_score("d", TEN, "", None, **SETTINGS, scale=3.0)["reason"]
        == "duplicate"
    )


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
    task = task_type("sipen")()
    item = next(
        item
        for item in task.items()
        if task.score([item], [Answer("", item.id, "はい")])[0].values
    )
    (row,) = Integration("sipen").measure(["はい</s>"], [item.id])
    assert row == task.score([item], [Answer("", item.id, "はい")])[0]
    reasons = {
        paid.reason
        for paid in Integration("sipen").pay(
            ["はい"] * len(task.items()), [i.id for i in task.items()]
        )
    }
    assert reasons == {
        None,
        "no_value",
    }  # not every item is a control, by which it is paid


def test_a_task_of_ones_own(monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "examples.task.Acrostic")
    monkeypatch.chdir(ROOT)
    (row,) = Integration("acrostic").measure(
        ["さむい朝だった\nくるまが来ない\nらくだに乗った<|im_end|>"], ["sakura"]
    )
    assert row.values == {"acrostic": 1.0, "acrostic/length": 7.0}
    with pytest.raises(
        UserError,
        match=r"say which item is answered: its id as item, or its columns \(word\)",
    ):
        Integration("acrostic").measure(["さむい朝だった"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integration("jcq"), "jcq: a judge scores its answers"),
        (lambda: Integration("nosuch"), "there is no task nosuch"),
        (
            lambda: Integration("dat", noun_cheker="jumandic"),
            "unknown setting: noun_cheker",
        ),
        (
            lambda: Integration("dat").measure(None, prompts=["?"]),
            "texts must be a list",
        ),
        (lambda: Integration("dat").measure(TEN), "texts must be a list"),
        (
            lambda: Integration("dat").pay([TEN], None, ["?", "?"]),
            "2 prompts came with 1 texts",
        ),
        (lambda: make_reward_func("dat")(None, ["?"], [""]), "texts must be a list"),
        (
            lambda: Integration("sat").pay([REWRITE], ["nosuch"]),
            r"its id as item, or its columns \(story\)",
        ),
        (
            lambda: Integration("dat").pay([5]),
            "a text or a conversation was expected, not 5",
        ),
        (
            lambda: Integration("dat").pay([["?"]]),
            "a text or a conversation was expected, not ",
        ),
        (
            lambda: Integration("dat").pay([TEN], None, [None]),
            "a text or a conversation was expected, not None",
        ),
        (
            lambda: Integration("sat").pay([REWRITE], ["{"]),
            "what was asked: Invalid JSON",
        ),
    ],
)
def test_what_cannot_be_meant_is_one_line(make, message):
    with pytest.raises(UserError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_a_reward_that_sees_the_group_is_refused_without_one(monkeypatch):
    class Fresh(Reward):
        def among(self, completions):
            return completions

    monkeypatch.setenv("SOZO_TASKS", "examples.task.Acrostic")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(
        task_type("acrostic"), "reward", lambda self: Fresh("f", "f"), raising=False
    )
    with pytest.raises(UserError, match="its reward looks at all answers to a prompt"):
        Integration("acrostic").pay(["はい"], ["sakura"])


@pytest.mark.suite
def test_a_measure_of_answers_judged_together_is_refused():
    with pytest.raises(UserError, match="its answers are judged together"):
        Integration("hivemind").measure(["はい"], ["food"])
    with pytest.raises(UserError, match="its answers are judged together"):
        lm_eval.documents("hivemind")
    with pytest.raises(UserError, match="looks at all answers to a prompt"):
        Integration("sentences").pay([])


@pytest.mark.suite
def test_texts_that_a_model_only_reads_are_asked_nowhere():
    items = Integration("general").items
    assert len(items) == 80
    assert not any(item.read for item in items.values())
    (row,) = Integration("general").measure([""], [next(iter(items))])
    assert row.values["general"] == 0


def test_a_prompt_in_a_template_of_the_models_is_recognised():
    for template, end in TEMPLATES:
        query = template.format(ASKED) + TEN + end
        assert answer_in(query, [ASKED]).strip() == TEN
        assert answer_in(query, [template.format(ASKED)]).strip() == TEN


def test_an_integration_imports_no_other_tool():
    heavy = {
        "verl",
        "openrlhf",
        "lm_eval",
        "starlette",
        "uvicorn",
        "torch",
        "transformers",
        "pyarrow",
    }
    modules = (
        f"sozo.rewards.integrations.{tool}" for tool in ("verl", "lm_eval", "openrlhf")
    )
    code = f"import sys, {', '.join(modules)}; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}print(sorted({heavy} & set(sys.modules)))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
