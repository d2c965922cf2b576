"""What no file and no message may show: the key, and the credentials in an address."""

from __future__ import annotations

from base64 import b64encode
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


def secrets_of(key: str, address: str) -> tuple[str, ...]:
    """Every form in which a server may echo the key, or the credentials in its address."""
    credentials = urlsplit(address).netloc.rpartition("@")[0]
    plain = unquote(credentials)
    secrets = [key, plain.partition(":")[2], b64encode(plain.encode()).decode()]
    forms = [form for secret in secrets if len(secret) >= _LEAST_SECRET for form in (secret, quote(secret, safe=""))]
    return tuple(dict.fromkeys([*forms, *([f"{credentials}@"] if credentials else [])]))
