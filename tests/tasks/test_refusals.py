"""A refusal earns nothing: the same words in place of an answer, in every task, and what they are worth there."""

import pytest

from sozo.scoring.final_text import answer_state, no_answer
from sozo.suite.general.task import General
from sozo.suite.hivemind.task import incomparable
from sozo.suite.pbig.ideas import parse_idea
from sozo.suite.sentences.task import Sentences
from sozo.suite.sipen.tables import LABELS
from sozo.suite.sipen.task import Sipen
from sozo.tasks.dat.task import Dat, DatSettings
from sozo.tasks.sat.task import Sat, SatSettings
from sozo.tasks.task import Answer

REFUSALS = (
    "申し訳ありませんが、そのご依頼にはお応えできません。",
    "申し訳ございませんが、{words}についての文章を書くことはできません。別のご依頼でしたらお手伝いいたします。",
    "I'm sorry, but I can't help with that.",
)


def rows(task, items, text):
    asked = [Answer(str(k), item.id, text) for k, item in enumerate(items)]
    return task.score(items, asked)


def in_dat(text):
    task = Dat(DatSettings(noun_checker="jumandic"))
    return [row.values["dat/usable"] for row in rows(task, task.items(), text)]


def in_sat(text):
    task = Sat(SatSettings(sat_embedding_model="ja-ginza"))
    scored = rows(task, task.items()[:9], text)
    assert all(
        row.values.get("sat", 1) > 0 for row in scored
    )  # the paper's distance pays
    return [row.values["sat/kept"] for row in scored]


def in_sentences(text):
    task = Sentences()
    items = task.items()[:9]
    worth = []
    for item in items:
        words = f"{item.columns['first']}と{item.columns['second']}"
        worth += rows(task, [item], text.format(words=words))
    return [row.values["sentences"] for row in worth]


def in_sipen(text):
    task = Sipen()
    right = [f"sipen/{name}" for name in (*LABELS, "controls")]
    scored = rows(task, task.items(), text)
    return [row.values.get(name, 0.0) for row in scored for name in right]


def in_general(text):
    task = General()
    items = [item for item in task.items() if "check" in item.columns]
    return [row.values["general"] for row in rows(task, items, text)]


def in_pbig(text):
    return [float(parse_idea(text).fields is not None)]


def in_hivemind(text):
    return [float(incomparable(text, 10) is None)]


# JCQ has no row: whoever judges gives a refusal the scale's least, and the share of them stands beside the mean.
TASKS = {
    "dat": in_dat,
    "sat": in_sat,
    "sentences": in_sentences,
    "sipen": in_sipen,
    "general": in_general,
    "pbig": in_pbig,
    "hivemind": in_hivemind,
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_earns_nothing(task, text):
    assert set(TASKS[task](text)) == {0.0}


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_one_state_and_is_judged(text):
    assert answer_state(text, "stop") == "refusal"
    assert no_answer(Answer("1", "1", text)) is None
