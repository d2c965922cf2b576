"""The OpenAI-compatible generator against a small server on loopback: dialects, retries, seeds, and the secret key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import read_answer_table
from grpo_runs import _free_port, environment
from mini_model import build_mini
from model_server import GOOD, KEY, completion, server, wait_for
from sentences import refused
from sozo.data.prompts import messages, prompt
from sozo.data.secrets import public_url
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task
from sozo.models.openai_endpoint import OpenAIGenerator
from sozo.models.settings import GeneratorSettings, resolve
from sozo.scoring.endpoint import client
from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.final_text import answer_state
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat

DAT = prompt("dat")
QUICK = RetryPolicy(first_wait=0.01, longest_wait=0.02)


def without_retries(monkeypatch):
    monkeypatch.setattr(client, "RetryPolicy", lambda: RetryPolicy(retries=0))


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def asking(model, *, retry=None, **settings):
    return OpenAIGenerator(
        resolve(GeneratorSettings(model, backend="openai", **settings)), retry=retry
    )


def test_every_request_asks_for_the_whole_distribution_with_a_seed_of_its_own():
    with server(lambda body: completion(str(body["seed"]))) as (url, requests):
        generator = asking(
            "m",
            base_url=url,
            sampling="temperature=0.7",
            max_new_tokens=33,
            concurrency=3,
        )
        first = generator.answer([DAT] * 20, seed=1, batch=2)
        assert generator.answer([DAT] * 20, seed=1, batch=2) == first
        assert asking("m", base_url=url).answer([DAT] * 5, seed=1, batch=2) == first[:5]
        others = generator.answer([DAT] * 20, seed=1, batch=3) + generator.answer(
            [DAT] * 20, seed=2, batch=2
        )
    assert len({c.text for c in first + others}) == 60
    with server(lambda body: completion(body["messages"][-1]["content"])) as (url, _):
        answers = asking("m", base_url=url, concurrency=3).answer(
            ["一", "二", "三", "一"], seed=0, batch=0
        )
    assert [answer.text for answer in answers] == ["一", "二", "三", "一"]
    sent = requests[1]
    assert sent["messages"] == messages(DAT)
    assert (sent["temperature"], sent["top_p"], sent["top_k"], sent["min_p"]) == (
        0.7,
        1.0,
        -1,
        0.0,
    )
    assert (sent["repetition_penalty"], sent["max_tokens"], sent["model"]) == (
        1.0,
        33,
        "m",
    )
    assert sent["authorization"] == f"Bearer {KEY}"
    assert requests[0]["max_tokens"] == 1

    form = {
        "system_prompt": "短く",
        "chat_template_kwargs": '{"enable_thinking": false}',
    }
    with server(lambda body: completion("x")) as (url, requests):
        asking("m", base_url=url, **form).answer([DAT], seed=0, batch=0)
    assert "chat_template_kwargs" not in sent
    assert requests[-1]["messages"] == [
        {"role": "system", "content": "短く"},
        *messages(DAT),
    ]
    assert requests[-1]["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    ("unknown", "status", "form", "field"),
    [
        ({"top_k"}, 422, "generation_config", "generation_config"),
        ({"top_k", "generation_config"}, 400, "openai", "seed"),
    ],
)
def test_the_first_form_that_a_server_accepts_is_used(unknown, status, form, field):
    def answer(body):
        return (
            (status, {"error": "unexpected field"})
            if unknown & set(body)
            else completion(GOOD)
        )

    with server(answer) as (url, requests):
        generator = asking("m", base_url=url, max_new_tokens=50)
        generator.answer([DAT] * 1, seed=0, batch=0)
    assert generator.describe()["request_form"] == form
    assert field in requests[-1]
    assert (
        requests[-1].get("max_tokens", requests[-1].get("max_completion_tokens")) == 50
    )
    if form == "generation_config":
        whole = {
            "do_sample": True,
            "top_k": 0,
            "top_p": 1.0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
        }
        assert json.loads(requests[-1]["generation_config"]) == whole


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens=4096 cannot be greater than max_model_len=max_total_tokens=2048. Please request fewer.",
        "This model's maximum context length is 2048 tokens. However, you requested 4096 output tokens",
        "max_tokens is too large: 4096. This model supports at most 2048 completion tokens",
    ],
)
def test_a_limit_that_the_server_has_no_room_for_is_told_with_what_to_do(said):
    def answer(body):
        if body["max_tokens"] <= 2048:
            return completion("よ")
        return 400, {"error": {"message": said}}

    with server(answer) as (url, _), refused("endpoint: no room for the limit"):
        asking("m", base_url=url, max_new_tokens=4096).answer(
            [DAT] * 2, seed=0, batch=0
        )


def test_what_was_paid_for_of_a_batch_that_failed_is_not_asked_for_again(
    tmp_path, monkeypatch
):
    without_retries(monkeypatch)
    broken = [True]

    def answer(body):
        if body["max_tokens"] > 1 and broken and len(requests) > 1 + 26:
            return 500, {"error": {"message": "gone"}}
        return completion(f"{body['seed']}\ud800", "length")

    def rows(folder):
        return [
            (row.id, row.text, row.finish_reason, row.reason)
            for row in read_answer_table(folder)
        ]

    with server(answer) as (url, requests):
        settings = GeneratorSettings("m", base_url=url, concurrency=1)
        options = SamplingOptions(num_answers=48, batch_size=24)
        task = Dat(DatSettings(noun_checker="jumandic"))
        with refused("endpoint: a server that is gone"):
            run_task(task, settings, options, tmp_path / "a")
        # The first batch is a part; of the second two are kept, and a kill tore a third.
        (kept,) = (tmp_path / "a" / "answers").glob(".part-*")
        assert len(kept.read_bytes().splitlines()) == 2
        with kept.open("ab") as file:
            file.write(b'[3, "tor')
        broken.clear()
        requests.clear()
        run_task(task, settings, options, tmp_path / "a")
        assert len(requests) == 1 + 22
        run_task(task, settings, options, tmp_path / "b")
    assert rows(tmp_path / "a") == rows(tmp_path / "b")
    assert [path.name for path in sorted((tmp_path / "a" / "answers").iterdir())] == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]


def test_a_prompt_that_a_filter_declines_is_an_empty_answer():
    filtered = (
        400,
        {"error": {"message": "The answer was filtered", "code": "content_filter"}},
    )
    with server(
        lambda body: (
            filtered if "悪" in body["messages"][-1]["content"] else completion("よ")
        )
    ) as (
        url,
        requests,
    ):
        answers = asking("m", base_url=url, concurrency=1).answer(
            ["良い", "悪い", "良い"], seed=0, batch=0
        )
    assert [(answer.text, answer.finish_reason) for answer in answers] == [
        ("よ", "stop"),
        ("", "content_filter"),
        ("よ", "stop"),
    ]
    assert len(requests) == 1 + 3


@pytest.mark.parametrize(
    ("tokens", "ended"), [(7, "stop"), (8, "length"), (None, "stop")]
)
def test_a_reply_of_as_many_tokens_as_it_may_have_is_cut(tokens, ended):
    def answer(body):
        status, content = completion("味")
        return status, content | {
            "usage": {"prompt_tokens": 9, "completion_tokens": tokens}
        }

    with server(answer) as (url, _):
        (cut,) = asking("m", base_url=url, max_new_tokens=8).answer(["味噌"], 0, 0)
    assert (cut.text, cut.finish_reason) == ("味", ended)


def test_a_refusal_is_told_from_a_filter():
    def answer(body):
        status, content = completion("よ")
        if "悪" in body["messages"][-1]["content"]:
            content["choices"][0]["message"] |= {"content": None, "refusal": "いいえ"}
        return status, content

    with server(answer) as (url, _):
        answers = asking("m", base_url=url).answer(["良い", "悪い"], seed=0, batch=0)
    assert [(a.text, answer_state(a.text, a.finish_reason)) for a in answers] == [
        ("よ", "complete"),
        ("いいえ", "refusal"),
    ]


def test_a_run_records_the_endpoint_but_no_secret(tmp_path):
    texts = [GOOD, None, "", GOOD]

    def answer(body):
        return completion(
            texts[body["seed"] % 4], "stop" if body["seed"] % 2 else "content_filter"
        )

    with server(answer) as (url, _):
        settings = GeneratorSettings("m", base_url=url.replace("//", "//me:pass@"))
        run = run_task(
            Dat(DatSettings(noun_checker="jumandic")),
            settings,
            SamplingOptions(num_answers=12, batch_size=5),
            tmp_path,
        )
    rows = list(read_answer_table(tmp_path))
    assert run.metrics["num_answers"] == len(rows) == 12
    reasons = {(r.text, r.reason) for r in rows if r.text != GOOD}
    assert reasons == {("", "filtered"), ("", "no_text")}
    assert {r.finish_reason for r in rows} == {"stop", "content_filter"}
    recorded = (tmp_path / "config.json").read_text("utf-8")
    config = json.loads(recorded)
    assert (
        config["settings"]["base_url"] == config["loaded"]["decoder"]["server"] == url
    )
    assert KEY not in recorded
    assert "pass@" not in recorded


def test_an_address_without_secrets():
    assert public_url("https://u:p@host:1/v1/?k=v#f") == "https://host:1/v1"


@pytest.mark.slow
def test_transformers_serve(tmp_path, ginza, jumandic_checker, nouns):
    model = build_mini(tmp_path / "model", ginza, jumandic_checker, nouns)
    port = _free_port()
    script = Path(sys.executable).with_name("transformers")
    command = [
        str(script),
        "serve",
        str(model),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    variables = environment(PYTHONPATH=os.pathsep.join(sys.path))
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/health")
            settings = GeneratorSettings(
                str(model),
                base_url=f"http://127.0.0.1:{port}/v1",
                concurrency=1,
                max_new_tokens=40,
            )
            options = SamplingOptions(num_answers=24, batch_size=10)
            runs = [
                run_task(
                    Dat(DatSettings(noun_checker="jumandic")),
                    settings,
                    options,
                    tmp_path / name,
                )
                for name in ("a", "b")
            ]
        finally:
            process.terminate()
    texts = [
        [r.text for r in read_answer_table(tmp_path / name)] for name in ("a", "b")
    ]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 20
    assert runs[0].metrics["usable"] > 2
    config = json.loads((tmp_path / "a" / "config.json").read_text("utf-8"))
    assert config["loaded"]["decoder"]["request_form"] == "generation_config"
