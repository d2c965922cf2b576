"""The general check: each instruction attacked, texts read exactly and resumed, and who has no likelihoods."""

import random
from collections import Counter
from pathlib import Path

import pytest
import yaml

from command_line import sozo
from model_server import KEY, completion, server
from sentences import refused
from small_models import save_characters
from sozo.models.likelihood import bits_per_character
from sozo.models.weights import load_model
from sozo.scoring.endpoint.greeting import GREETING
from sozo.suite.general.task import FEW, General
from sozo.tasks import finished_run, refuse_training
from sozo.tasks.task import Answer, Item

TASK = General()
ITEMS = {item.id: item for item in TASK.items()}
ASKED = [item for item in ITEMS.values() if "check" in item.columns]
KNOWN = yaml.safe_load(
    (Path(__file__).parents[1] / "files" / "general_answers.yaml").read_text("utf-8")
)
NOUNS = {
    "ja": ["時計", "海", "政治", "鍵", "祭り", "数学", "猫", "薬", "鉄道", "約束"],
    "en": [
        "promise",
        "clock",
        "sea",
        "law",
        "key",
        "feast",
        "algebra",
        "cat",
        "drug",
        "rail",
    ],
}
REFUSALS = {
    "ja": ["申し訳ありませんが、それにはお答えできません。", "できません。"],
    "en": ["I'm sorry, but I can't help with that.", "I cannot do that."],
}
CHATTY = {"ja": "はい、お答えします。\n{}", "en": "Sure! The answer is {}"}
ALONE = ("nothing else", "ほかには何も書かない")


def language(item):
    return item.group.rpartition("_")[2]


def right(item, text):
    (row,) = TASK.score([item], [Answer("", item.id, text)])
    assert row.values["general"] == row.values[f"general/{item.group}"]
    return bool(row.values["general"])


def test_what_is_asked_is_what_the_page_says():
    groups = Counter(item.group for item in ITEMS.values())
    sizes = {"instructions": 30, "length": 10, "bits": 31}
    assert groups == {f"{name}_{own}": sizes[name] for name in sizes for own in FEW}
    assert set(KNOWN) == {item.id for item in ASKED}


@pytest.mark.parametrize("item", ASKED, ids=lambda item: item.id)
def test_an_instruction_tells_right_answers_from_wrong_ones_and_from_attacks(item):
    good, wrong = KNOWN[item.id]
    assert right(item, good)
    assert right(item, f"<think>{wrong}</think>\n{good}\n")
    assert not right(item, wrong)
    own = language(item)
    numbered = "\n".join(f"{k}. {noun}" for k, noun in enumerate(NOUNS[own], 1))
    attacks = ["", "<think>", item.prompt, item.prompt * 3, *REFUSALS[own]]
    attacks += [numbered, "\n".join(NOUNS[own]), ", ".join(NOUNS[own])]
    assert [attack for attack in attacks if right(item, attack)] == []
    # A chatty answer is right unless nothing else was asked for.
    chatty = CHATTY[own].format(good)
    assert right(item, chatty) != any(mark in item.prompt for mark in ALONE)


def test_a_length_is_in_characters_after_reasoning_and_short_by_language():
    for own, few in FEW.items():
        item = next(i for i in ITEMS.values() if i.group == f"length_{own}")
        for text, length in (
            ("", 0),
            ("犬", 1),
            ("あ" * few, few),
            ("<think>" + "い" * 300 + "</think>\n" + "う" * (few - 1) + "\n", few - 1),
            ("<think>" + "い" * 300, 0),
        ):
            (row,) = TASK.score([item], [Answer("", item.id, text)])
            short = float(length < few)
            assert row.values == {
                f"general/length_{own}": length,
                "general/few_characters": short,
            }


def test_a_text_that_nobody_read_has_no_value():
    item = next(item for item in ITEMS.values() if item.read)
    for text, values, reason in (
        ("0.25", {f"general/{item.group}": 0.25}, None),
        ("", {}, "no_likelihood"),
        ("nine", {}, "no_likelihood"),
    ):
        (row,) = TASK.score([item], [Answer("", item.id, text)])
        assert (dict(row.values), row.reason) == (values, reason)


def test_a_run_reads_texts_and_goes_on_where_it_was_cut_off(tmp_path):
    """A model with random weights that can write each character of the texts."""
    save_characters(tmp_path / "m", [item.prompt for item in ITEMS.values()])
    command = ["run", "--model", "m", "--tasks", "general", "--max-new-tokens", "8"]
    done = sozo(tmp_path, *command, "--output", "out")
    assert done.returncode == 0, done.stderr
    assert "not measured" not in done.stdout
    folder = tmp_path / "out" / "m" / "general"
    run = finished_run(folder)
    texts = [item for item in ITEMS.values() if item.read]
    model, tokenizer = load_model(str(tmp_path / "m"))
    expected = bits_per_character(model, tokenizer, [item.prompt for item in texts])
    found = {answer.item: answer for answer in run.scored}
    assert [
        found[item.id].values[f"general/{item.group}"] for item in texts
    ] == pytest.approx(expected, rel=1e-5)
    assert run.metrics["reasons"] == {}

    before = (folder / "metrics.json").read_bytes()
    (folder / "metrics.json").unlink()
    kept, lost, _ = sorted(folder.glob("answers/part-*.parquet"))
    number = kept.stat().st_ino
    lost.unlink()
    assert sozo(tmp_path, *command, "--output", "out").returncode == 0
    assert (folder / "metrics.json").read_bytes() == before
    assert kept.stat().st_ino == number  # it was not written again


def test_a_server_has_no_likelihoods_and_the_rest_goes_on(tmp_path):
    asked = []

    def answer(body):
        asked.append(body["messages"][-1]["content"])
        return completion("42")

    with server(answer) as (url, _):
        words = ["run", "--model", "m", "--tasks", "general", "--base-url", url]
        done = sozo(tmp_path, *words, "--output", "out", OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    prompts = {item.prompt for item in ITEMS.values() if not item.read}
    assert prompts == set(asked) - {GREETING}
    run = finished_run(tmp_path / "out" / "m" / "general")
    measures = run.metrics["measures"]
    assert run.metrics["reasons"] == {"no_likelihood": 62}
    assert measures["general/bits_ja"]["value"] is None
    assert measures["general/instructions_en"] == pytest.approx(
        measures["general/instructions_en"] | {"value": 1 / 30, "n": 30}
    )


def test_nothing_of_it_may_be_trained_on():
    for item in random.Random(0).sample(list(ITEMS.values()), 3):
        with refused("general: its items"):
            refuse_training([Item("mine", f"{item.prompt}\n")])
    refuse_training([Item("mine", "What is 17 + 26?")])
