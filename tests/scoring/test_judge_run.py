"""What is asked, what is kept, what it costs and when it stops, with a fake judge."""

import asyncio

import pytest

from fakes import FakeJudge
from sozo.data.errors import UserError
from sozo.data.schema import Completion
from sozo.scoring.endpoint.bill import Budget
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.judges.endpoint import LocalJudge
from sozo.scoring.judges.ledger import read_judgements as read_ledger
from sozo.scoring.judges.protocol import JudgeSettings, ToJudge
from sozo.scoring.judges.run import GIVE_UP_AFTER, JudgeSession, judge_answers
from sozo.tasks.jcq.rubric import JCQ_RUBRICS, JCQ_V1

VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"
ANSWERS = [ToJudge(f"a{k}", str(k), f"問い{k}番", f"答え{k}。") for k in range(60)]
PRICES = {"judge_price_in": 0.0, "judge_price_out": 1e6 / 50}


def about(k):
    return f"答え{k}。"


def read_judgements(path):
    return read_ledger(path, JCQ_RUBRICS.values())


def judge(reply, path, answers=ANSWERS[:6], rubric=JCQ_V1, **how):
    fake = reply if isinstance(reply, FakeJudge) else FakeJudge(reply)
    on_judgement = how.pop("on_judgement", None)
    return judge_answers(
        fake, rubric, answers, path, JudgeSettings(**how), on_judgement=on_judgement
    ), fake


def test_each_status_is_kept_and_counted(tmp_path):
    replies = [
        VERDICT,
        Reply("だめ", refused=True, prompt_tokens=1, completion_tokens=1),
        Reply(VERDICT, finish_reason="length", prompt_tokens=1, completion_tokens=1),
        Reply(error="HTTP 500"),
        "4点です",
        Reply(None, finish_reason="stop"),
    ]
    done, fake = judge(
        lambda p: next(r for k, r in enumerate(replies) if about(k) in p),
        tmp_path / "j",
    )
    assert [str(j.status) for j in done.judgements] == [
        *("ok", "refused", "truncated", "api_error", "unparseable", "unparseable")
    ]
    assert [j.scores is not None for j in done.judgements] == [True] + [False] * 5
    assert done.judgements[4].reply == "4点です"
    assert done.statuses == {
        "ok": 1,
        "in_prose": 0,
        "unparseable": 2,
        "refused": 1,
        "truncated": 1,
        "api_error": 1,
        "not_asked": 0,
    }
    # The unparseable ones were asked twice, and both replies are on the bill.
    assert done.requests == len(fake.asked) == 8
    assert done.prompt_tokens == 100 + 1 + 1 + 2 * 100
    assert fake.closed == 1


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", "ok"),
        (None, "ok"),
        ("end_turn", "ok"),
        ("max_tokens", "truncated"),
        ("SAFETY", "refused"),
    ]
    + [
        (reason, "unparseable") for reason in ("error", "tool_calls", "no word of ours")
    ],
)
def test_only_a_reply_that_ended_well_is_read(reason, status, tmp_path):
    done, _ = judge(
        lambda p: Reply(VERDICT, finish_reason=reason), tmp_path / "j", ANSWERS[:1]
    )
    assert [str(j.status) for j in done.judgements] == [status]


def test_the_second_ask_can_fix_an_unparseable_reply(tmp_path):
    seen = set()
    done, _ = judge(
        lambda p: VERDICT if p in seen else seen.add(p) or "?", tmp_path / "j"
    )
    assert done.statuses["ok"] == 6
    assert done.requests == 12
    assert len(read_judgements(tmp_path / "j")) == 12


def test_a_rerun_asks_what_is_missing_and_retry_unjudged_what_has_no_scores(tmp_path):
    def first(p):
        return (
            Reply(error="HTTP 500")
            if about(1) in p
            else "?"
            if about(2) in p
            else VERDICT
        )

    judge(first, tmp_path / "j", ANSWERS[:4])
    done, fake = judge(lambda p: VERDICT, tmp_path / "j", ANSWERS[:5])
    assert [about(4) in p for p in fake.asked] == [True]
    assert done.statuses == {
        "ok": 3,
        "in_prose": 0,
        "unparseable": 1,
        "refused": 0,
        "truncated": 0,
        "api_error": 1,
        "not_asked": 0,
    }
    done, fake = judge(
        lambda p: VERDICT, tmp_path / "j", ANSWERS[:5], retry_unjudged=True
    )
    assert len(fake.asked) == 2
    assert done.statuses["ok"] == 5
    assert (
        len(read_judgements(tmp_path / "j")) == 8
    )  # 4 + 1 second ask + 1 + 2: nothing is taken away


