"""A judge as a reward: what is paid, what is asked and what it costs, whoever fails and however many processes ask."""

import pickle

import pytest

from fakes import FakeJudge
from judge_server import completion, serving
from sentences import refused, says
from sozo.rewards import make_judge_reward, make_placebo
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.judges.ledger import Ledger, read_judgements
from sozo.scoring.judges.protocol import Rubric
from sozo.tasks.held_out import fingerprint
from sozo.tasks.jcq import task as jcq_task
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.rubric import JCQ_V1
from sozo.tasks.jcq.task import Jcq
from sozo.tasks.sat.run_result import SAT_V1
from sozo.tasks.task import Item
from two_ranks import run_ranks

PRICES = {
    "judge_price_in": 0.0,
    "judge_price_out": 1e6 / 50,
}  # a reply costs at most 1 (50 tokens), and here 0.4 (20 tokens)


def verdict(*scores):
    return "\n".join(
        f"{name}: {score}"
        for name, score in zip(
            ["流暢性", "柔軟性", "独創性", "精緻性"], scores, strict=True
        )
    )


def answer_in(prompt):
    return prompt.partition("# 回答\n")[2].partition("\n\n# 流暢性")[0]


def by_answer(replies, default=None, **how):
    return FakeJudge(lambda prompt: replies.get(answer_in(prompt), default), **how)


def rewarded(reward, prompts, completions, **columns):
    metrics, extra = {}, {}
    paid = reward(
        prompts=prompts,
        completions=completions,
        log_metric=metrics.__setitem__,
        log_extra=extra.__setitem__,
        **columns,
    )
    metrics.pop("judge/seconds")
    return paid, metrics, extra


GOOD, FAIR = verdict(4, 3, 2, 5), verdict(1, 2, 2, 1)  # means 3.5 and 1.5


def test_the_mean_of_the_criteria_or_one_of_them_is_paid(tmp_path):
    judge = by_answer({"甲": GOOD, "乙": FAIR})
    reward = make_judge_reward(judge=judge, ledger=tmp_path / "j.jsonl", scale=2.0)
    paid, metrics, extra = rewarded(reward, ["問い一", "問い一\n"], ["甲", "乙"])
    assert paid == [7.0, 3.0]
    assert (metrics["judge/mean"], metrics["judge/failed_share"]) == (2.5, 0.0)
    assert extra["judge_status"] == ["ok", "ok"]
    assert extra["judge_scores"][1] == {
        "fluency": 1,
        "flexibility": 2,
        "originality": 2,
        "elaboration": 1,
    }
    # The prompt of a base model ends with a line break, which the benchmark's question does not.
    assert judge.asked == [JCQ_V1.prompt("問い一", "甲"), JCQ_V1.prompt("問い一", "乙")]
    assert reward.__name__ == "judge_reward"
    again = make_judge_reward(
        judge=by_answer({}), ledger=tmp_path / "k.jsonl", criterion="elaboration"
    )
    again.judge = judge
    assert again(prompts=["問い一"] * 2, completions=["甲", "乙"]) == [5.0, 1.0]


def test_the_question_is_the_column_and_the_answer_has_no_reasoning(tmp_path):
    judge = FakeJudge(lambda _: GOOD)
    reward = make_judge_reward(judge=judge, ledger=tmp_path / "j.jsonl")
    prompts = [
        [
            {"role": "system", "content": "規則"},
            {"role": "user", "content": f"次に答えて: {k}"},
        ]
        for k in "一二"
    ]
    completions = [
        [{"role": "assistant", "content": f"<think>案</think>答え{k}"}] for k in "一二"
    ]
    reward(
        prompts=prompts,
        completions=completions,
        question=["問い一", None],
        completion_ids=[[1], [2]],
        trainer_state=object(),
    )
    assert judge.asked == [
        JCQ_V1.prompt("問い一", "答え一"),
        JCQ_V1.prompt("次に答えて: 二", "答え二"),
    ]


