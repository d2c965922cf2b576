"""Rubrics: what the paper prints, and a judge's verdict on one criterion."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sozo.data.prompts import prompt
from sozo.suite.rubrics import Criterion, criteria_of
from sozo.suite.rubrics.criterion import (
    CriterionVerdict,
    criterion_rubric,
    read_verdict,
)

SCALE = Criterion("specificity", (1, 4), title="Specificity")


def test_pbig_is_the_papers_table_3():
    criteria = criteria_of("pbig")
    assert [(c.name, c.lowest, c.highest, c.groups) for c in criteria] == [
        ("specificity", 1, 4, ("technical", "business")),
        ("technical_validity", 1, 4, ("technical",)),
        ("innovativeness", 1, 5, ("technical",)),
        ("competitive_advantage", 1, 4, ("technical",)),
        *(
            (f"{name}_{to}", 0, 3, ("business",))
            for name in ("need_validity", "market_size")
            for to in ("b2b", "b2c")
        ),
    ]
    two, three = {"specificity": 2}, {"specificity": 2, "technical_validity": 1}
    assert [c.above for c in criteria] == [None, two, three, three, two, two, two, two]
    for criterion in criteria:  # every score of a scale has its words, in order
        places = [criterion.rubric.index(f"{score}. ") for score in criterion.scores]
        assert places == sorted(places)
        assert (criterion.not_applicable == 0) == (criterion.lowest == 0)
    assert criteria[3].instruction == (
        "Criterion: Competitive Advantage\nDescription: Distinct benefits and advantages over existing solutions.\n"
        "Rubric: Two sub-questions are considered: (A) Is it difficult to imitate the idea using the technology? (B) "
        "Is the technology essential to the core of the idea? 1. Neither A nor B. 2. Only B. 3. Only A. 4. Both."
    )


def test_jcq_is_in_the_words_of_its_judge():
    for criterion in criteria_of("jcq"):
        assert (
            f"# {criterion.japanese}: {criterion.description}\n{criterion.rubric}"
            in prompt("jcq_judge")
        )


def test_a_prompt_is_the_papers_and_no_answer_fills_a_place_in_it():
    rubric = criterion_rubric(SCALE)
    asked = rubric.prompt(
        "# Examples\nExample 1\nIdea: {input}\nScore: 2\n\n", "Idea: {instruction}"
    )
    assert asked.startswith(
        "You are given a pair consisting of a patent and a product idea based on that patent."
    )
    assert "# Instruction\nCriterion: Specificity\n" in asked
    assert (
        "\n\n# Examples\nExample 1\nIdea: {input}\nScore: 2\n\n# Input\nIdea: {instruction}\n\n# Output"
        in asked
    )
    assert asked.endswith(
        '{"score": <number>, "reason": "<brief reason>", "confidence": <integer between 0 and 100>}'
    )
    assert "Examples\n" not in rubric.prompt("", "Idea")
    assert (
        criterion_rubric(Criterion("specificity", (1, 5), title="Specificity")).name
        != rubric.name
    )


GOOD = '{"score": 3, "reason": "r", "confidence": 80}'


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        GOOD.replace("3", "3.0"),
        f"```json\n{GOOD}\n```",
        f"<think>{{}} or 4</think>\n\n{GOOD}\n",
    ],
)
def test_a_verdict_is_read(reply):
    assert read_verdict(reply, SCALE) == CriterionVerdict(3, "r", 80)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "3",
        f"The score: {GOOD}",
        f"<think>{GOOD}",
        GOOD.replace("3", "3.5"),
        GOOD.replace("3", '"3"'),
        GOOD.replace("3", "5"),
        GOOD.replace("3", "true"),
        GOOD.replace("3", "NaN"),
        GOOD.replace('"r"', "1"),
        GOOD.replace("80", "101"),
        GOOD.replace("80", "80.5"),
        GOOD.replace("}", ', "score": 3}'),
        '{"score": 3, "reason": "r"}',
        "[" * 100_000,
    ],
)
def test_what_leaves_a_doubt_is_no_verdict(reply):
    assert read_verdict(reply, SCALE) is None


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from('{}[]":,scoreanfid 0123456789.-`\n<think>/')))
def test_no_text_raises(text):
    read_verdict(text, SCALE)
