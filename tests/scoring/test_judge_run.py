"""What is asked, what is kept, what it costs and when it stops, with a fake judge."""

import os
import signal
import threading
from collections import Counter

import pytest

from fakes import FakeJudge
from judge_server import VERDICT, completion
from model_server import server
from sentences import refused, says
from sozo.data.errors import UserError
from sozo.data.schema import Completion
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.judges.endpoint import EndpointJudge, LocalJudge
from sozo.scoring.judges.ledger import read_judgements as read_ledger
from sozo.scoring.judges.protocol import JudgeSettings, ToJudge
from sozo.scoring.judges.run import GIVE_UP_AFTER, judge_answers
from sozo.tasks.jcq.rubric import JCQ_RUBRICS, JCQ_V1

ANSWERS = [ToJudge(f"a{k}", str(k), f"問い{k}番", f"答え{k}。") for k in range(60)]
PRICES = {"judge_price_in": 0.0, "judge_price_out": 1e6 / 50}


# Who waits for room in a budget waits for ever where it is wrong.
pytestmark = pytest.mark.timeout(20)


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


def counted(done):
    return {status: number for status, number in done.statuses.items() if number}


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
    assert counted(done) == {
        "ok": 1,
        "unparseable": 2,
        "refused": 1,
        "truncated": 1,
        "api_error": 1,
    }
    # The unparseable ones were asked twice, and both replies are on the bill.
    assert done.requests == len(fake.asked) == 8
    assert done.prompt_tokens == 100 + 1 + 1 + 2 * 100
    assert fake.closed == 1


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
    assert counted(done) == {"ok": 3, "unparseable": 1, "api_error": 1}
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


def test_max_cost_needs_prices_and_a_limit(tmp_path):
    for fake, prices in (
        (FakeJudge(None), {}),
        (FakeJudge(None, max_tokens=None), PRICES),
    ):
        with refused("judges: max_cost without prices"):
            judge(fake, tmp_path / "j", max_cost=1.0, **prices)


def test_a_judge_that_cannot_be_used_ends_the_run_and_what_came_before_stays(tmp_path):
    def reply(p):
        return UserError("no such model") if about(3) in p else VERDICT

    with pytest.raises(UserError):
        judge(FakeJudge(reply, concurrency=1), tmp_path / "j")
    assert len(read_judgements(tmp_path / "j")) == 3
    done, fake = judge(lambda p: VERDICT, tmp_path / "j")
    assert len(fake.asked) == 3
    assert done.statuses["ok"] == 6


def test_a_dead_server_is_not_asked_seven_hundred_times(tmp_path):
    with refused("judges: a dead server"):
        judge(
            FakeJudge(lambda p: Reply(error="refused"), concurrency=4),
            tmp_path / "j",
            ANSWERS,
        )
    assert GIVE_UP_AFTER <= len(read_judgements(tmp_path / "j")) < GIVE_UP_AFTER + 4


def test_ids_that_come_twice(tmp_path):
    with refused("judges: an id twice"):
        judge(
            lambda p: VERDICT,
            tmp_path / "j",
            [ToJudge("x", "1", "q", "."), ToJudge("x", "2", "r", ".")],
        )
    assert not (tmp_path / "j").exists()


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


def test_a_local_model_that_fails_ends_the_run(tmp_path):
    few = LocalJudge("local", lambda prompts: prompts[1:], batch_size=4)
    with pytest.raises(ValueError, match="prompt"):
        judge_answers(few, JCQ_V1, ANSWERS[:10], tmp_path / "j")
    assert read_judgements(tmp_path / "j") == []


def test_what_was_paid_keeps_its_price(tmp_path):
    for price in (1e6, 2e6):
        prices = {"judge_price_in": price, "judge_price_out": price}
        done, _ = judge(lambda p: VERDICT, tmp_path / "j", ANSWERS[:1], **prices)
        assert done.cost == 120.0


def test_a_price_that_comes_later_prices_what_was_asked_before(tmp_path):
    done, _ = judge(lambda p: VERDICT, tmp_path / "j", ANSWERS[:3])
    assert done.unknown_cost == 3
    prices = {"judge_price_in": 1.0, "judge_price_out": 10.0}
    done, _ = judge(lambda p: VERDICT, tmp_path / "j", ANSWERS[:3], **prices)
    assert (done.requests, done.unknown_cost) == (0, 0)
    assert done.cost == pytest.approx(3 * (100 + 200) / 1e6)


def test_a_budget_that_ends_early_was_spent_on_all_tasks_alike(tmp_path):
    answers = [
        ToJudge(f"{task}{k}", f"{task}{k}", f"{task}の問い{k}", "答え", task)
        for task in "abc"
        for k in range(10)
    ]
    fake = FakeJudge(lambda p: VERDICT, concurrency=1)
    done, _ = judge(fake, tmp_path / "j", answers, max_cost=5.0, **PRICES)
    judged = zip(answers, done.judgements, strict=True)
    tasks = Counter(answer.group for answer, of in judged if of)
    assert tasks == {"a": 4, "b": 4, "c": 3}


def test_ctrl_c_waits_for_what_is_paid_for(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none-for-this-server")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    told, stopping = [], threading.Event()

    def tell(line, file):
        told.append(line)
        stopping.set()

    monkeypatch.setattr("sozo.scoring.endpoint.pace.tqdm.write", tell)

    def reply(body):
        if len(requests) == 2:  # both are under way
            os.kill(os.getpid(), signal.SIGINT)
        stopping.wait(10)
        return 200, completion()

    with server(reply) as (url, requests):
        served = EndpointJudge("j", base_url=url, concurrency=2)
        with pytest.raises(KeyboardInterrupt):
            judge_answers(served, JCQ_V1, ANSWERS[:6], tmp_path / "j")
        assert len(requests) == len(read_judgements(tmp_path / "j")) == 2
        assert says("pace: Ctrl-C", *told)
        done = judge_answers(served, JCQ_V1, ANSWERS[:6], tmp_path / "j")
        assert (done.requests, done.statuses["ok"], len(requests)) == (4, 6, 6)
