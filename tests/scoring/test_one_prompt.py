"""One prompt that a server never answers is not the endpoint: the run delivers, counts it, and never scores it."""

import numpy as np
import pytest

from model_server import GOOD, completion, server
from sentences import refused
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task, score_answers
from sozo.models.openai_endpoint import OpenAIGenerator
from sozo.models.settings import GeneratorSettings, resolve
from sozo.scoring.embeddings import OpenAIEncoder
from sozo.scoring.endpoint import client
from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.endpoint.profile import Profile
from sozo.scoring.measure import Measure
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Item, Row, Task
from sozo.training.selection import select_pairs

BOOM = (500, {"error": {"message": "boom"}})
SSE = (200, {"choices": [{"index": 0, "delta": {"content": "犬"}}]})
HELLO = "こんにちは"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(
        client,
        "RetryPolicy",
        lambda: RetryPolicy(retries=2, first_wait=0.002, longest_wait=0.004),
    )


def asked(body):
    return body["messages"][-1]["content"]


def writer(url, keep=None, **settings):
    return OpenAIGenerator(
        resolve(GeneratorSettings("m", base_url=url, **settings)), keep=keep
    )


def run(task, url, folder, concurrency=16, **sampling):
    settings = GeneratorSettings("m", base_url=url, concurrency=concurrency)
    return run_task(task, settings, SamplingOptions(**sampling), folder)


class Long(Task):
    """A score that nothing at all would have: the number of characters."""

    name = "long"
    measures = (Measure("long"), Measure("long/more"))
    batch_size = 2

    def items(self):
        return [Item(str(k), f"問い{k}番") for k in range(6)]

    def score(self, items, answers):
        return [
            Row({"long": float(len(answer.text)), "long/more": 1.0})
            for answer in answers
        ]


@pytest.mark.parametrize(
    ("trouble", "bad", "concurrency"),
    [(BOOM, "問い0番", 1), (SSE, "問い5番", 16)],
)
def test_the_run_delivers_and_the_answer_is_an_error(
    trouble, bad, concurrency, tmp_path
):
    with server(
        lambda body: trouble if asked(body) == bad else completion("四文字だ")
    ) as (url, requests):
        for batch_size in (2, 64):
            requests.clear()
            asking = Long(), url, tmp_path / str(batch_size), concurrency
            metrics = run(*asking, batch_size=batch_size).metrics
            assert (metrics["num_answers"], metrics["usable"], metrics["reasons"]) == (
                6,
                5,
                {"error": 1},
            )
            assert [
                (e["value"], e["n"], e["of"]) for e in metrics["measures"].values()
            ] == [(4, 5, 6), (1, 5, 6)]
            assert (
                len(requests) <= 1 + 5 + 2 * 3 + 2
            )  # the bad one twice, a greeting after it
            # Asking again asks nobody, and scoring what is there once more keeps it.
            requests.clear()
            assert run(*asking, batch_size=batch_size).finished_before
            again = score_answers(Long(), asking[2], tmp_path / f"again-{batch_size}")
            assert again.metrics["reasons"] == {"error": 1}
            assert again.metrics["measures"] == metrics["measures"]
            assert requests == []


def test_a_server_that_answers_nothing_ends_the_run_before_much_is_asked(tmp_path):
    for row, answer in {
        "boom": lambda _: BOOM,
        "only greetings": lambda body: (
            completion("よ") if asked(body) == HELLO else SSE
        ),
    }.items():
        with server(answer) as (url, requests):
            with refused(f"client: {row}"):
                run(Long(), url, tmp_path / row, answers_per_item=50, batch_size=64)
            assert len(requests) <= 40 * 3


def test_a_server_that_dies_ends_the_run_and_nothing_is_lost_or_called_an_error(
    tmp_path,
):
    alive = [True]

    def answer(body):
        if len(requests) > 4:
            alive.clear()
        return completion("四文字だ") if alive or revived else BOOM

    with server(answer) as (url, requests):
        revived = []
        # Three of six are answered: too few failures to tell, but the server does not answer a greeting either.
        with refused("client: boom"):
            run(Long(), url, tmp_path, 1, batch_size=64)
        revived.append(True)
        requests.clear()
        metrics = run(Long(), url, tmp_path, 1, batch_size=64).metrics
        assert (metrics["usable"], metrics["reasons"]) == (6, {})
        assert len(requests) == 1 + 3


def test_a_prompt_that_was_answered_is_not_at_fault():
    with server(
        lambda body: (
            completion("よ") if len(requests) < 10 or asked(body) == HELLO else BOOM
        )
    ) as (
        url,
        requests,
    ):
        with refused("client: boom"):
            writer(url, concurrency=1).answer(["一"] * 400, seed=0, batch=0)
        assert len(requests) < 10 + 3 * 20 + 3


