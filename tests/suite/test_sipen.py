"""SIPeN: answers are read strictly, the paper's tables come out of its counts, and what says nothing is called so."""

import json
import multiprocessing
import random
import time
from collections import Counter
from dataclasses import asdict

import pytest

from model_server import KEY, completion, server
from sipen_paper import paper_answers, paper_items
from sipen_runs import run_of, truthful
from sozo.data.errors import UserError
from sozo.data.jsonl import write_objects
from sozo.data.published import load, load_text
from sozo.eval.draw import SamplingOptions
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.run import run_task
from sozo.models.settings import GeneratorSettings
from sozo.scoring.statistics import compare_paired
from sozo.suite.sipen.items import (
    ANSWERS,
    CONTROL,
    ENTAILMENT,
    FORMS,
    IMPLICATURE,
    NO,
    SCALES,
    SipenItem,
    read_items,
    trial_items,
)
from sozo.suite.sipen.run_result import CONTROLS
from sozo.suite.sipen.task import Sipen, SipenSettings
from sozo.tasks import refuse_training
from sozo.tasks.task import Item

REPLIES = {
    "Yes": [
        "Yes",
        "yes",
        "YES",
        " Yes\n",
        "Yes.",
        '"Yes"',
        "'yes.'",
        "**Yes**",
        "<think>No</think>Yes",
        "“Yes”。",
    ],
    "No": [
        "No",
        "no.",
        "NO",
        "**No.**",
        "**No**.",
        "`No`",
        "no。",
        "「No」",
        "[THINK]Maybe?[/THINK]\n\nNo",
        "*No*",
    ],
    "Maybe": ["Maybe", "maybe.", "'Maybe'", "Maybe\n"],
    None: [
        *(
            "",
            "Answer: No",
            "No, because",
            "はい",
            "Yes or No",
            "Yes, No, Maybe",
            "No..",
            "No!",
            "Not",
            "I think no",
        ),
        *("<think>No", "Ｎｏ", "No No", "**", '""', "."),
    ],
}
PAPER_MODELS = [row["model"] for row in load("sipen_accuracy")]


def percent(share):
    return f"{100 * share['value']:.1f}"


def held(share):
    """Of how many answers a share is true."""
    return round(share["value"] * share["n"])


@pytest.mark.parametrize(
    ("answer", "text"),
    [(answer, text) for answer, texts in REPLIES.items() for text in texts],
)
def test_an_answer_is_one_option_and_nothing_else(answer, text):
    assert FORMS["sipen-v1"].read(text) == answer


def test_japanese_options_are_read_in_the_japanese_form():
    assert FORMS["sipen-ja-v1"].options == FORMS["sipen-ja-v2"].options
    read = FORMS["sipen-ja-v2"].read
    assert [
        read(text)
        for text in (
            "はい",
            "「いいえ」",
            "どちらともいえない。",
            "Yes",
            "はい、そうです",
        )
    ] == [
        *ANSWERS,
        None,
        None,
    ]


def test_random_texts_are_no_answers_unless_they_are_one():
    chance = random.Random(0)
    alphabet = [
        *"YesNoMaybe.。\"'*` \n「」<>/think",
        "Yes",
        "No",
        "Maybe",
        "<think>",
        "</think>",
        "\ud800",
        "犬",
    ]
    for _ in range(10_000):
        text = "".join(chance.choices(alphabet, k=chance.randrange(8)))
        answer = FORMS["sipen-v1"].read(text)
        bare = text.rpartition("</think>")[2].strip(" \n.。\"'*`「」").casefold()
        assert answer is None or bare == answer.casefold(), text


