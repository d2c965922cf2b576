"""Cue DAT on hand-worked numbers."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fakes import FakeEncoder, FakeNouns, list_text
from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.eval.run import score_answers
from sozo.rewards.task import reward_of
from sozo.scoring.distance import cosines_to_cues
from sozo.suite.words.cue_dat import _PROMPTS, CueDat, CueSettings, unshared
from sozo.suite.words.items import ItemSettings
from sozo.tasks import refuse_training
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.task import Answer, Item

NOUNS = [
    f"{one}{two}" for one in "犬猫水山川本車空海石" for two in "木花"
]  # any strings: the checker is a fake
TENTH = {
    noun: np.eye(10, dtype=np.float32)[k // 2] for k, noun in enumerate(NOUNS)
}  # two nouns an axis


def words_of(task, vectors=None):
    """The task with a fake checker, a fake encoder and the nouns that they know."""
    vectors = TENTH if vectors is None else vectors
    task.scorer = DatScorer(FakeNouns(vectors), FakeEncoder(vectors))
    task.nouns = tuple(vectors)
    return task


def ask(task, *pairs):
    """The rows of (cue, text)."""
    items = [Item(cue, "", {"cue": cue}) for cue, _ in pairs]
    return task.score(items, [Answer("", cue, text) for cue, text in pairs])


def below(words):
    """Lines 2 to 10, as an answer goes on below a cue in line 1."""
    return list_text(["", *words]).partition("\n")[2]


def test_cosines_to_cues_leave_out_the_cue_itself():
    unit = np.float32([[1, 0], [0.6, 0.8], [0, 1]])
    near = cosines_to_cues(unit, np.array([[0, 1], [2, 2]]), np.array([0, 2]))
    # Words 0, 1 and cue 0: only word 1 counts, 0.6. Cue 2: (0 + 0.8) / 2. The second list is cue 2 itself.
    assert near[0].tolist() == pytest.approx([0.6, 0.4])
    assert near[1, 0] == 0
    assert np.isnan(near[1, 1])


def cue_task(**settings):
    task = words_of(CueDat(CueSettings(noun_checker="jumandic", **settings)))
    task.asked = tuple(Item(cue, "", {"cue": cue}) for cue in ("犬木", "猫木", "水木"))
    return task


def test_cue_dat_is_how_much_nearer_to_the_other_cues():
    far = ["猫花", "水花", "山木", "山花", "川木", "川花", "本木", "本花", "車木"]
    near = ["犬花", "山木", "山花", "川木", "川花", "本木", "本花", "車木", "車花"]
    other = ["猫木", "山木", "山花", "川木", "川花", "本木", "本花", "車木", "車花"]
    rows = ask(
        cue_task(), ("犬木", below(far)), ("犬木", below(near)), ("犬木", below(other))
    )
    # Two of nine words lie on another cue's axis: (1/9 + 1/9) / 2 - 0. One on its own: 0 - 1/9. A word that is another
    # cue is not compared with it, so that cue sees eight words, none near.
    assert [row.values["cue_dat"] for row in rows] == pytest.approx([1 / 9, -1 / 9, 0])
    assert [row.values["cue_dat/usable"] for row in rows] == [1, 1, 1]


def test_one_list_for_all_cues_has_nothing():
    words = ["犬花", "猫花", "水花", "山木", "山花", "川木", "川花", "本木", "本花"]
    task = cue_task()
    rows = ask(task, *((item.id, below(words)) for item in task.asked))
    assert np.mean([row.values["cue_dat"] for row in rows]) == pytest.approx(0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (list_text(["犬木", *NOUNS[2:11]]), None),  # the cue repeated in line 1
        (f"<think>犬か</think>\n{below(NOUNS[2:11])}", None),
        (list_text(["猫木", *NOUNS[3:12]]), "format"),  # another word in line 1
        (list_text(NOUNS[2:11]), "format"),  # nine words numbered from 1
        (below(NOUNS[2:10]), "format"),
        (f"はい。\n{below(NOUNS[2:11])}", "format"),
        (below(NOUNS[2:11]).replace("2. ", "２. "), "format"),
        (below(["犬木", *NOUNS[2:10]]), "repeated_word"),  # the cue among the nine
        (below([NOUNS[2], *NOUNS[2:10]]), "repeated_word"),
        (below(["走る", *NOUNS[2:10]]), "not_noun"),
        ("", "format"),
    ],
)
def test_what_a_list_after_a_cue_is(text, reason):
    (row,) = ask(cue_task(), ("犬木", text))
    assert row.reason == reason
    assert row.values["cue_dat/usable"] == (reason is None)
    assert ("cue_dat" in row.values) == (reason is None)


def test_prompts_hold_the_cue_once_and_tiny_goes_on_after_line_one():
    asks = prompt("cue_dat", "sozo.suite.words")
    assert asks.count("{") == asks.count("{cue}") == 1
    for form, before in (
        ("dat", prompt("dat") + "1. "),
        ("dat-line", prompt("dat") + "\n1. "),
    ):
        task = words_of(
            CueDat(CueSettings(noun_checker="jumandic", cue_prompt=form, num_items=3))
        )
        assert [item.prompt for item in task.items()] == [
            before + item.id for item in task.items()
        ]
    with pytest.raises(
        UserError, match="cue_prompt must be one of cue, dat, dat-line, not x"
    ):
        words_of(CueDat(CueSettings(noun_checker="jumandic", cue_prompt="x"))).items()


def test_splits_share_nothing_and_test_is_never_trained_on():
    test, train = (
        {*ItemSettings(split=split).shuffled(NOUNS)} for split in ("test", "train")
    )
    assert test | train == set(NOUNS)
    assert not test & train
    assert ItemSettings(item_seed=1).shuffled(NOUNS) != ItemSettings().shuffled(NOUNS)
    with pytest.raises(UserError, match="split must be train or test, not dev"):
        ItemSettings(split="dev").shuffled(NOUNS)
    for template in _PROMPTS.values():
        held, free = (
            Item("", template.replace("{cue}", cue), {})
            for cue in (min(test), min(train))
        )
        refuse_training([free])
        with pytest.raises(UserError, match="test split"):
            refuse_training([held])
    refuse_training([Item("", prompt("dat"), {})])


def test_distances_are_always_centred_and_words_japanese():
    for name in ("ja-ginza", "centred:ja-ginza"):
        task = CueDat(CueSettings(noun_checker="jumandic", embedding_model=name))
        assert task.settings.embedding_model == "centred:ja-ginza"
    with pytest.raises(UserError, match="asks for Japanese nouns, not for en"):
        CueSettings(language="en")
    for wrong in ({"num_items": 2}, {"item_seed": -1}):
        with pytest.raises(UserError, match="must be at least"):
            ItemSettings(**wrong)


def test_answers_of_which_none_is_a_list():
    task = words_of(CueDat(CueSettings(noun_checker="jumandic")))
    assert [row.reason for row in ask(task, ("犬木", "嫌です"), ("犬木", ""))] == [
        "format"
    ] * 2
    assert ask(task) == []


def test_lists_of_one_item_share_words_or_not():
    assert unshared([["犬", "猫"]] * 5) == [0] * 5
    # The first list and the last share one word of two, and nothing with the other one: (1 / 2 + 1) / 2.
    assert unshared([["犬", "猫"], ["水", "山"], ["犬", "川"]]) == pytest.approx(
        [3 / 4, 1, 3 / 4]
    )


def finished(task, tmp_path, name, texts):
    """A run of the answers' texts to the task's items, `texts(item)` each."""
    path = tmp_path / f"{name}.jsonl"
    answers = [(item.id, text) for item in task.items() for text in texts(item)]
    rows = [
        {"item": item, "id": str(k), "text": text}
        for k, (item, text) in enumerate(answers)
    ]
    path.write_text(
        "\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8"
    )
    return score_answers(task, path, tmp_path / name, source=name).result


def test_a_run_says_what_fixed_lists_share(tmp_path):
    task = cue_task()
    task.asked = tuple(Item(cue, "", {"cue": cue}) for cue in NOUNS[:6])
    rng = np.random.default_rng(0)

    def others(item):
        return [noun for noun in NOUNS if noun[0] != item.id[0]]

    fixed = finished(
        task, tmp_path, "fixed", lambda item: [below(others(item)[:9])] * 3
    )
    drawn = finished(
        task,
        tmp_path,
        "drawn",
        lambda item: [below(rng.choice(others(item), 9, False)) for _ in range(3)],
    )
    own = fixed.by_item(task.measures[-1]), drawn.by_item(task.measures[-1])
    assert set(own[0].values()) == {0}
    assert all(0.3 < share < 0.7 for share in own[1].values())
    assert fixed.metrics["measures"]["cue_dat/unshared"]["value"] == 0
    assert fixed.against(drawn, task.measures[-1]).value < -0.3


def test_usable_form_alone_is_paid_where_it_is_the_measure():
    reward = reward_of(cue_task(), measure="cue_dat/usable")
    asked = {"prompts": ["?"] * 2, "cue": ["犬木"] * 2, "item": ["犬木"] * 2}
    assert reward(completions=[below(NOUNS[2:11]), "嫌です"], **asked) == [1, 0]


def test_unshared_words_are_paid_within_a_group():
    task = cue_task()
    same, other = below(NOUNS[2:11]), below(NOUNS[11:20])
    assert not reward_of(task).together  # it sees one answer at a time
    reward = reward_of(task, measure="cue_dat/unshared")
    asked = {"prompts": ["?"] * 4, "cue": ["犬木"] * 4, "item": ["犬木"] * 4}
    assert reward(completions=[same, same, other, "嫌です"], **asked) == [
        0.5,
        0.5,
        1,
        0,
    ]


def test_the_baselines_command_prints_a_row_for_each_way():
    root = Path(__file__).parents[2]
    words = [
        "benchmarks/word_tasks.py",
        "--nouns",
        "tiny",
        "--items",
        "8",
        "--answers",
        "1",
        "--only",
        "random|farthest from the cue|such a list, in prose",
    ]
    done = subprocess.run(
        [sys.executable, *words], cwd=root, capture_output=True, text=True, check=True
    )
    rows = {
        line.split("|")[1].strip(): line.split("|")[3].strip()
        for line in done.stdout.splitlines()[3:]
    }
    assert rows["such a list, in prose"] == "–"
    value = {name: float(rows[name].split()[0]) for name in rows if rows[name] != "–"}
    assert value["farthest from the cue"] > max(value["random"], 0.1)
