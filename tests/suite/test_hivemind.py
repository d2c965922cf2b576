"""hivemind: similarities worked out by hand, stand-ins in their order, and what is no answer, by real encoders."""

import json
from pathlib import Path

import numpy as np
import pytest

from fakes import FakeEncoder
from sentences import refused
from sozo.data.jsonl import read_objects
from sozo.data.prompts import prompt
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import score_answers
from sozo.rewards.task import reward_of
from sozo.scoring.statistics import mean_interval
from sozo.suite.hivemind import task
from sozo.suite.hivemind.run_result import FORMS
from sozo.suite.hivemind.task import Hivemind, HivemindSettings, incomparable
from sozo.suite.pbig.ideas import trial_ideas
from sozo.tasks import refuse_training
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.task import Item

STORIES = [story.text for story in load_stories()]
IDEAS = [
    idea.description + idea.implementation + idea.differentiation
    for idea in trial_ideas()
]
# A fixed sentence with a slot; the nouns are of the embedded model.
TEMPLATE = (
    "わたしが思いついたのは、{noun}です。毎日の暮らしの中で{noun}に目を向けると、いつもの景色が少しだけ違って見えます。"
    "家族や友人と{noun}について話す時間も増え、心が豊かになるでしょう。だからこそ、まずは身近なところから始めてみることをおすすめします。"
)
NOUNS = (
    "時計",
    "海",
    "政治",
    "鍵",
    "祭り",
    "数学",
    "猫",
    "薬",
    "鉄道",
    "約束",
    "雪",
    "市場",
    "影",
    "音楽",
    "法律",
    "泥",
)
ASKED = [
    f"{place}で起きた、忘れられない小さな出来事についての話を書いてください。"
    for place in ("海辺", "山の上", "古い町", "空の旅")
]


def write_rows(path, rows):
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )
    return path


def write_prompts(folder):
    return write_rows(
        folder / "prompts.jsonl",
        ({"id": str(k), "prompt": text} for k, text in enumerate(ASKED)),
    )


def answered(path, texts):
    """A file of answers: `texts` are those to each prompt."""
    return write_rows(
        path,
        ({"item": str(k), "text": text} for k, own in enumerate(texts) for text in own),
    )


# Three texts of more than 80 characters that are prose; an encoder that knows them cut and whole.
A, B, C = (story[:120] for story in STORIES[:3])
CUT = {A[:80]: [1, 0, 0], B[:80]: [0.6, 0.8, 0], C[:80]: [0, 1, 0]}
WHOLE = {A: [1, 0, 0], B: [0.8, 0.6, 0], C: [0, 0, 1]}


@pytest.fixture
def by_hand(tmp_path, monkeypatch):
    """hivemind by two encoders, of which the second calls all equal but C."""
    second = {
        text: [1, 0] if not text.startswith(C[:20]) else [0, 1]
        for text in (*CUT, *WHOLE)
    }
    encoders = (FakeEncoder(CUT | WHOLE, name="one"), FakeEncoder(second, name="two"))
    monkeypatch.setattr(Hivemind, "encoders", encoders)
    return Hivemind(HivemindSettings(hivemind_prompts=str(write_prompts(tmp_path))))


def test_within_a_model(by_hand, tmp_path):
    texts = [[A, B, C], [A, A], [B, ""], [A, C, "<think>" + B]]
    run = score_answers(
        by_hand, answered(tmp_path / "a.jsonl", texts), tmp_path / "out"
    )
    # Cosines of the cut ones: AB 0.6, AC 0, BC 0.8.
    values = [answer.values for answer in run.result.answers()]
    assert [round(v["hivemind"], 6) for v in values[:3]] == [0.3, 0.7, 0.4]
    means = dict(zip("0123", [1.4 / 3, 1.0, None, 0.0], strict=True))
    assert run.result.by_item(by_hand.measures[0]) == pytest.approx(means)
    uncut, second = (
        run.result.by_item(by_hand.measures[2]),
        run.result.by_item(by_hand.measures[1]),
    )
    assert uncut == pytest.approx({"0": 0.8 / 3, "1": 1.0, "2": None, "3": 0.0})
    assert second == pytest.approx({"0": 1 / 3, "1": 1.0, "2": None, "3": 0.0})
    assert run.metrics["reasons"] == {"no_text": 2, "unpaired": 1}
    estimate, interval = (
        run.metrics["measures"]["hivemind"],
        mean_interval([1.4 / 3, 1.0, 0.0]),
    )
    assert (estimate["n"], estimate["of"]) == (3, 4)
    assert [estimate[name] for name in ("value", "low", "high")] == pytest.approx(
        [interval.value, interval.low, 1]  # no similarity is above 1
    )


def test_between_models(by_hand, tmp_path):
    sides = {"x": [[A, B], [C], [A], []], "y": [[A, C], [B, C], [], [B]]}
    one, two = (
        score_answers(
            by_hand, answered(tmp_path / f"{name}.jsonl", texts), tmp_path / name
        ).result
        for name, texts in sides.items()
    )
    cell = one.between(two, by_hand.measures[0])
    # Prompt 0: AA 1, AC 0, BA 0.6, BC 0.8; prompt 1: CB 0.8, CC 1. The others have no answer on one side.
    assert cell.value == pytest.approx((0.6 + 0.9) / 2)
    assert (cell.estimate.n, cell.of) == (2, 4)
    assert cell.estimate.reason == "2 values: an interval needs 3"
    # Different prompts: (A, B) of 0 with (B, C) of 1 is (0.6 + 0 + 1 + 0.8) / 4, C of 1 with (A, C) of 0 (0 + 1) / 2.
    assert cell.below == (f"other prompts {(0.6 + 0.5) / 2:.4f}",)
    assert two.between(one, by_hand.measures[0]).value == pytest.approx(cell.value)
    assert one.between(two, by_hand.measures[3]).value == pytest.approx((0.5 + 0.5) / 2)


