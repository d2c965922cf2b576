"""The protocol's prompts are the papers' texts, byte for byte."""

import hashlib
from importlib.resources import files

import pytest

from sozo.data.prompts import fill, prompt
from sozo.data.prompts.form import PLAIN
from sozo.tasks.jcq.rubric import JCQ_V1

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


def test_dat_prompt_asks_for_ten_words():
    assert prompt("dat").splitlines()[-10:] == [f"{k}. 単語{k}" for k in range(1, 11)]


def test_fill_is_one_pass():
    # Were it two passes, the answer would be judged against itself as the question.
    assert fill("{question}|{answer}", question="{answer}", answer="{question}") == "{answer}|{question}"


def test_fill_leaves_backslashes_and_braces_of_values_alone():
    assert fill("<{story}>", story=r"\1 \g<0> {} {x} \n") == r"<\1 \g<0> {} {x} \n>"


@pytest.mark.parametrize("values", [{}, {"question": "q"}, {"question": "q", "answer": "a", "story": "s"}])
def test_fill_refuses_missing_and_extra_placeholders(values):
    with pytest.raises(ValueError, match=r"\['answer', 'question'\]"):
        fill("{question}{answer}", **values)


def test_the_judges_prompt_holds_question_and_answer_once():
    text = JCQ_V1.prompt("問い", "{question}")
    assert "# 質問\n問い\n\n# 回答\n{question}\n\n# 流暢性" in text


def test_a_prompt_as_a_model_is_asked_it():
    assert PLAIN.prompt(prompt("dat"), conversational=True) == [{"role": "user", "content": prompt("dat")}]
    # A base model has no chat template that would part the prompt from the response: a line break does.
    assert PLAIN.prompt(prompt("dat"), conversational=False) == prompt("dat") + "\n"
