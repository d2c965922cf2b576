"""Ideas as a reward: what a judge says, and what failures and ranks make of it."""

import json

import pytest

from fakes import FakeJudge
from sentences import refused
from sozo.scoring.endpoint.client import Reply
from sozo.suite.pbig.reward import idea_format_reward, make_idea_reward
from sozo.suite.rubrics import criteria_of
from sozo.suite.rubrics.criterion import criteria_rubric

CRITERIA = criteria_of("pbig")
PATENT = "Patent: 聞く枕\nAbstract: 枕が聞く。"


def idea(title):
    return json.dumps(
        {
            "title": title,
            "description": "眠る",
            "implementation": "縫う",
            "differentiation": "軽い",
        }
    )


def scores(specificity, innovativeness):
    """The least by all axes else, but technical validity."""
    least = {criterion.name: criterion.lowest for criterion in CRITERIA}
    own = {"specificity": specificity, "technical_validity": 4}
    return json.dumps(least | own | {"innovativeness": innovativeness})


def by_title(replies, **how):
    """A judge by the idea's title."""

    def reply(prompt):
        return replies[prompt.rpartition("Product idea: ")[2].partition("\n")[0]]

    return FakeJudge(reply, **how)


def paid(reward, titles, prompts=None, **columns):
    metrics = {}
    prompts = prompts or [PATENT] * len(titles)
    ideas = [idea(title) if title else "よい枕" for title in titles]
    return reward(
        prompts=prompts, completions=ideas, log_metric=metrics.__setitem__, **columns
    ), metrics


def make(folder, judge, **options):
    return make_idea_reward(ledger=folder / "j.jsonl", judge=judge, **options)


def test_the_worth_to_one_judge_by_hand(tmp_path):
    # 3 of 1..4 is 2/3 and 5 of 1..5 is 1, of five parts; behind the gate of 2 nothing counts but the gate itself.
    judge = by_title({"甲": scores(3, 5), "乙": scores(2, 5), "丙": scores(4, 1)})
    reward = make(tmp_path, judge, scale=2.0)
    rewards, metrics = paid(reward, ["甲", "乙", "丙", None])
    assert rewards[:3] == pytest.approx([2 * 8 / 15, 2 * 1 / 15, 2 * 2 / 5])
    assert rewards[3] is None
    assert metrics["judge/failed_share"] == 0
    assert metrics["judge/status/invalid"] == 1
    assert metrics["judge/mean"] == pytest.approx((8 / 15 + 1 / 15 + 2 / 5) / 3)
    assert len(judge.asked) == 3


def test_ranks_break_no_ties_and_know_groups(tmp_path):
    judge = by_title(
        {"甲": scores(3, 5), "乙": scores(4, 1), "丙": scores(4, 1), "丁": scores(1, 1)}
    )
    reward = make(tmp_path, judge, rank=True, scale=2.0)
    prompts = [PATENT] * 4 + [f"{PATENT}。"] * 2
    rewards, _ = paid(reward, ["甲", "乙", "丙", "丁", "甲", "丁"], prompts)
    assert rewards == [2.0, 1.0, 1.0, 0.0, 2.0, 0.0]


def test_a_failure_favours_nobody_and_leaves_others_advantages_alone(tmp_path):
    replies = {"甲": scores(3, 5), "乙": scores(2, 5), "丙": scores(4, 1)}
    whole, _ = paid(make(tmp_path / "a", by_title(replies)), ["甲", "丙"])
    reward = make(
        tmp_path / "b",
        by_title({**replies, "乙": Reply(error="HTTP 500")}),
        stop_failed_share=0.5,
    )
    rewards, metrics = paid(reward, ["甲", "乙", "丙", None])
    mean = sum(whole) / 2
    assert rewards[1] == pytest.approx(mean)
    assert [r - mean for r in (rewards[0], rewards[2])] == pytest.approx(
        [r - mean for r in whole]
    )
    assert rewards[3] is None
    assert metrics["judge/failed_share"] == pytest.approx(1 / 3)


def test_the_form_is_a_reward_of_its_own():
    assert idea_format_reward(
        completions=[idea("甲"), "甲", f"<think>?</think>{idea('乙')}"]
    ) == [1.0, 0.0, 1.0]
    assert idea_format_reward.__name__ == "idea_format_reward"


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ("a budget without a price", {"max_cost": 1.0}),
    ],
)
def test_what_cannot_be_is_refused_before_anybody_is_asked(tmp_path, row, options):
    judge = {"ledger": tmp_path / "j.jsonl", "judge": FakeJudge(None)}
    with refused(f"ideas as a reward: {row}"):
        make_idea_reward(**judge, **options).describe()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "3",
        '{"specificity": 3}',
        scores(3, 6),
        scores(True, 1),
    ],
)
def test_a_doubtful_reply_has_no_scores(reply):
    assert criteria_rubric(CRITERIA).read(reply) is None


def test_a_prompt_holds_every_criterion_and_no_idea_fills_a_place_in_it():
    rubric = criteria_rubric(CRITERIA)
    asked = rubric.prompt("# Examples\nExample 1\n{input}\n\n", "Patent: {form}")
    assert all(criterion.instruction in asked for criterion in CRITERIA)
    assert "{input}\n\n# Input\nPatent: {form}\n" in asked
    assert asked.endswith('"market_size_b2c": <0 to 3>}')