def test_a_run_that_ended_between_two_asks_continues_with_the_second(tmp_path):
    judge(lambda p: "?", tmp_path / "j", ANSWERS[:1])
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    (tmp_path / "j").write_bytes(lines[0])
    _, fake = judge(lambda p: "?", tmp_path / "j", ANSWERS[:1])
    assert len(fake.asked) == 1
    _, fake = judge(lambda p: "?", tmp_path / "j", ANSWERS[:1])
    assert fake.asked == []


def test_another_judge_prompt_or_parameter_is_another_judgement(tmp_path):
    judge(lambda p: VERDICT, tmp_path / "j")
    for how, fake in (
        ({"rubric": JCQ_RUBRICS["jcq-v1-guarded-2"]}, FakeJudge(lambda p: VERDICT)),
        ({}, FakeJudge(lambda p: VERDICT, name="other")),
    ):
        done, _ = judge(fake, tmp_path / "j", **how)
        assert done.requests == 6
        assert done.prompt_tokens == 600  # the others' tokens are not on this bill
    assert len(read_judgements(tmp_path / "j")) == 18


def test_equal_answers_to_one_question_are_judged_once(tmp_path):
    answers = [
        ToJudge("x", "1", "一", "同じ"),
        ToJudge("y", "1", "一", "同じ"),
        ToJudge("z", "2", "二", "同じ"),
    ]
    done, fake = judge(lambda p: VERDICT, tmp_path / "j", answers)
    assert len(fake.asked) == 2
    assert done.judgements[0] is done.judgements[1]
    assert done.statuses["ok"] == 3


def test_cost_is_what_the_replies_say_or_unknown(tmp_path):
    done, _ = judge(
        lambda p: VERDICT, tmp_path / "a", judge_price_in=2.0, judge_price_out=10.0
    )
    assert (
        done.cost
        == done.cost_at_most
        == pytest.approx(6 * (100 * 2.0 + 20 * 10.0) / 1e6)
    )
    assert done.unknown_cost == 0
    done, _ = judge(lambda p: VERDICT, tmp_path / "b")
    assert (done.cost, done.unknown_cost, done.prompt_tokens) == (0.0, 6, 600)
    done, fake = judge(
        lambda p: Reply(VERDICT),
        tmp_path / "c",
        judge_price_in=2.0,
        judge_price_out=10.0,
    )
    assert (done.cost, done.unknown_cost) == (0.0, 6)
    sent = sum(len(line.encode()) + 64 for line in fake.asked)
    assert done.cost_at_most == pytest.approx((sent * 2.0 + 6 * 50 * 10.0) / 1e6)
    assert done.judgements[0].cost is None


def test_max_cost_stops_before_it_is_exceeded_and_a_rerun_does_not_start_again(
    tmp_path,
):
    # A reply costs at most 1 (50 tokens), and here 0.4 (20 tokens).
    how = PRICES | {"max_cost": 5.0}
    done, _ = judge(lambda p: VERDICT, tmp_path / "j", ANSWERS, **how)
    # With 4.4 spent, another one could end at 5.4; 4.0 + 1 was still allowed.
    assert done.statuses["ok"] == 11
    assert done.cost == pytest.approx(4.4)
    assert done.statuses["not_asked"] == 49
    assert "above 5" in done.stopped
    again, fake = judge(lambda p: VERDICT, tmp_path / "j", ANSWERS, **how)
    assert fake.asked == []
    assert again.judgements == done.judgements
    # Tokens that nobody counted are taken at their most.
    done, _ = judge(lambda p: Reply(VERDICT), tmp_path / "k", ANSWERS, **how)
    assert done.statuses["ok"] == 5
    done, fake = judge(lambda p: VERDICT, tmp_path / "k", ANSWERS, **how)
    assert fake.asked == []


def test_a_session_has_one_budget_for_all_that_it_is_asked(tmp_path):
    judge = FakeJudge(lambda p: VERDICT, concurrency=1)
    session = JudgeSession(judge, JudgeSettings(**PRICES), Budget(6.2, spent=1.0))
    assert (
        session.judge_answers(JCQ_V1, ANSWERS[:6], tmp_path / "a").stopped is None
    )  # six replies of 0.4
    done = session.judge_answers(JCQ_V1, ANSWERS, tmp_path / "b")
    assert done.statuses["ok"] == 5  # with 2.0 spent, another one could end at 3.0
    assert "above 6.2" in done.stopped
    assert paid(tmp_path / "a", tmp_path / "b") == pytest.approx(4.4)