def test_a_failed_judgement_is_worth_what_its_group_is(tmp_path):
    failures = {
        "断": Reply("だめ", refused=True),
        "変": "4点",
        "長": Reply(GOOD, finish_reason="length"),
        "誤": Reply(error="HTTP 500"),
    }
    reward = make_judge_reward(
        judge=by_answer({"甲": GOOD, "乙": FAIR, **failures}),
        ledger=tmp_path / "j.jsonl",
    )
    # Two groups whose completions stand between each other's; nobody of the third was judged.
    prompts = [
        "問い一",
        "問い二",
        "問い一",
        "問い二",
        "問い一",
        "問い三",
        "問い一",
        "問い三",
    ]
    completions = ["甲", "断", "乙", "甲", "変", "長", "誤", "誤"]
    paid, metrics, extra = rewarded(reward, prompts, completions)
    assert paid == [3.5, 3.5, 1.5, 3.5, 2.5, None, 2.5, None]
    assert metrics["judge/failed_share"] == 5 / 8
    assert metrics["judge/mean"] == pytest.approx((3.5 + 1.5 + 3.5) / 3)
    assert {name: n for name, n in metrics.items() if "status" in name} == {
        "judge/status/ok": 3,
        "judge/status/in_prose": 0,
        "judge/status/unparseable": 1,
        "judge/status/refused": 1,
        "judge/status/truncated": 1,
        "judge/status/api_error": 2,
        "judge/status/empty": 0,
    }
    assert extra["judge_status"][1] == "refused"
    assert extra["judge_scores"][1] is None


def test_an_empty_answer_is_worth_least_and_nobody_is_asked(tmp_path):
    judge = by_answer({"甲": GOOD})
    reward = make_judge_reward(judge=judge, ledger=tmp_path / "j.jsonl")
    assert reward(
        prompts=["問い"] * 4,
        completions=["甲", " \n", "<think>長い案", "<think>案</think>"],
    ) == [3.5, 1.0, 1.0, 1.0]
    assert len(judge.asked) == 1
    assert [one.reason for one in reward.last] == [None, *["empty"] * 3]
    # So no payment of its placebo reaches one.
    placebo = make_placebo(reward)
    assert placebo(prompts=["問い"] * 2, completions=["甲", ""]) == [3.5, 1.0]
    assert placebo.free == reward.free


def test_equal_answers_are_judged_once_and_a_run_that_is_killed_pays_nothing_twice(
    tmp_path,
):
    path = tmp_path / "j.jsonl"
    dying = by_answer(
        {"甲": GOOD, "乙": FAIR, "丙": KeyboardInterrupt()}, concurrency=1
    )
    reward = make_judge_reward(judge=dying, ledger=path)
    dying.reply = lambda prompt: (
        {"甲": GOOD, "乙": FAIR}.get(answer_in(prompt)) or RuntimeError("killed")
    )
    with pytest.raises(RuntimeError, match="killed"):
        reward(prompts=["問い"] * 5, completions=["甲", "甲", "乙", "丙", "丁"])
    assert len(read_judgements(path, (JCQ_V1,))) == 2
    reward.close()  # as the end of the process does
    judge = by_answer({"丙": GOOD, "丁": FAIR})
    reward = make_judge_reward(judge=judge, ledger=path)
    assert reward(prompts=["問い"] * 5, completions=["甲", "甲", "乙", "丙", "丁"]) == [
        3.5,
        3.5,
        1.5,
        3.5,
        1.5,
    ]
    assert sorted(map(answer_in, judge.asked)) == ["丁", "丙"]
    assert reward(prompts=["問い"] * 2, completions=["丁", "甲"]) == [1.5, 3.5]
    assert len(judge.asked) == 2


def test_the_budget_is_for_the_whole_run(tmp_path):
    def reward():
        return make_judge_reward(
            judge=FakeJudge(lambda _: GOOD),
            ledger=tmp_path / "j",
            max_cost=5.0,
            **PRICES,
        )

    first = reward()
    _, metrics, _ = rewarded(first, ["問い"] * 6, list("一二三四五六"))
    assert metrics["judge/cost"] == pytest.approx(2.4)
    first(prompts=["問い"] * 5, completions=list("七八九十百"))
    # With 4.4 spent, another one could end at 5.4; what was judged before costs nothing.
    assert first(prompts=["問い"], completions=["一"]) == [3.5]
    with refused("judge reward: above the budget"):
        first(prompts=["問い"], completions=["千"])
    first.close()
    with refused("judge reward: above the budget"):
        reward()(prompts=["問い"], completions=["千"])


