"""The protocol's prompts are the papers' texts, byte for byte, and whoever asks a model asks in one form."""

import hashlib
import json
from importlib.resources import files

import numpy as np
import pytest

from sentences import refused
from sozo.data.prompts import fill, prompt
from sozo.data.prompts.form import PLAIN, PromptForm, read_form, settled_form
from sozo.models.model_support import encode_prompt, encode_text
from sozo.models.settings import GeneratorSettings, resolve
from sozo.models.tiny import build_tokenizer
from sozo.training.entries import read_entries
from sozo.training.mix import dataset_rows
from sozo.training.selection import Selected, training_rows

SHA256 = {
    "dat": "11f3e6a20bc3acf34c0a740b12b682808e25c27532eb0dcf811625cd73beb6c5",
    "jcq_judge": "89ed1a65918b4ea73c17678f263cd080d900fafc54fe92a6afd29b7ec877605b",
    "sat": "9ebb5fd9b1683777e8ab93b2add2051ee79bb4349a699acf05e8d8309bbcd276",
}


@pytest.mark.parametrize("name", SHA256)
def test_prompt_is_the_papers_text_byte_for_byte(name):
    raw = files("sozo.data.prompts").joinpath(f"{name}.txt").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == SHA256[name]
    assert prompt(name).encode() == raw
    assert not prompt(name).endswith("\n")
    assert "\r" not in prompt(name)


def test_fill_is_one_pass():
    # Were it two passes, the answer would be judged against itself as the question.
    assert (
        fill("{question}|{answer}", question="{answer}", answer="{question}")
        == "{answer}|{question}"
    )
    assert fill("<{story}>", story=r"\1 \g<0> {} {x} \n") == r"<\1 \g<0> {} {x} \n>"
    for values in (
        {},
        {"question": "q"},
        {"question": "q", "answer": "a", "story": "s"},
    ):
        with pytest.raises(ValueError, match=r"\['answer', 'question'\]"):
            fill("{question}{answer}", **values)


def test_a_prompt_as_a_model_is_asked_it():
    assert PLAIN.prompt(prompt("dat"), conversational=True) == [
        {"role": "user", "content": prompt("dat")}
    ]
    # A base model has no chat template that would part the prompt from the answer: a line break does.
    assert PLAIN.prompt(prompt("dat"), conversational=False) == prompt("dat") + "\n"


# Its form

FORM = PromptForm("猫", {"tone": "山"})
ASKED = "1. 猫\n2. 犬\n3. 山"
TEMPLATE = (
    "{% for m in messages %}{{ '\n' if loop.index > 1 }}{{ loop.index }}. {{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '\n3. ' + tone }}{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    made = build_tokenizer(["犬", "猫", "水", "山"])
    made.chat_template = TEMPLATE
    return made


def test_sampling_and_every_method_put_a_prompt_before_the_model_in_the_same_form(
    tokenizer, tmp_path
):
    assert tokenizer.decode(encode_text(tokenizer, "犬", FORM)) == ASKED

    good, bad = (
        Selected(["a"], ["犬"], ["dat"], [text], np.zeros(1), 0, 1)
        for text in ("水", "犬")
    )
    rows = training_rows(
        {"completion": good}, conversational=True, form=FORM
    ) + training_rows({"chosen": good, "rejected": bad}, conversational=True, form=FORM)
    for row in rows:  # as TRL takes them
        ids = encode_prompt(tokenizer, row["prompt"], **row["chat_template_kwargs"])
        assert tokenizer.decode(ids) == ASKED
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"prompt": "犬"}), "utf-8")
    entries = read_entries(
        [
            {
                "prompts": str(tmp_path / "prompts.jsonl"),
                "reward_funcs": ["sozo.rewards.dat_reward"],
            }
        ]
    )
    (row,) = dataset_rows(entries, conversational=True, form=FORM)
    assert (
        tokenizer.decode(encode_prompt(tokenizer, row["prompt"], **FORM.arguments))
        == ASKED
    )
    # TRL must see no column of arguments where there are none.
    assert set(training_rows({"completion": good}, conversational=True)[0]) == {
        "prompt",
        "completion",
    }


def test_a_model_is_asked_as_it_was_trained_unless_somebody_says_otherwise(tmp_path):
    settings = {
        "script": {"system_prompt": "猫"},
        "training": {"chat_template_kwargs": {"tone": "山"}},
    }
    (tmp_path / "run_config.json").write_text(
        json.dumps({"settings": settings}), "utf-8"
    )
    model = tmp_path / "checkpoint-2"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "sozo_state.json").write_text(
        '{"version": 2, "files": {}}'
    )  # a whole checkpoint

    trained = resolve(GeneratorSettings(str(model)))
    assert trained.form == FORM
    other = resolve(
        GeneratorSettings(str(model), system_prompt="", chat_template_kwargs="{}")
    )
    assert other.form == PLAIN
    assert (
        other.record.items()
        >= {"system_prompt": "", "chat_template_kwargs": "{}"}.items()
    )
    assert settled_form("犬", None, str(model)) == ("犬", {"tone": "山"})
    # Records of runs without a form are what they were before there was one.
    assert "system_prompt" not in resolve(GeneratorSettings("org/name")).record


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        ("{", "form: arguments that are no JSON"),
        ("[1]", "form: arguments that are no mapping"),
        ({"add_generation_prompt": False}, "form: no argument of a template"),
    ],
)
def test_arguments_that_cannot_be(arguments, row):
    with refused(row):
        read_form(None, arguments)


def test_a_form_that_the_model_does_not_know(tokenizer):
    tokenizer = build_tokenizer(["犬"])
    tokenizer.chat_template = (
        "{{ tone }}{{ raise_exception('System role not supported') }}"
    )
    with refused("model_support: a template that refuses"):
        encode_text(tokenizer, "犬", FORM)
    tokenizer.chat_template = None
    with refused("model_support: a form without a template"):
        encode_text(tokenizer, "犬", FORM)
