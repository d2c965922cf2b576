"""What no file and no message may show: an endpoint's key, and the credentials in an address."""

import json
import re
from base64 import b64encode
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote, urlsplit

_LEAST_SECRET = 8  # `none` and the like, for servers without keys, are ordinary words and not masked


def public_url(url: str) -> str:
    """An address without user, password, query and fragment, fit to be written down.

    >>> public_url("https://me:secret@host:8000/v1/?key=secret")
    'https://host:8000/v1'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def without_credentials(value: Any) -> Any:
    """Settings (JSON values), or a text such as a message, without user and password of the addresses in them.

    >>> without_credentials({"judge_base_url": "http://me:secret@host/v1", "scale": 2.0})
    {'judge_base_url': 'http://host/v1', 'scale': 2.0}
    """
    if isinstance(value, dict):
        return {name: without_credentials(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_credentials(inner) for inner in value]
    if not isinstance(value, str):
        return value
    with suppress(ValueError, RecursionError):  # on the command line a mapping is JSON
        inner = json.loads(value) if value.startswith("{") else None
        if inner != (hidden := without_credentials(inner)):
            return json.dumps(hidden, ensure_ascii=False)
    # In an address anything may stand before the last @; a longer text goes on after white space.
    if value.startswith("http"):
        return re.sub(r"^(https?://).*@", r"\1", value)
    return "".join(map(_hidden, re.split(r"(\s+)", value))) if "@" in value else value


def _hidden(word: str) -> str:
    scheme = re.search("https?://", word)
    return (
        word[: scheme.end()] + word[scheme.end() :].rpartition("@")[2]
        if scheme
        else word
    )


def secrets_of(key: str, address: str) -> tuple[str, ...]:
    """Every form in which a server may echo the key, or the credentials in its address."""
    credentials = urlsplit(address).netloc.rpartition("@")[0]
    plain = unquote(credentials)
    secrets = [key, plain.partition(":")[2], b64encode(plain.encode()).decode()]
    forms = [
        form
        for secret in secrets
        if len(secret) >= _LEAST_SECRET
        for form in (secret, quote(secret, safe=""))
    ]
    return tuple(dict.fromkeys([*forms, *([f"{credentials}@"] if credentials else [])]))