def test_failures_that_are_the_rule_end_the_run(tmp_path):
    def reward(name):
        judge = FakeJudge(lambda prompt: "?" if "だめ" in prompt else GOOD)
        return make_judge_reward(judge=judge, ledger=tmp_path / name)

    def answers(failed, judged, start=0):
        return [f"だめ{start + k}" for k in range(failed)] + [
            f"よい{start + k}" for k in range(judged)
        ]

    # Nine of ten failed, but ten are too few; with the next ten more than half of the last twenty did.
    first = reward("a")
    assert first(prompts=["問い"] * 10, completions=answers(9, 1)) == [3.5] * 10
    with refused("judge reward: most judgements fail"):
        first(prompts=["問い"] * 10, completions=answers(2, 8, 20))
    # Half is not yet more than half.
    assert reward("b")(prompts=["問い"] * 20, completions=answers(10, 10)) == [3.5] * 20


def test_the_benchmarks_questions_are_refused_and_the_trial_questions_are_not(
    tmp_path, monkeypatch
):
    prints = jcq_task.held_out()
    assert len(prints) == 700
    assert not prints & {
        fingerprint(question.question) for question in trial_questions()
    }
    judge = FakeJudge(lambda _: GOOD)
    trial = [question.question for question in trial_questions()]
    reward = make_judge_reward(
        "jcq-v1-guarded-2", judge=judge, ledger=tmp_path / "j.jsonl"
    )
    assert reward(prompts=trial, completions=["答え"] * 35) == [3.5] * 35
    # The benchmark's own are not in this repository.
    monkeypatch.setattr(
        jcq_task, "held_out", lambda: {fingerprint("箱の使い方を10個。")}
    )
    for prompt, question in (
        ("箱の使い方を１０個。\n", None),
        ("答えよ。\n箱の使い方を 10個。", None),
        ("?", "箱の使い方を10個。"),
    ):
        with refused("jcq: trains on the benchmark"):
            reward(prompts=[prompt], completions=["答え"], question=[question])
    assert len(judge.asked) == 35
    items = Jcq().Settings(trial=True)
    Jcq(items).refuse_training(Jcq(items).items())
    with refused("jcq: trains on the benchmark"):
        Jcq.refuse_training([Item("1", "ほか"), Item("2", "箱の使い方を10個。")])


def test_a_rubric_of_ones_own(tmp_path):
    rubric = Rubric(
        "fun-v1",
        ("fun",),
        lambda q, a: f"{q}/{a}",
        lambda r: {"fun": int(r)} if r.isdigit() else None,
        0,
        100,
    )
    judge = FakeJudge(lambda prompt: "70" if prompt == "問い/甲" else "100")
    reward = make_judge_reward(
        rubric, judge=judge, ledger=tmp_path / "j.jsonl", scale=0.1
    )
    assert reward(prompts=["問い"] * 3, completions=["甲", "乙", ""]) == [
        7.0,
        10.0,
        0.0,
    ]
    assert [
        line.scores for line in read_judgements(tmp_path / "j.jsonl", (rubric,))
    ] == [{"fun": 70}, {"fun": 100}]


@pytest.mark.parametrize(
    ("said", "how"),
    {
        "judge reward: no such rubric": {"rubric": "jcq-v2"},
        "judge reward: no such criterion": {"criterion": "fun"},
        "judge reward: no such setting": {"judge_modle": "x"},
        "judge reward: a prompt is a rubric": {"judge_prompt": "jcq-v1-guarded-2"},
        "judge reward: half a price": {"judge_price_in": 1.0},
    }.items(),
)
def test_settings_that_cannot_be_meant_are_refused(said, how, tmp_path):
    with refused(said):
        make_judge_reward(ledger=tmp_path / "j", **how)