def test_nothing_in_common(by_hand, tmp_path):
    sides = {"x": [[A, B], [], [], []], "y": [[], [B, C], [], []]}
    x, y = (
        score_answers(
            by_hand, answered(tmp_path / f"{name}.jsonl", texts), tmp_path / name
        ).result
        for name, texts in sides.items()
    )
    cell = x.between(y, by_hand.measures[0])
    assert (cell.value, cell.why) == (None, "no values")
    assert x.between(x, by_hand.measures[0]).below == ("other prompts –",)


def test_what_is_paid_is_the_distance_to_the_others(by_hand):
    reward = reward_of(by_hand)
    paid = reward(
        prompts=["p"] * 5,
        completions=[A, "申し訳ありませんが、できません。" * 6, B, "短い。", C],
    )
    assert paid == pytest.approx([0.7, 0, 0.3, 0, 0.6])
    assert reward(prompts=["p", "q", "p"], completions=[A, B, A]) == pytest.approx(
        [0, 0, 0]
    )  # the same twice, and one alone


def test_the_first_line_of_a_packaged_prompt_is_never_trained_on(tmp_path):
    with refused("hivemind: its prompts"):
        refuse_training(Hivemind().items()[:1])
    refuse_training(
        [
            *Hivemind(
                HivemindSettings(hivemind_prompts=str(write_prompts(tmp_path)))
            ).items(),
            Item("", "詩を書いてください。"),
        ]
    )


def test_the_prompts():
    packaged = Path(task.__file__).with_name("hivemind_ja.jsonl")
    rows = [row for _, row in read_objects(packaged)]
    kinds = {row["id"][:-3] for row in rows}
    assert (len({row["id"] for row in rows}), len(kinds)) == (100, 10)
    # Whoever asks a few asks of all kinds.
    assert {row["id"][:-3] for row in rows[:10]} == kinds
    # A model that says its prompt again has a score, the highest.
    assert {incomparable(item.prompt, 80) for item in Hivemind().items()} == {None}


def swapped(text, every):
    characters = list(text)
    for k in range(0, len(text) - 1, every):
        characters[k], characters[k + 1] = characters[k + 1], characters[k]
    return "".join(characters)


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no_text"),
        ("<think>まだ考えている", "no_text"),
        ("海は広い。", "short"),
        ("申し訳ありませんが、お答えできません。" + STORIES[0], "refusal"),
        ("This is a story about the sea and those who live by it. " * 3, "script"),
        ("、".join(NOUNS * 3), "script"),
        ("海はとても広くて青い。" * 10, "repetition"),
        (swapped(STORIES[0], 4), "disorder"),
        # What is compared is noise.
        ("".join(RANDOM.choice(list(STORIES[1]), 80)) + STORIES[0], "disorder"),
        (STORIES[0][:80], None),
    ],
)
def test_what_is_no_answer(text, reason):
    assert incomparable(text, 80) == reason


def test_real_prose_is_usable():
    assert {incomparable(text, 80) for text in (*STORIES, *IDEAS)} == {None}


def similarities(folder, name):
    measures = json.loads((folder / name / "metrics.json").read_text("utf-8"))[
        "measures"
    ]
    return [measures[form]["value"] for form in FORMS]


@pytest.fixture(scope="module")
def standins(tmp_path_factory):
    """An echo, a template and texts of different authors, each in its folder under `runs`."""
    folder = tmp_path_factory.mktemp("standins")
    texts = [*STORIES[:8], *IDEAS[:8]]
    echo = prompt("prompt", "sozo.suite.hivemind").replace("{topic}", "{}")
    sides = {
        "echo": [[echo.format(text)] * 4 for text in ASKED],
        "template": [
            [TEMPLATE.format(noun=noun) for noun in NOUNS[k::4]] for k in range(4)
        ],
        "independent": [texts[4 * k : 4 * k + 4] for k in range(4)],
    }
    asked = Hivemind(HivemindSettings(hivemind_prompts=str(write_prompts(folder))))
    for name, own in sides.items():
        file, run = answered(folder / f"{name}.jsonl", own), folder / "runs" / name
        score_answers(asked, file, run, source=name)
    return folder


def test_standins_come_out_in_their_order(standins):
    echo, template, independent = (
        similarities(standins / "runs", name)
        for name in ("echo", "template", "independent")
    )
    for one, other, last in zip(
        echo, template, independent, strict=True
    ):  # by both encoders, cut and uncut
        assert one == pytest.approx(1)
        assert one > other + 0.02 > other > last + 0.02


def test_fewer_than_two_answers_are_refused_before_anything_starts():
    with refused("hivemind: one answer a prompt"):
        task = Hivemind()
        SamplingOptions(answers_per_item=1).resolved(task, task.items())
