"""Rewards that look at a group, by each integration: the same number, and a group that is cut is refused."""

import json
import math
import random
import re
from collections import defaultdict

import pytest

from documents import ROOT
from http_server import Running, score
from integration_texts import FREE, OTHER, SETTINGS, TEN
from integrations.texts import ASKED, grouped
from sozo.data.errors import UserError
from sozo.rewards import make_dat_rarity, make_diverse_reward
from sozo.rewards.integrations import verl
from sozo.rewards.integrations.core import BATCH, Integration
from sozo.rewards.integrations.openrlhf import make_reward_func
from sozo.tasks import task_type

DIVERSE = {
    "reward": "sozo.rewards.make_diverse_reward",
    "reward_args": {
        "quality": "sozo.rewards.make_dat_reward",
        "quality_args": FREE,
        "alike": "ngram",
        "how": "divide",
    },
}
HISTORY = {
    **DIVERSE,
    "reward_args": {**DIVERSE["reward_args"], "quality_args": SETTINGS},
}


@pytest.fixture(scope="module")
def thousand():
    """The groups, and what TRL's call of the reward pays each."""
    drawn = grouped()
    reward = make_diverse_reward(**DIVERSE["reward_args"])
    paid = [
        reward([ASKED] * len(group), [case.answer for case in group]) for group in drawn
    ]
    return drawn, paid


def flat(groups):
    return [one for group in groups for one in group]


def test_groups_are_of_all_kinds(thousand):
    drawn, paid = thousand
    factors = {
        len({case.answer for case in group}): set(rewards)
        for group, rewards in zip(drawn, paid, strict=True)
    }
    assert factors.keys() == {1, 2, 3, 4}
    assert sum(0.0 in rewards for rewards in paid) > 100
    assert sum(0.0 not in rewards for rewards in paid) > 100


def test_a_thousand_groups_in_any_order(thousand):
    drawn, paid = thousand
    cases, expected = flat(drawn), flat(paid)
    keys = [number for number, group in enumerate(drawn) for _ in group]
    order = list(range(len(cases)))
    integration = Integration("dat", **DIVERSE)
    for seed in range(2):
        texts = [cases[k].output for k in order]
        groups = [keys[k] for k in order]
        result = integration.pay(texts, groups=groups, group_size=4)
        assert [one.reward for one in result] == [expected[k] for k in order]
        random.Random(seed).shuffle(order)


def test_a_reward_with_a_memory_is_shown_groups_in_their_order(thousand):
    drawn, _ = thousand
    reward = make_dat_rarity(**SETTINGS)
    expected = [reward(completions=[case.answer for case in group]) for group in drawn]
    integration = Integration(
        "dat", reward="sozo.rewards.make_dat_rarity", reward_args=SETTINGS
    )
    keys = [number for number, group in enumerate(drawn) for _ in group]
    texts = [case.output for case in flat(drawn)]
    paid = integration.pay(texts, groups=keys)
    assert [one.reward for one in paid] == flat(expected)