def paid(*ledgers):
    return sum(line.cost for path in ledgers for line in read_judgements(path))


def test_max_cost_lets_what_is_under_way_end(tmp_path):
    class Slow(FakeJudge):
        under_way = most = 0

        async def ask(self, prompt):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0.001)
            self.under_way -= 1
            return await super().ask(prompt)

    slow = Slow(lambda p: VERDICT, concurrency=50)
    done, _ = judge(slow, tmp_path / "j", ANSWERS, **PRICES, max_cost=5.0)
    assert (
        slow.most == 5
    )  # five at their most make the limit; the next waits until one has cost less
    assert done.statuses["ok"] == len(slow.asked) == 11


def test_what_waits_for_the_budget_is_not_asked_once_the_run_has_ended(tmp_path):
    class Slow(FakeJudge):
        async def ask(self, prompt):
            await asyncio.sleep(0.001)
            return await super().ask(prompt)

    # There is room for one at a time: the second worker waits while the first meets a judge that cannot be used.
    slow = Slow(lambda p: UserError("no such model"), concurrency=2)
    with pytest.raises(UserError, match="no such model"):
        judge(slow, tmp_path / "j", ANSWERS, **PRICES, max_cost=1.5)
    assert len(slow.asked) == 1
    assert slow.closed == 1


def test_max_cost_needs_prices_and_a_limit(tmp_path):
    with pytest.raises(UserError, match="max_cost needs the price"):
        judge(lambda p: VERDICT, tmp_path / "j", max_cost=1.0)
    with pytest.raises(UserError, match="max_cost needs the price"):
        judge(
            FakeJudge(None, max_tokens=None),
            tmp_path / "j",
            max_cost=1.0,
            judge_price_in=1,
            judge_price_out=1,
        )


def test_a_judge_that_cannot_be_used_ends_the_run_and_what_came_before_stays(tmp_path):
    def reply(p):
        return UserError("no such model") if about(3) in p else VERDICT

    with pytest.raises(UserError, match="no such model"):
        judge(FakeJudge(reply, concurrency=1), tmp_path / "j")
    assert len(read_judgements(tmp_path / "j")) == 3
    done, fake = judge(lambda p: VERDICT, tmp_path / "j")
    assert len(fake.asked) == 3
    assert done.statuses["ok"] == 6


def test_a_dead_server_is_not_asked_seven_hundred_times(tmp_path):
    with pytest.raises(
        UserError,
        match=r"20 prompts in a row got no reply \(the last: refused\).*--retry-unjudged",
    ):
        judge(
            FakeJudge(lambda p: Reply(error="refused"), concurrency=4),
            tmp_path / "j",
            ANSWERS,
        )
    assert GIVE_UP_AFTER <= len(read_judgements(tmp_path / "j")) < GIVE_UP_AFTER + 4


def test_ids_that_come_twice(tmp_path):
    with pytest.raises(UserError, match="answer id 'x' comes twice"):
        judge(
            lambda p: VERDICT,
            tmp_path / "j",
            [ToJudge("x", "1", "q", "."), ToJudge("x", "2", "r", ".")],
        )
    assert not (tmp_path / "j").exists()


def test_every_line_is_told_after_it_is_written(tmp_path):
    told = []

    def tell(judgement):
        assert read_judgements(tmp_path / "j")[-1] == judgement
        told.append(judgement)

    done, _ = judge(lambda p: VERDICT, tmp_path / "j", on_judgement=tell)
    assert sorted(told, key=lambda j: j.answer_id) == list(done.judgements)


def test_a_local_model_is_called_in_batches(tmp_path):
    batches = []

    def reply(prompts):
        batches.append(len(prompts))
        return [
            Completion(VERDICT, "length") if about(1) in p else VERDICT for p in prompts
        ]

    done = judge_answers(
        LocalJudge("local", reply, batch_size=4), JCQ_V1, ANSWERS[:10], tmp_path / "j"
    )
    assert batches == [4, 4, 2]
    assert (done.statuses["ok"], done.statuses["truncated"], done.unknown_cost) == (
        9,
        1,
        10,
    )


@pytest.mark.parametrize("reply", [lambda prompts: prompts[1:], lambda prompts: 1 / 0])
def test_a_local_model_that_fails_ends_the_run(tmp_path, reply):
    with pytest.raises((ValueError, ZeroDivisionError)):
        judge_answers(
            LocalJudge("local", reply, batch_size=4),
            JCQ_V1,
            ANSWERS[:10],
            tmp_path / "j",
        )
    assert read_judgements(tmp_path / "j") == []