def test_answers_that_are_errors_are_asked_for_again_where_one_wants_that(tmp_path):
    well = []
    with server(
        lambda body: completion("四文字だ") if well or asked(body) != "問い3番" else SSE
    ) as (url, requests):
        asking = Long(), url, tmp_path / "a"
        run(*asking)
        requests.clear()
        assert run(*asking, retry_errors=True).metrics["reasons"] == {"error": 1}
        # The other answer of its part is not paid for again.
        assert {asked(body) for body in requests} <= {HELLO, "問い3番"}
        well.append(True)
        requests.clear()
        assert run(*asking, retry_errors=True).metrics["reasons"] == {}
        assert [asked(body) for body in requests] == [HELLO, "問い3番"]
        run(Long(), url, tmp_path / "b")
    ours, theirs = (sorted((tmp_path / name / "answers").iterdir()) for name in "ab")
    assert [path.read_bytes() for path in ours] == [
        path.read_bytes() for path in theirs
    ]


def test_what_never_came_is_no_unusable_list_and_is_never_trained_on(tmp_path):
    def answer(body):
        return (
            BOOM
            if body.get("seed", 0) % 4 == 0 and asked(body) != HELLO
            else completion(GOOD if body["seed"] % 2 else "犬")
        )

    with server(answer) as (url, _):
        task = Dat(DatSettings(noun_checker="jumandic"))
        done = run(task, url, tmp_path, num_answers=64, batch_size=32)
    metrics = done.metrics
    errors = metrics["reasons"]["error"]
    assert 5 < errors < 30
    assert (
        metrics["usable"] + sum(metrics["reasons"].values())
        == metrics["num_answers"]
        == 64
    )
    share = metrics["measures"]["dat/usable"]
    assert (share["value"], share["n"]) == (
        pytest.approx(metrics["usable"] / (64 - errors)),
        64 - errors,
    )
    pairs = select_pairs(tmp_path, 64 - errors - metrics["usable"], seed=0)
    assert set(pairs.rejected.texts) == {"犬"}


def test_forty_bad_prompts_in_a_row_are_not_the_endpoint_while_an_answered_one_is_answered_again():
    prompts = [f"問い{k}番" for k in range(60)]
    bad = set(prompts[10:50])
    with server(lambda body: SSE if asked(body) in bad else completion("よ")) as (
        url,
        requests,
    ):
        answers = writer(url, concurrency=16).answer(prompts, seed=0, batch=0)
        assert [answer.finish_reason for answer in answers] == [
            "error" if prompt in bad else "stop" for prompt in prompts
        ]
        assert len(requests) <= 1 + 20 + 3 * 40 + 4
        asked_for = [asked(body) for body in requests]
        # At most three times: an attempt on a connection that was just dropped never comes to the server.
        assert all(0 < asked_for.count(prompt) <= 3 for prompt in bad)


def embedding(bad, status=500):
    """A server of vectors that fails wherever a word of `bad` is among the words."""

    def answer(body):
        if bad & set(body["input"]):
            return status, {"error": {"message": "boom"}}
        return 200, {
            "data": [
                {"index": k, "embedding": [len(word), 1]}
                for k, word in enumerate(body["input"])
            ]
        }

    return answer


@pytest.mark.parametrize("status", [404, 500])
def test_a_word_that_an_encoder_never_answers_has_no_vector(status):
    words = [f"犬{k}" for k in range(40)]
    with server(embedding({"犬25"}, status)) as (url, requests):
        encoder = OpenAIEncoder("e", Profile(base_url=url))
        encoder.encode(["水"])  # a 404 before any answer is the server's
        for _ in range(2):
            vectors = encoder.encode(words)
            assert [
                k for k, vector in enumerate(vectors) if not np.isfinite(vector).all()
            ] == [25]
            assert vectors[:25].tolist() == [[len(word), 1] for word in words[:25]]
        assert len(requests) <= 2 * 7 * (3 + 2)
        requests.clear()
        encoder.encode(["猫", *words[:25]])
        assert len(requests) == 1  # one word is not the limit on a request


def test_an_encoder_whose_server_is_gone_ends_the_run_at_once():
    alive = [True]
    with server(
        lambda body: embedding(set() if alive else set(body["input"]))(body)
    ) as (url, requests):
        encoder = OpenAIEncoder("e", Profile(base_url=url))
        encoder.encode(["犬"])
        alive.clear()
        with refused("client: boom"):
            encoder.encode([f"猫{k}" for k in range(40)])
        assert len(requests) <= 1 + 3 + 3