def test_verl_s_batch_gives_the_same(thousand):
    drawn, paid = thousand
    cases = flat(drawn)
    # Two files, whose rows have the same numbers.
    rows = [
        (f"file{k % 2}", {"index": k // 2})
        for k, group in enumerate(drawn)
        for _ in group
    ]
    batch = {
        "data_sources": [source for source, _ in rows],
        "solution_strs": [case.output for case in cases],
        "ground_truths": [""] * len(cases),
        "extra_infos": [extra for _, extra in rows],
    }
    told = verl.compute_scores(**batch, **DIVERSE)
    assert [one["score"] for one in told] == flat(paid)
    assert told[0].keys() == {"score", "make_diverse_reward", "reason"}
    batch = {name: values[:-1] for name, values in batch.items()}
    with pytest.raises(
        UserError,
        match=r"has 3 answers, not 4, so it is cut; hand over all rollout\.n answers",
    ):
        verl.compute_scores(**batch, **DIVERSE)
    with pytest.raises(UserError, match="extra_info has no index"):
        verl.compute_scores(["a"], ["?"], [""], [None], **DIVERSE)


def test_http_gives_the_same_and_a_retry_too(thousand, tmp_path):
    drawn, paid = thousand
    body = {
        "completions": [case.output for case in flat(drawn)],
        "group": [f"step 3, row {k}" for k, group in enumerate(drawn) for _ in group],
        "group_size": 4,
    }
    with Running(Integration("dat", **DIVERSE), tmp_path) as client:
        first = score(client, "a", **body)
        assert first["rewards"] == flat(paid)
        assert score(client, "a", **body) == first
    with Running(Integration("dat", **DIVERSE), tmp_path) as client:
        assert score(client, "a", **body) == first


def test_the_page_s_request_is_answered():
    page = (ROOT / "docs" / "integrations.md").read_text("utf-8")
    (body,) = re.findall(r"-d '(.*)'", page)
    quality = {"quality": "test_integration_groups.lengths"}
    settings = {"reward": DIVERSE["reward"], "reward_args": quality}
    with Running(Integration("dat", **settings)) as client:
        reply = score(client, "step-7", **json.loads(body))
    assert reply["rewards"] == [0.0, 0.0, 3.0, 1.0]


def test_equal_prompts_are_told_apart_and_a_part_is_refused_at_once():
    whole = {"completions": [TEN, TEN], "group": ["a", "b"], "group_size": 1}
    with Running(Integration("dat", **DIVERSE)) as client:
        full = score(client, **{**whole, "group": ["a", "a"], "group_size": 2})
        alone = score(client, **whole)
        assert alone["rewards"] == [2 * reward for reward in full["rewards"]]
        for part, says in (
            ({"group": ["a", "b"], "group_size": 2}, "group 'a' has 1 answers, not 2"),
            ({"group": ["a"], "group_size": 2}, "group must be a list of 2 values"),
            ({"group": ["a", "b"]}, "looks at all answers to a prompt; send group"),
            ({"group_size": 2}, "looks at all answers to a prompt; send group"),
            ({"group": [["a"], "b"], "group_size": 1}, "a group's key must be a text"),
            ({"group": ["a", "b"], "group_size": 0}, "group_size: "),
            (
                {"group": [1, 1], "group_size": 2, "prompts": ["?", "!"]},
                "group 1 has answers to different prompts; ",
            ),
        ):
            reply = client.post("/score", json={"completions": [TEN, TEN], **part})
            assert (reply.status_code, "\n" in reply.json()["error"]) == (400, False)
            assert says in reply.json()["error"]
        openrlhf = {"query": [f"{ASKED}\n{TEN}"], "prompts": [ASKED], "labels": [""]}
        reply = client.post("/score", json=openrlhf)
        assert "--reward.remote_url" in reply.json()["error"]


def test_the_history_of_a_quality_is_kept_and_a_failure_leaves_none(
    tmp_path, monkeypatch
):
    body = {"completions": [TEN, OTHER], "group": [1, 1], "group_size": 2}
    for _ in range(2):  # the second time the server is a new one
        with Running(Integration("dat", **HISTORY), tmp_path) as client:
            if client.get("/health").json()["seen"] == 0:
                assert (
                    score(client, **{**body, "validate": True})["reasons"] == [None] * 2
                )
                assert client.get("/health").json()["seen"] == 0
                assert score(client, **body)["reasons"] == [None, None]
            assert client.get("/health").json()["seen"] == 2
            assert score(client, **body)["reasons"] == ["duplicate"] * 2
    integration = Integration("dat", **HISTORY)
    among = integration.reward.among

    def second_fails(completions):
        if "猫" in completions[0].text:
            raise UserError("the second group")
        return among(completions)

    with Running(integration) as client:
        monkeypatch.setattr(integration.reward, "among", second_fails)
        reply = client.post("/score", json={**body, "group": [1, 2], "group_size": 1})
        assert (reply.status_code, reply.json()["error"]) == (400, "the second group")
        assert client.get("/health").json()["seen"] == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: verl.compute_score("dat", TEN, "", {"index": 0}, **DIVERSE),
            "take|reward_model.reward_manager=batch",
        ),
        (lambda: make_reward_func("dat", **DIVERSE), "--train.agent_func_path"),
        (lambda: Integration("dat", **DIVERSE, scale=2.0), "unknown setting: scale"),
        (
            lambda: Integration("dat", reward="examples.reward.nosuch"),
            "examples.reward.nosuch",
        ),
        (
            lambda: Integration("dat", reward="integrations.texts.cases").reward,
            "make_diverse_reward takes yours as its quality",
        ),
    ],
)
def test_who_shows_one_answer_at_a_time_is_told_the_option(make, message, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


ODD = {"?": None, "nan": math.nan}


def lengths(prompts, completions, weight=None, **columns):
    """A quality of one's own."""
    return [
        ODD[text] if text in ODD else len(text) * times
        for text, times in zip(
            completions, weight or [1] * len(completions), strict=True
        )
    ]


def test_a_quality_of_ones_own_has_the_columns():
    settings = {
        "reward": "sozo.rewards.make_diverse_reward",
        "reward_args": {"quality": "test_integration_groups.lengths"},
    }
    texts = ["犬", "犬", "犬と猫", "?"]
    paid = Integration("dat", **settings).pay(texts, groups=[0] * 4)
    assert [one.reward for one in paid] == [0.5, 0.5, 3.0, None]
    assert paid[3].reason == "no_value"
    extra = [{"index": 0, "weight": weight} for weight in (2, 4, 3, 1)]
    told = verl.compute_scores(["d"] * 4, texts, [""] * 4, extra, **settings)
    assert [one["score"] for one in told] == [1.0, 2.0, 9.0, 0.0]


def test_a_quality_that_is_not_a_number_is_null_over_http():
    body = {"completions": ["犬", "nan"], "group": [0, 0], "group_size": 2}
    quality = {"quality": "test_integration_groups.lengths"}
    settings = {"reward": DIVERSE["reward"], "reward_args": quality}
    with Running(Integration("dat", **settings)) as client:
        reply = score(client, "a", **body)
    assert (reply["rewards"], reply["scores"]) == ([1.0, None], [1.0, None])
    assert reply["reasons"] == [None, "no_value"]


def beside_mean(prompts, completions, **columns):
    """Shorter than the mean of the prompt's answers is better."""
    of = defaultdict(list)
    for prompt, text in zip(prompts, completions, strict=True):
        of[prompt].append(len(text))
    asked = zip(prompts, completions, strict=True)
    return [sum(of[prompt]) / len(of[prompt]) / len(text) for prompt, text in asked]


@pytest.mark.parametrize("prompt", ["prompt {}", "?"])
def test_a_quality_is_called_with_whole_groups(prompt):
    drawn = [["x" * (1 + k + group % 7) for k in range(10)] for group in range(30)]
    quality = {"quality": "test_integration_groups.beside_mean"}
    reward = make_diverse_reward(**quality)
    expected = [reward(["?"] * 10, group) for group in drawn]
    keys = [number for number in range(30) for _ in range(10)]
    prompts = [prompt.format(key) for key in keys]
    integration = Integration("dat", reward=DIVERSE["reward"], reward_args=quality)
    paid = integration.pay(flat(drawn), prompts=prompts, groups=keys, group_size=10)
    assert [one.reward for one in paid] == flat(expected)
    larger = ["x" * (1 + k) for k in range(BATCH + 1)]
    paid = integration.pay(larger, groups=[0] * len(larger))
    assert [one.reward for one in paid] == reward(["?"] * len(larger), larger)


def test_verl_trains_on_the_reward_whatever_its_name():
    rows = [{"index": 0}] * 4
    settings = {"reward": "diverse_worker.score", "reward_args": {}}
    told = verl.compute_scores(["d"] * 4, [*"犬犬犬猫"], [""] * 4, rows, **settings)
    assert [one["score"] for one in told] == [1 / 3, 1 / 3, 1 / 3, 1]


def test_a_task_whose_answers_are_judged_together(monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "group_task.Spread")
    integration = Integration("spread", penalise_duplicates=True)
    texts, items = ["0", "2", "x", "6", "0", "2"], ["a", "a", "a", "b", "b", "b"]
    rows = integration.measure(texts, items, together=True)
    assert [row.values.get("spread") for row in rows] == [2, 2, None, 5, 4, 3]
    paid = integration.pay(texts, items, groups=items, validate=True)
    assert [one.reward for one in paid] == [2, 2, 0, 5, 4, 3]
    for expected in ([2, 2, 0, 5, 4, 3], [0] * 6):
        paid = integration.pay(texts, items, groups=items)
        assert [one.reward for one in paid] == expected
    # One item twice in a batch: two groups.
    free = Integration("spread").pay(texts, ["a"] * 6, groups=items)
    assert [one.reward for one in free] == [2, 2, 0, 5, 4, 3]
    with pytest.raises(UserError, match="its answers are judged together"):
        integration.measure(texts, items)
    assert task_type("spread").in_groups()