@pytest.mark.parametrize(
    ("said", "how"),
    {
        "judge reward: a budget without a price": {"max_cost": 1.0},
        "judge reward: loads no model": {"judge_backend": "transformers"},
        "judge reward: no such backend": {
            "make_judge": "sozo.models.judges.make_judge",
            "judge_backend": "mlx",
        },
    }.items(),
)
def test_a_judge_that_cannot_be_asked_is_refused(said, how, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with refused(said):
        make_judge_reward(ledger=tmp_path / "j", **how).describe()


def test_another_runs_ledger_is_refused(tmp_path):
    reward = make_judge_reward(judge=FakeJudge(lambda _: GOOD), ledger=tmp_path / "j")
    with Ledger(tmp_path / "j", ()), refused("judge reward: another judges into it"):
        reward(prompts=["問い"], completions=["甲"])


def test_rewards_of_one_run_share_a_ledger(tmp_path):
    judge = by_answer({"甲": GOOD})
    mean, one = (
        make_judge_reward(judge=judge, ledger=tmp_path / "j", criterion=c)
        for c in (None, "fluency")
    )
    assert (
        mean(prompts=["問い"], completions=["甲"]),
        one(prompts=["問い"], completions=["甲"]),
    ) == ([3.5], [4.0])
    assert len(judge.asked) == 1


def test_it_can_be_pickled_and_holds_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    reward = make_judge_reward(
        SAT_V1.name,
        ledger=tmp_path / "j.jsonl",
        judge_model="m",
        judge_base_url="http://h/v1",
    )
    judge = {"model": "m", "temperature": 0.0, "max_tokens": 1024}
    assert reward.describe() == {
        "rubric": "sat-v1",
        "criterion": None,
        "scale": 1.0,
        "judge": judge,
    }
    content = pickle.dumps(reward)
    assert b"very-secret" not in content
    assert pickle.loads(content).describe() == reward.describe()


STEPS = [
    # One question's answers on both processes, the same answer on both; a failure whose group is on the other one.
    [[["問い一", "甲"], ["問い一", "だめ"]], [["問い一", "甲"], ["問い一", "乙"]]],
    [[["問い二", "だめ"]], [["問い二", "乙"], ["問い二", "丙"]]],
    # A share without completions, and a group that failed as a whole.
    [[], [["問い三", "だめ"], ["問い一", "乙"]]],
]


def scores_of(prompt):
    """Four scores by the answer; none for だめ."""
    answer = answer_in(prompt)
    return (
        "?"
        if answer == "だめ"
        else verdict(*(1 + (ord(answer) + k) % 5 for k in range(4)))
    )


def run_two(folder, url, **plan):
    environment = {"OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    return run_ranks(
        "judge_reward_worker.py",
        folder,
        {"steps": STEPS, "url": url, **plan},
        environment,
    )


@pytest.fixture
def judging():
    """A judge on loopback, and the prompts it was asked."""
    asked = []

    def reply(request, headers):
        asked.append(request["messages"][0]["content"])
        return 200, {}, completion(scores_of(asked[-1]))

    with serving(reply) as url:
        yield url, asked


def test_two_processes_pay_what_one_pays_and_ask_once(tmp_path, judging):
    url, asked = judging
    first, second = run_two(tmp_path, url)
    assert first["error"] is second["error"] is None
    # だめ is unparseable, so asked twice, for each of three questions; 甲, 乙; 乙, 丙; 乙 of 問い一 was judged before.
    assert (
        len(asked)
        == len(read_judgements(tmp_path / "j.jsonl", (JCQ_V1,)))
        == 3 * 2 + 2 + 2
    )

    one = make_judge_reward(judge=FakeJudge(scores_of), ledger=tmp_path / "one.jsonl")
    for number, (left, right) in enumerate(STEPS):
        prompts, completions = zip(*left, *right, strict=True)
        paid, metrics, extra = rewarded(one, list(prompts), list(completions))
        assert first["rewards"][number] + second["rewards"][number] == paid
        assert first["metrics"][number] == second["metrics"][number] == metrics
        assert (
            first["statuses"][number] + second["statuses"][number]
            == extra["judge_status"]
        )
    assert second["rewards"][2][0] is None


def test_what_ends_judging_ends_every_process(tmp_path, judging):
    url, asked = judging
    first, second = run_two(tmp_path, url, prices=[0.0, 1e6], max_cost=1.0)
    assert first["error"] == second["error"]
    assert says("judge reward: ended in every process", first["error"])
    assert asked == []
