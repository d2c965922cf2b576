"""SAT's reward: attacks are paid less than honest rewrites, on the five stories on which no limit was set."""

import pickle

import pytest

from fakes import FakeEncoder
from sat_attacks import ADAPTIVE, cases
from sentences import refused
from sozo.rewards import make_sat_reward
from sozo.rewards.sat import SatReward
from sozo.tasks.sat.gate import Gate, GateReason, distinct_share, kana_share, read_prose
from sozo.tasks.sat.score import SatScorer
from sozo.tasks.sat.stories import load_stories

REPORTED = [case for case in cases() if case.part == "report"]
ATTACKS = [name for name in REPORTED[0].attacks if name not in ADAPTIVE]


@pytest.fixture(scope="module")
def reward():
    return make_sat_reward(penalise_duplicates=False)


def pay(reward, case, texts):
    return reward(completions=list(texts), story=[case.text] * len(texts))


@pytest.mark.parametrize("case", REPORTED, ids=lambda case: case.id)
def test_attacks_are_paid_nothing_and_honest_rewrites_something(reward, case):
    honest = pay(reward, case, case.rewrites.values())
    refused = [
        style for style, value in zip(case.rewrites, honest, strict=True) if not value
    ]
    # One of the ten is taken for another tale: the price of the rule, and no reason to move a limit now.
    assert refused == (["startup"] if case.id == "toshishun" else [])
    paid = dict(
        zip(
            ATTACKS,
            pay(reward, case, [case.attacks[name] for name in ATTACKS]),
            strict=True,
        )
    )
    assert paid == dict.fromkeys(ATTACKS, 0.0)
    assert max(paid.values()) < min(value for value in honest if value)


def test_the_rule_that_stops_each_attack():
    gate = Gate([story.text for story in load_stories()])
    case = REPORTED[0]
    reasons = {
        "off topic: essay": "off_topic",
        "rare words": "script",
        "sentences shuffled": "copied",
        "words shuffled": "disorder",
        "characters shuffled": "disorder",
        "copied, words replaced": "copied",
        "translated: English": "script",
        "translated: kana": "script",
        "padded: half essay": "padding",
        "prompt repeated": "extras",
        "sentence repeated": "repetition",
    }
    assert {
        name: str(gate(case.text, case.attacks[name])) for name in reasons
    } == reasons
    honest = next(iter(case.rewrites.values()))
    assert gate(case.text, honest) is None
    assert gate(case.text, honest[:299]) is GateReason.LENGTH
    assert gate(case.text, honest[:200] + "\n" + honest[200:]) is GateReason.LINES
    assert gate(case.text, "<think>" + honest) is GateReason.NO_TEXT
    assert gate(case.text, "…") is GateReason.NO_TEXT
    assert gate(case.text, f"<think>長さは</think>{honest}") is None


def test_any_text_gets_a_verdict():
    gate = Gate(["川に大きな桃が流れてきた。"], length=(1, 10_000))
    for text in (
        "\0",
        "犬\0猫",
        "\ud800犬",
        "ー" * 500,
        "犬",
        "でし" * 99,
        "a\u2028b",
        "。" * 9 + "犬",
        "👺" * 50 + "犬",
    ):
        assert gate("桃の話。", text) is None or isinstance(
            gate("桃の話。", text), GateReason
        )
    assert read_prose("").joint == 0.0
    assert read_prose("し公分立方やタ巻体組電と婦相やくうそのぞり").terms >= {
        "公",
        "婦",
    }  # cut inside a character
    assert (kana_share(""), distinct_share("")) == (0.0, 1.0)


def test_the_same_tale_in_other_words_is_no_rival():
    case = REPORTED[0]
    honest = next(iter(case.rewrites.values()))
    gate = Gate(
        [
            *(story.text for story in load_stories()),
            case.text,
            case.text.replace("爺さん", "おじいさん"),
        ]
    )
    assert gate(case.text, honest) is None


def numbered(count, story="鶴の話。"):
    """A reward whose gate lets everything of 1 to 9 characters pass and whose distances are known: 0, 1, ..."""
    encoder = FakeEncoder(
        {story: [1, 0], "同じ": [1, 0], "違う": [0, 1], "逆": [-1, 0]}
    )

    class Open(Gate):
        def __call__(self, story, text):
            return None if len(text) < 10 else GateReason.LENGTH

    reward = SatReward(penalise_duplicates=count)
    reward.tools = (SatScorer(encoder), Open([]))
    return reward


def test_what_is_paid_and_logged_by_hand():
    reward, metrics, columns = numbered(True), {}, {}
    texts = ["同じ", "違う", "逆", "違う", "長" * 10]
    paid = reward(
        completions=texts,
        story=["鶴の話。"] * 5,
        log_metric=metrics.__setitem__,
        log_extra=columns.__setitem__,
    )
    assert paid == [0.0, 10.0, 20.0, 0.0, 0.0]
    assert metrics.pop("sat/seconds") >= 0
    assert metrics == {
        "sat/paid_share": 4 / 5,
        "sat/duplicate_share": 1 / 5,
        "sat/gate/length": 1 / 5,
        "sat/mean_distance": pytest.approx((0 + 1 + 2 + 1) / 4),
    }
    assert columns["reason"] == [None] * 4 + ["length"]
    assert reward.__name__ == "sat_reward"
    # A text without a vector is not paid, and another story's rewrite is no duplicate.
    assert numbered(True)(completions=["無い"], story=["鶴の話。"]) == [0.0]
    with refused("sat reward: no story"):
        reward(completions=["違う"], story=[None])


def test_a_reward_is_configured_and_described(tmp_path):
    reward = make_sat_reward(min_length=30, max_length=99, scale=2.0)
    described = reward.describe()
    assert described["length_band"] == [30, 99]
    assert (described["scale"], described["embedding_model"]) == (2.0, "ja-ginza-texts")
    assert pickle.loads(pickle.dumps(reward)).scale == 2.0
    stories = tmp_path / "s.jsonl"
    stories.write_text('{"id": "1", "text": "駅前の猫が社長になった。"}\n', "utf-8")
    assert len(make_sat_reward(stories=str(stories)).tools[1]._tales) == 114
    with refused("sat reward: lengths the wrong way round"):
        make_sat_reward(min_length=500, max_length=300)
    with refused("sat reward: no such setting"):
        make_sat_reward(encoder="x")
    with refused("sat reward: no column story"):
        make_sat_reward()(completions=["犬"])
