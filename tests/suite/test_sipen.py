"""SIPeN: answers are read strictly, the paper's tables come out of its counts, and what says nothing is called so."""

import random
from collections import Counter
from dataclasses import asdict

import pytest

from sentences import refused
from sipen_paper import paper_answers, paper_items
from sipen_runs import run_of, truthful
from sozo.data.jsonl import write_objects
from sozo.data.published import load, load_text
from sozo.suite.sipen.items import (
    ANSWERS,
    CONTROL,
    ENTAILMENT,
    FORMS,
    IMPLICATURE,
    NO,
    SipenItem,
    read_items,
    trial_items,
)
from sozo.suite.sipen.run_result import CONTROLS
from sozo.suite.sipen.task import Sipen, SipenSettings
from sozo.tasks import refuse_training
from sozo.tasks.task import Item

REPLIES = {
    "Yes": ["yes", " Yes\n", "Yes.", "'yes.'", "<think>No</think>Yes", "“Yes”。"],
    "No": ["NO", "**No.**", "**No**.", "`No`", "「No」", "[THINK]Maybe?[/THINK]\n\nNo"],
    "Maybe": ["Maybe\n", "'Maybe'"],
    None: [
        *("", "Answer: No", "No, because", "はい", "Yes, No, Maybe", "No..", "No!"),
        *("Not", "I think no", "<think>No", "Ｎｏ", "No No", "**"),
    ],
}
PAPER_MODELS = [row["model"] for row in load("sipen_accuracy")]


def percent(share):
    return f"{100 * share['value']:.1f}"


def held(share):
    """Of how many answers a share is true."""
    return round(share["value"] * share["n"])


def test_an_answer_is_one_option_and_nothing_else():
    for answer, texts in REPLIES.items():
        for text in texts:
            assert FORMS["sipen-v1"].read(text) == answer, text


def test_japanese_options_are_read_in_the_japanese_form():
    assert FORMS["sipen-ja-v1"].options == FORMS["sipen-ja-v2"].options
    texts = ("はい", "「いいえ」", "どちらともいえない。", "Yes", "はい、そうです")
    assert [FORMS["sipen-ja-v2"].read(text) for text in texts] == [
        *(*ANSWERS, None, None)
    ]


def test_random_texts_are_no_answers_unless_they_are_one():
    chance, alphabet = random.Random(0), [*"YesNoMaybe.。\"'*` \n「」<>/think"]
    alphabet += ["Yes", "No", "Maybe", "<think>", "</think>", "\ud800", "犬"]
    for _ in range(3_000):
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
    assert run.task.view.notes(run.result)[0].startswith("CONSTANT")
    for category, labels in metrics["accuracy"].items():
        directions = [
            i.direction
            for i in trial_items()
            if i.category == category and i.direction in IMPLICATURE
        ]
        entailed = sum(ENTAILMENT[direction] == answer for direction in directions)
        n = len(directions)
        assert labels["implicature"]["n"] == n
        assert held(labels["implicature"]) == n * (answer == NO)
        assert held(labels["entailment"]) == entailed
    third = pytest.approx(1 / 3)
    said = {"implicature": 1, "entailment": 0, "controls": third}
    assert metrics["constant_scores"][NO] == said


def test_the_trial_has_its_shape_and_words_in_their_places():
    items = trial_items()
    kinds = Counter((item.category, item.direction in IMPLICATURE) for item in items)
    assert kinds == {
        ("quantifier", True): 60,
        ("numeral", True): 64,
        ("adjective", True): 8,
        ("", False): 144,
    }
    for item in items:
        assert item.hypothesis != item.premise
        if item.direction in IMPLICATURE:
            before, after = item.premise.split(item.expression)
            assert item.hypothesis == f"{before}{item.replacement}{after}"


GOOD = asdict(SipenItem("1+1", "1", "Some fell.", "Many fell.", "stronger", 1))


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ("three steps", {"steps": 3}),
        ("a step that is true", {"steps": True}),
        ("an unknown direction", {"direction": "up"}),
        ("a control of no number", {"direction": "entailed", "steps": None}),
        ("a control of one step", {"direction": "entailed"}),
        ("a blank premise", {"premise": " "}),
        ("a premise without an id", {"premise_id": None}),
    ],
)
def test_items_of_a_file_are_checked_line_by_line(row, change, tmp_path):
    write_objects(tmp_path / "i.jsonl", [GOOD, GOOD | {"id": "2"} | change])
    with refused(f"sipen: {row}"):
        read_items(tmp_path / "i.jsonl")


def test_items_of_a_file_are_asked(tmp_path):
    write_objects(tmp_path / "i.jsonl", [GOOD])
    (item,) = Sipen(SipenSettings(sipen_items=str(tmp_path / "i.jsonl"))).items()
    assert item.prompt.endswith("\nAnswer: ")
    assert "Premise: Some fell.\n" in item.prompt
    for name in ("sipen_context", "sipen_prompt"):
        with refused(f"sipen: {name}"):
            Sipen(SipenSettings(**{name: "some"})).items()


@pytest.mark.parametrize("item", [trial_items()[5], trial_items()[-5]])
def test_the_trial_is_no_training_data(item):
    for text in (
        item.premise,
        f"仮説：{item.hypothesis}",
        {i.id: i.prompt for i in Sipen().items()}[item.id],
    ):
        with refused("sipen: the trial"):
            refuse_training([Item("x", text)])
    refuse_training([Item("x", "いくつかの窓が開いていた。")])


def test_items_without_controls_have_no_understanding_to_show(tmp_path):
    items = [item for item in trial_items() if item.direction in IMPLICATURE]
    run = run_of(tmp_path, lambda _: "Maybe.", items=items)
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
