"""A profile for each role: what is sent, where the key goes, and what is refused before anything is sent."""

import json

import numpy as np
import pytest

from judge_asked import ask
from judge_server import VERDICT
from judge_server import completion as judged
from model_server import completion, server
from sentences import refused
from sozo.models.settings import GeneratorSettings, resolve
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.endpoint.profile import Profile, check_address, read_profile
from sozo.scoring.judges.endpoint import endpoint_judge
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.tasks.jcq.task import JcqSettings
from writers import load_generator

SECRET = "sk-of-this-role-0123456789"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server-987654")
    monkeypatch.setenv("MY_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_profile_is_text_a_file_or_a_mapping(tmp_path):
    expected = Profile(key_env="MY_KEY", temperature="none", timeout=5)
    (tmp_path / "p.yaml").write_text(
        "key_env: MY_KEY\ntemperature: none\ntimeout: 5\n", "utf-8"
    )
    assert read_profile(str(tmp_path / "p.yaml")) == expected
    assert read_profile("{key_env: MY_KEY, temperature: none, timeout: 5}") == expected
    assert (
        read_profile({"key_env": "MY_KEY", "temperature": "none", "timeout": 5})
        == expected
    )
    assert read_profile(None) == Profile()


MISTAKES = {
    "unknown key": "{key: x}",
    "no file": "nowhere.yaml",
    "no YAML": "{key_env: [}",
    "timeout below 0": "{timeout: -1}",
    "endless timeout": "{timeout: .inf}",
    "temperature in words": "{temperature: warm}",
    "temperature NaN": "{temperature: .nan}",
    "endless temperature": "{temperature: .inf}",
    "temperature below 0": "{temperature: -0.5}",
    "extra_body is a number": "{extra_body: 3}",
    "extra_body with NaN": "{extra_body: {top_p: .nan}}",
    "no such port": "{base_url: 'http://host:99999/v1'}",
    "a key as key_env": "{key_env: sk-abcdef0123456789}",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_without_the_key(mistake):
    with refused(f"profile: {mistake}") as caught:
        read_profile(MISTAKES[mistake])
    assert "abcdef0123456789" not in str(caught.value)


IMPOSSIBLE = (
    *("http://127.0.0.1:0/v1", "http://h:port/v1", "http:///v1", "http://[::1/v1"),
    *("http://me:secret@:80/v1", "http://h:1:2/v1", "me:secret@host/v1"),
)


@pytest.mark.parametrize("url", IMPOSSIBLE)
def test_an_address_that_cannot_be_is_refused(url):
    with refused("profile: no such address"):
        check_address(url, "base_url")


def test_it_is_refused_before_anything_is_sent_wherever_it_is_given(monkeypatch):
    url = "http://me:secret@h:port/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    for make in (
        lambda: resolve(GeneratorSettings("m", base_url=url)),
        lambda: endpoint_judge(JudgeSettings("j", judge_base_url=url)),
        lambda: endpoint_judge(JudgeSettings("j")),
        lambda: make_encoder("openai:e"),
    ):
        with refused("client: no such address") as caught:
            make()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (GeneratorSettings, {"concurrency": 0}),
        (JudgeSettings, {"max_cost": float("nan")}),
        (JudgeSettings, {"judge_price_in": -1.0, "judge_price_out": 1.0}),
        (JudgeSettings, {"judge_concurrency": 10**400}),
        (JcqSettings, {"max_cost": -1.0}),
    ],
)
def test_a_number_that_cannot_be_is_refused_as_soon_as_it_is_said(kind, values):
    name, value = next(iter(values.items()))
    with refused(f"settings: {name} {str(value)[:5]}"):
        kind(**values)


def test_a_judge_that_wants_everything_its_own_way():
    """As OpenAI's reasoning models: no temperature, another name for the limit, an answer in parts."""

    parts = [
        {"type": "reasoning", "text": "流暢性: 1"},
        {"type": "text", "text": VERDICT},
    ]
    with server(lambda _: (200, judged(parts))) as (url, requests):
        profile = "{key_env: MY_KEY, temperature: none, limit_name: max_completion_tokens, reasoning_effort: low}"
        judge = endpoint_judge(
            JudgeSettings("j", judge_base_url=url, judge_endpoint=profile)
        )
        assert ask(judge, "p")[0].text == VERDICT
        [body] = requests
    assert {k: v for k, v in body.items() if k != "messages"} == {
        "authorization": f"Bearer {SECRET}",
        "model": "j",
        "max_completion_tokens": 1024,
        "reasoning_effort": "low",
    }
    assert judge.parameters == {
        "temperature": "none",
        "max_tokens": 1024,
        "reasoning_effort": "low",
        "server": url,
    }


def test_extra_body_reaches_the_encoder():
    def reply(body):
        vectors = [
            {"index": k, "embedding": [1, k]} for k, _ in enumerate(body["input"])
        ]
        return 200, {"data": vectors}

    with server(reply) as (url, requests):
        profile = {"base_url": url, "extra_body": {"dimensions": 2}}
        encoder = make_encoder("openai:e", endpoint=json.dumps(profile))
        assert np.shape(encoder.encode(["犬", "猫", "馬"])) == (3, 2)
    assert {body["dimensions"] for body in requests} == {2}


def test_a_key_goes_to_its_own_role_only(monkeypatch, tmp_path):
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-0123456789")
    monkeypatch.setenv("ENCODER_KEY", "sk-encoder-0123456789")

    def embedded(body):
        return 200, {
            "data": [
                {"index": k, "embedding": [1.0, k]} for k in range(len(body["input"]))
            ]
        }

    with (
        server(lambda body: (200, judged())) as (judge_url, of_judge),
        server(lambda body: completion("犬")) as (url, of_writer),
        server(embedded) as (encoder_url, of_encoder),
    ):
        judge = {"base_url": judge_url, "key_env": "JUDGE_KEY"}
        ask(endpoint_judge(JudgeSettings("j", judge_endpoint=json.dumps(judge))), "p")
        load_generator(
            GeneratorSettings("m", endpoint=f"{{base_url: '{url}', key_env: MY_KEY}}")
        ).answer(["p"], 0, 0)
        make_encoder(
            "openai:e", endpoint={"base_url": encoder_url, "key_env": "ENCODER_KEY"}
        ).encode(["犬"])
        keys = [
            {body["authorization"] for body in requests}
            for requests in (of_judge, of_writer, of_encoder)
        ]
        assert keys == [
            {"Bearer sk-judge-0123456789"},
            {f"Bearer {SECRET}"},
            {"Bearer sk-encoder-0123456789"},
        ]
