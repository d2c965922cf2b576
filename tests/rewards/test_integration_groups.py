"""Rewards that look at a group, by each integration: the same number, and a group that is cut is refused."""

import random
from collections import defaultdict

import pytest

from documents import ROOT
from http_server import Running, score
from integration_texts import FREE, OTHER, SETTINGS, TEN
from integrations.texts import ASKED, grouped
from sentences import refused, says
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
def drawn_and_paid():
    """The groups, and what TRL's call of the reward pays each."""
    drawn = grouped(60)
    reward = make_diverse_reward(**DIVERSE["reward_args"])
    paid = [
        reward(
            prompts=[ASKED] * len(group), completions=[case.answer for case in group]
        )
        for group in drawn
    ]
    return drawn, paid


def flat(groups):
    return [one for group in groups for one in group]


def test_groups_in_any_order(drawn_and_paid):
    drawn, paid = drawn_and_paid
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


def test_a_reward_with_a_memory_is_shown_groups_in_their_order(drawn_and_paid):
    drawn, _ = drawn_and_paid
    reward = make_dat_rarity(**SETTINGS)
    expected = [reward(completions=[case.answer for case in group]) for group in drawn]
    integration = Integration(
        "dat", reward="sozo.rewards.make_dat_rarity", reward_args=SETTINGS
    )
    keys = [number for number, group in enumerate(drawn) for _ in group]
    texts = [case.output for case in flat(drawn)]
    paid = integration.pay(texts, groups=keys)
    assert [one.reward for one in paid] == flat(expected)


def test_verl_s_batch_gives_the_same(drawn_and_paid):
    drawn, paid = drawn_and_paid
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
    with refused("integration: a group of verl is cut"):
        verl.compute_scores(**batch, **DIVERSE)
    with refused("integration: no index of verl"):
        verl.compute_scores(["a"], ["?"], [""], [None], **DIVERSE)


def test_a_quality_of_ones_own_is_shown_one_text_at_every_door():
    # Its pay says how long each text is that it was shown.
    own = {
        "reward": "sozo.rewards.make_diverse_reward",
        "reward_args": {"quality": "own_qualities.length"},
    }
    texts, lengths = (
        ["a\n", "\n 犬 \u3000", "bcd<|im_end|>\n", "<think>x</think>"],
        [1, 3, 3, 16],
    )
    reward = make_diverse_reward("own_qualities.said")
    talk = [[{"role": "assistant", "content": text}] for text in texts]
    assert (
        reward(prompts=["?"] * 4, completions=texts)
        == reward(prompts=["?"] * 4, completions=talk)
        == lengths
    )
    integration = Integration("dat", **own)
    assert [one.reward for one in integration.pay(texts, groups=[0] * 4)] == lengths
    with Running(Integration("dat", **own)) as client:
        body = {"completions": texts, "group": [0] * 4, "group_size": 4}
        assert score(client, **body)["rewards"] == lengths
    told = verl.compute_scores(["a"] * 4, texts, [""] * 4, [{"index": 0}] * 4, **own)
    assert [one["score"] for one in told] == lengths
    asked = "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n"
    whole = integration.pay(
        [asked + text for text in texts],
        prompts=[asked] * 4,
        groups=[0] * 4,
        whole=True,
    )
    assert [one.reward for one in whole] == lengths


def test_equal_prompts_are_told_apart_by_http_and_a_part_is_refused_at_once():
    whole = {"completions": [TEN, TEN], "group": ["a", "b"], "group_size": 1}
    with Running(Integration("dat", **DIVERSE)) as client:
        full = score(client, **{**whole, "group": ["a", "a"], "group_size": 2})
        alone = score(client, **whole)
        assert alone["rewards"] == [2 * reward for reward in full["rewards"]]
        for said, part in {
            "serve: a group is cut": {"group": ["a", "b"], "group_size": 2},
            "serve: no group size": {"group": ["a", "b"]},
            "serve: no groups": {"group_size": 2},
            "serve: a group size of 0": {"group": ["a", "b"], "group_size": 0},
        }.items():
            reply = client.post("/score", json={"completions": [TEN, TEN], **part})
            assert reply.status_code == 400
            assert says(said, reply.json()["error"])


@pytest.mark.parametrize(
    ("said", "groups"),
    {
        "integration: groups of other sizes": {"groups": ["a", "a", "b"]},
        "integration: fewer groups than texts": {"groups": ["a", "a"]},
        "integration: a group's key": {"groups": [["a"], "b", "b"], "group_size": 1},
        "integration: a group of two prompts": {
            "groups": [1, 1, 1],
            "prompts": ["?", "!", "?"],
        },
    }.items(),
)
def test_groups_that_cannot_be_paid_are_refused(said, groups):
    with refused(said):
        Integration("dat", **DIVERSE).pay([TEN] * 3, **groups)


def test_a_failure_in_the_second_group_leaves_no_history(monkeypatch):
    integration = Integration("dat", **HISTORY)
    among = integration.reward.among

    def second_fails(completions):
        if "猫" in completions[0].text:
            raise UserError("the second group")
        return among(completions)

    body = {"completions": [TEN, OTHER], "group": [1, 2], "group_size": 1}
    with Running(integration) as client:
        monkeypatch.setattr(integration.reward, "among", second_fails)
        assert client.post("/score", json=body).status_code == 400
        assert client.get("/health").json()["seen"] == 0


@pytest.mark.parametrize(
    ("said", "make"),
    {
        "integration: verl shows one answer": lambda: verl.compute_score(
            "dat", TEN, "", {"index": 0}, **DIVERSE
        ),
        "integration: openrlhf shows one answer": lambda: make_reward_func(
            "dat", **DIVERSE
        ),
        "integration: scale of a named reward": lambda: Integration(
            "dat", **DIVERSE, scale=2.0
        ),
        "integration: no such reward": lambda: Integration(
            "dat", reward="examples.reward.nosuch"
        ),
        "integration: a reward of one's own": lambda: (
            Integration("dat", reward="integrations.texts.cases").reward
        ),
    }.items(),
)
def test_who_shows_one_answer_at_a_time_is_told_the_option(said, make, monkeypatch):
    monkeypatch.chdir(ROOT)
    with refused(said):
        make()


def beside_mean(prompts, completions, **columns):
    """Shorter than the mean of the prompt's answers is better."""
    of = defaultdict(list)
    for prompt, text in zip(prompts, completions, strict=True):
        of[prompt].append(len(text))
    asked = zip(prompts, completions, strict=True)
    return [sum(of[prompt]) / len(of[prompt]) / len(text) for prompt, text in asked]


def test_a_quality_is_called_with_whole_groups():
    quality = {"quality": "test_integration_groups.beside_mean"}
    texts = ["x" * (1 + k) for k in range(BATCH + 1)]
    paid = Integration("dat", reward=DIVERSE["reward"], reward_args=quality).pay(
        texts, groups=[0] * len(texts)
    )
    reward = make_diverse_reward(**quality)
    expected = reward(prompts=["?"] * len(texts), completions=texts)
    assert [one.reward for one in paid] == expected


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
    with refused("integration: spread is judged together"):
        integration.measure(texts, items)
    assert task_type("spread").in_groups()
