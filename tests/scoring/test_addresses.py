"""Servers' addresses, quotas and keys as people give them and servers say them: `sent_by_others`."""

import json
from contextlib import ExitStack

import pytest

import sent_by_others as sent
from judge_server import serving
from sentences import refused
from sozo.data.secrets import secret_pattern, without_credentials
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.endpoint.profile import check_address, read_profile, request_url

QUICK = RetryPolicy(retries=1, first_wait=0.01, longest_wait=0.02, patience=0.05)


@pytest.fixture
def asked(monkeypatch):
    """`asked(status, body, address)`: an endpoint, what came of one request to a server that says this."""
    monkeypatch.setenv("OPENAI_API_KEY", sent.KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as servers:

        def ask(status, body, change=str):
            url = servers.enter_context(serving(lambda *_: (status, {}, body)))
            endpoint = Endpoint("the model", change(url), retry=QUICK)
            outcomes = []
            endpoint.post_all(
                "chat/completions",
                [{}],
                lambda c: c,
                lambda _, came: outcomes.append(came),
            )
            return outcomes[0]

        yield ask


@pytest.mark.parametrize(("address", "path", "right"), sent.ADDRESSES)
def test_a_request_goes_below_the_path_and_before_the_query(address, path, right):
    assert request_url(address, path) == right


def test_a_404_says_which_path_was_asked(asked):
    with refused("client: 404"):
        asked(404, {"error": {"message": "no"}})
    with refused("client: 404 at an address without /v1"):
        asked(404, b"", lambda url: url.removesuffix("/v1"))
    with refused("client: 404 at an address with a query") as caught:
        asked(404, b"", lambda url: url.replace("/v1", "/a?api-version=1"))
    assert "api-version" not in str(caught.value)


@pytest.mark.parametrize(("status", "body"), sent.USED_UP)
def test_an_account_that_is_used_up_ends_the_run(asked, status, body):
    with refused("client: an account is used up"):
        asked(status, body)


@pytest.mark.parametrize(("status", "body"), sent.FOR_A_WHILE)
def test_a_limit_for_a_while_is_waited_for(asked, status, body):
    outcome = asked(status, body)
    assert outcome.status == 429
    assert "attempts" in outcome.error


@pytest.mark.parametrize("address", sent.KEYS_IN_ADDRESSES)
def test_a_key_in_an_address_is_refused_and_not_shown(address, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for use in (
        lambda: check_address(address, "base_url"),
        lambda: Endpoint("the judge", address),
        lambda: read_profile({"base_url": address}),
    ):
        with refused("profile: an address holds a key") as caught:
            use()
        assert "0123456789" not in str(caught.value)
        assert address.split("/", 3)[3] not in str(caught.value)


@pytest.mark.parametrize("address", sent.KEYS_IN_QUERIES)
def test_a_key_in_a_query_is_sent_and_not_shown(asked, address):
    query = address.partition("?")[2]
    said = asked(400, {"error": {"message": query}}, lambda url: f"{url}?{query}")
    assert "0123456789" not in said.error
    recorded = str(without_credentials({"base_url": address, "said": f"at {address}"}))
    assert "0123456789" not in recorded


@pytest.mark.parametrize("address", sent.NO_KEYS_IN_ADDRESSES)
def test_what_only_looks_like_a_key_is_an_address(address):
    check_address(address, "base_url")


@pytest.mark.parametrize("body", sent.KEYS_IN_BODIES)
def test_a_key_in_extra_body_is_refused_and_not_shown(body):
    with refused("profile: extra_body holds a key") as caught:
        read_profile({"extra_body": body})
    for secret in ("x1y2z3", "0123456789", "abcdefghij", sent.KEY):
        assert secret not in str(caught.value)


@pytest.mark.parametrize("body", sent.NO_KEYS_IN_BODIES)
def test_other_fields_are_sent(body):
    assert read_profile({"extra_body": body}).extra_body == body


@pytest.mark.parametrize("form", sent.ECHOES)
def test_an_echo_of_a_key_is_masked(asked, form):
    said = asked(400, {"error": {"message": f"bad key <{sent.ECHOES[form]}> here"}})
    assert said.error.startswith("HTTP 400: bad key <")
    assert said.error.endswith("> here")
    shown = said.error.partition("<")[2].rpartition(">")[0]
    assert "***" in shown
    # What base64 has around the key, in whole bytes, may stay.
    assert len(shown) <= (20 if form.startswith("base64") else 3)


def test_other_texts_are_not_masked():
    pattern = secret_pattern("none", "http://h/v1")
    assert pattern.sub("***", "none of it: &#47; %2F \\u0041") == (
        "none of it: &#47; %2F \\u0041"
    )
    text = json.dumps(sent.NO_KEYS_IN_BODIES)
    assert secret_pattern(sent.KEY, "http://h").sub("***", text) == text


def test_headers_hold_values_of_the_environment_and_are_masked(asked, monkeypatch):
    """Azure's classic API takes its key as `api-key`."""
    monkeypatch.setenv("TEAM", "team-secret-1")
    profile = "{key_header: api-key, headers: {X-Team: env:TEAM}}"
    endpoint = Endpoint("the model", "http://h/v1", profile=read_profile(profile))
    assert endpoint._headers["api-key"] == sent.KEY
    assert endpoint._headers["X-Team"] == "team-secret-1"
    assert "Authorization" not in endpoint._headers
    assert endpoint._mask(f"{sent.KEY} team-secret-1") == "*** ***"
    monkeypatch.delenv("TEAM")
    with refused("profile: a header's variable that is not set"):
        Endpoint("the model", "http://h/v1", profile=read_profile(profile))
    with refused("profile: a header's value itself"):
        read_profile("{headers: {X-Team: team-secret-1}}")