def test_the_paper_tables_come_out_digit_for_digit_of_its_counts(tmp_path):
    items = paper_items()
    assert (len({item.premise_id for item in items}), len(items)) == (387, 1076)
    by_scale = Counter(item.scale for item in items)
    assert all(
        by_scale[row["scale"]] == row["hypotheses"] for row in load("sipen_scales")
    )
    metrics = {
        m: run_of(tmp_path / m, paper_answers(m, items), items=items).metrics
        for m in PAPER_MODELS
    }
    for row in load_text("sipen_accuracy"):
        for category, labels in metrics[row["model"]]["accuracy"].items():
            for label in ("implicature", "entailment"):
                assert percent(labels[label]) == row[f"{category}_{label}"]
    differing = []
    for row in load_text("sipen_steps"):
        steps = metrics[row["model"]]["steps"]
        (contrast,) = [
            c
            for c in steps
            if (c["expression"], c["direction"])
            == (row["expression"], row["direction"])
        ]
        shown = percent(contrast["first"]), percent(contrast["second"])
        differing += (
            [] if shown == (row["one_step"], row["two_steps"]) else [(row, shown)]
        )
    ((misprint, shown),) = differing
    assert (misprint["model"], misprint["expression"], shown) == (
        "Llama-70B",
        "some",
        ("49.4", "73.4"),
    )
    for row in load_text("sipen_direction"):
        (contrast,) = [
            c
            for c in metrics[row["model"]]["directions"]
            if c["expression"] == row["expression"]
        ]
        assert (percent(contrast["first"]), percent(contrast["second"])) == (
            row["stronger"],
            row["weaker"],
        )


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_constant_answer_is_called_constant(tmp_path, answer):
    word = dict(zip(ANSWERS, FORMS["sipen-ja-v2"].options, strict=True))[answer]
    run = run_of(tmp_path, lambda _: word)
    metrics = run.metrics
    assert metrics["constant"] == answer
    assert metrics["measures"][CONTROLS]["value"] == pytest.approx(1 / 3)
    assert all(
        notes.startswith("CONSTANT") for notes in run.task.view.notes(run.result)[:1]
    )
    for category, labels in metrics["accuracy"].items():
        directions = [
            i.direction
            for i in trial_items()
            if i.category == category and i.direction in IMPLICATURE
        ]
        entailed = sum(ENTAILMENT[direction] == answer for direction in directions)
        assert (held(labels["implicature"]), labels["implicature"]["n"]) == (
            len(directions) * (answer == NO),
            len(directions),
        )
        assert held(labels["entailment"]) == entailed
    assert metrics["constant_scores"][NO] == {
        "implicature": 1,
        "entailment": 0,
        "controls": pytest.approx(1 / 3),
    }
    page = write_evaluation(tmp_path / "r.html", find_evaluated([str(run.folder)]))[
        0
    ].read_text("utf-8")
    assert f"{answer}!" in page
    assert "常に同じ回答" in page


def mistaken_about(premises):
    """Gold, but about some premises the next option."""
    options = FORMS["sipen-ja-v2"].options

    def answer(item):
        right = truthful(item)
        return (
            options[(options.index(right) + 1) % 3]
            if item.premise_id in premises
            else right
        )

    return answer


def test_what_was_planted_comes_out(tmp_path):
    wrong = {
        f"trial-{k:02d}" for k in range(1, 49, 10)
    }  # a tenth: 3 quantifier, 2 numeral premises
    wrong |= {f"control-{k:02d}a" for k in range(1, 6)}
    metrics = run_of(tmp_path, mistaken_about(wrong)).metrics
    assert metrics["measures"][CONTROLS]["value"] == pytest.approx(43 / 48)
    for category, labels in metrics["accuracy"].items():
        own = [
            i
            for i in trial_items()
            if i.category == category and i.direction in IMPLICATURE
        ]
        assert held(labels["implicature"]) == sum(
            item.premise_id not in wrong for item in own
        )
        assert (
            labels["implicature"]["low"]
            < held(labels["implicature"]) / len(own)
            <= labels["implicature"]["high"]
        )
    assert all(held(share) == 43 for share in metrics["controls"].values())
    assert metrics["constant"] is None


def test_the_interval_of_a_difference_covers():
    covered = 0
    for seed in range(100):
        chance, sides = random.Random(seed), []
        for truth in (0.9, 0.8):
            sides.append(
                {
                    k: sum(chance.random() < truth for _ in range(3)) / 3
                    for k in range(48)
                }
            )
        result = compare_paired(*sides, share=True)
        covered += result.low <= -0.1 <= result.high
    assert covered >= 88


def test_the_trial_has_its_shape_and_words_in_their_places():
    items = trial_items()
    kinds = Counter((item.category, item.direction in IMPLICATURE) for item in items)
    assert kinds == {
        ("quantifier", True): 60,
        ("numeral", True): 64,
        ("adjective", True): 8,
        ("", False): 144,
    }
    premises = {
        item.premise_id: item for item in items if item.category == "quantifier"
    }
    quantifiers = Counter(item.expression for item in premises.values())
    assert quantifiers == dict.fromkeys(
        SCALES["すべて-ほとんど-多く-いくつか"].expressions, 6
    )
    for item in items:
        assert 2 <= item.context.count("。") <= 4
        assert item.hypothesis != item.premise
        if item.direction in IMPLICATURE:
            assert item.premise.count(item.expression) == 1
            assert item.hypothesis == item.premise.replace(
                item.expression, item.replacement
            )
        if item.category == "numeral":
            assert int(item.expression) >= 3


def test_items_of_a_file_are_checked_line_by_line(tmp_path):
    good = asdict(SipenItem("1+1", "1", "Some fell.", "Many fell.", "stronger", 1))
    broken = [
        ({"steps": 3}, "steps"),
        ({"steps": 0}, "steps"),
        ({"steps": True}, "steps"),
        ({"direction": "up"}, "direction"),
        ({"direction": "same"}, "direction"),
        ({"direction": "entailed"}, "steps"),
        ({"direction": "entailed", "steps": None}, "steps are None; they must be 0"),
        ({"premise": " "}, "premise: is blank"),
        ({"premise_id": None}, "premise_id"),
        ({"context": 1}, "context"),
    ]
    for change, said in broken:
        write_objects(tmp_path / "i.jsonl", [good, good | {"id": "2"} | change])
        with pytest.raises(UserError, match=f"line 2.*{said}"):
            read_items(tmp_path / "i.jsonl")
    write_objects(tmp_path / "i.jsonl", [good])
    (item,) = Sipen(SipenSettings(sipen_items=str(tmp_path / "i.jsonl"))).items()
    assert item.prompt.endswith("\nAnswer: ")
    assert "Premise: Some fell.\n" in item.prompt
    with pytest.raises(UserError, match="sipen_context"):
        Sipen(SipenSettings(sipen_context="some")).items()
    with pytest.raises(UserError, match="sipen_prompt"):
        Sipen(SipenSettings(sipen_prompt="x")).items()


def test_the_question_tells_a_contradiction_from_what_is_open_and_the_literal_one_is_kept_by_name():
    item = next(item for item in trial_items() if item.premise_id == "trial-07")
    asked, literal = (
        Sipen().items(),
        Sipen(SipenSettings(sipen_prompt="sipen-ja-v1")).items(),
    )
    (now,), (before,) = (
        [one.prompt for one in items if one.id == item.id] for items in (asked, literal)
    )
    for said in ("必ず正しい", "必ず誤り", "どちらもありうる"):
        assert said in now
        assert said not in before
    assert "文が成り立つといえますか" in before
    assert Sipen().deciding()["sipen_prompt"] == "sipen-ja-v2"


@pytest.mark.parametrize("item", [trial_items()[5], trial_items()[-5]])
def test_the_trial_is_no_training_data(item):
    for text in (
        item.premise,
        f"仮説：{item.hypothesis}",
        {i.id: i.prompt for i in Sipen().items()}[item.id],
    ):
        with pytest.raises(UserError, match="trial set"):
            refuse_training([Item("x", text)])
    refuse_training([Item("x", "いくつかの窓が開いていた。")])


def test_items_without_controls_have_no_understanding_to_show(tmp_path):
    items = [item for item in trial_items() if item.direction in IMPLICATURE]
    run = run_of(tmp_path, lambda _: "Maybe.", items=items)
    assert run.metrics["measures"][CONTROLS] == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "reason": "no values",
        "of": 0,
    }
    assert run.metrics["controls"] == {}
    cell = run.result.cell(run.task.measures[0])
    assert (cell.text, cell.why) == ("–", "0 of 0")


def test_nonsense_is_counted_and_wrong(tmp_path):
    run = run_of(
        tmp_path, lambda item: "犬です" if item.direction in CONTROL else truthful(item)
    )
    assert run.metrics["reasons"] == {"unparseable": 144, "error": 0}
    assert run.metrics["measures"][CONTROLS]["value"] == 0
    assert any(
        note.startswith("UNPARSEABLE: 144 of 276")
        for note in run.task.view.notes(run.result)
    )


def test_killed_while_answering_it_comes_to_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = {item.id: item.prompt for item in Sipen().items()}
    gold = {asked[item.id]: truthful(item) for item in trial_items()}
    waiting = [0.02]

    def answer(body):
        time.sleep(waiting[0])
        return completion(gold.get(body["messages"][-1]["content"], "いいえ"))

    def run(folder):
        settings = GeneratorSettings("m", base_url=url, concurrency=2)
        return run_task(Sipen(), settings, SamplingOptions(batch_size=8), folder)

    with server(answer) as (url, _):
        for parts in (3, 9, 15):
            process = multiprocessing.get_context("fork").Process(
                target=run, args=[tmp_path / "cut"]
            )
            process.start()
            while (
                len(list((tmp_path / "cut" / "answers").glob("part-*.parquet"))) < parts
            ):
                assert process.is_alive()
                time.sleep(0.01)
            process.kill()
            process.join()
        waiting[0] = 0
        metrics = run(tmp_path / "cut").metrics
        whole = run(tmp_path / "whole").metrics
    # What was under way at a kill is asked again, and on the bill twice.
    assert metrics.pop("bill")
    assert whole.pop("bill")
    assert whole == metrics
    assert metrics["measures"][CONTROLS]["value"] == 1
    config = json.loads((tmp_path / "whole" / "config.json").read_bytes())["settings"]
    assert (config["temperature"], config["max_new_tokens"]) == (1e-4, 16)
