"""What no file and no message may show: an endpoint's key, and the credentials in an address."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_LEAST_SECRET = 8  # `none` and the like, for servers without keys, are ordinary words and not masked
# How the keys of known providers begin, and a header's and a token's form.
_KEY = re.compile(
    r"(?:^|[/=:\s])(?:(?:sk|pk|rk|sess)-[\w+/=-]{12,}|AIza[\w-]{20,}|(?:hf|gsk|ghp|r8|fw|tgp)_\w{16,}|"
    r"(?:xai|nvapi|pplx|glpat|csk)-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+|(?i:bearer|basic)[ +][\w.+/=-]{8,})"
)
_IN_QUERY = re.compile(
    r"(?i)((?<=[?&])[\w-]*(?:key|token|secret|password|sig|signature)=)[^&\s]+"
)
_KEY_NAMES = {
    "key",
    "apikey",
    "xapikey",
    "xgoogapikey",
    "ocpapimsubscriptionkey",
    "subscriptionkey",
    "authorization",
    "token",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "secret",
    "clientsecret",
    "password",
    "sig",
    "signature",
}


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
        value = re.sub(r"^(https?://).*@", r"\1", value)
    elif "@" in value:
        value = "".join(map(_hidden, re.split(r"(\s+)", value)))
    return _IN_QUERY.sub(r"\1***", value) if "?" in value else value


def _hidden(word: str) -> str:
    scheme = re.search("https?://", word)
    return (
        word[: scheme.end()] + word[scheme.end() :].rpartition("@")[2]
        if scheme
        else word
    )


def secret_pattern(key: str, address: str, *more: str) -> re.Pattern[str]:
    """What matches the key, `more` secrets, and the credentials in an address, in every form in which a server may say them again.

    These are percent, JSON's, HTML's and Python's escapes of any of their characters, once or twice; and base64, also
    of a longer text that holds them.

    >>> secret_pattern("sk-secret/1", "http://h").sub("***", "sk-secret%2F1 or \\\\u0073k-secret\\\\/1, sk-other")
    '*** or ***, sk-other'
    """
    credentials = urlsplit(address).netloc.rpartition("@")[0]
    plain = unquote(credentials)
    named = [value for name, value in _query(address) if _names_key(name)]
    secrets = (key, *more, plain.partition(":")[2], *named)
    known = [one for one in secrets if len(one) >= _LEAST_SECRET]
    known += [plain] if ":" in plain else []
    forms = {*known, *(part for one in known for part in _in_base64(one))}
    forms |= {f"{credentials}@"} if credentials else set()
    longest_first = sorted(filter(None, forms), key=len, reverse=True)
    ways = ("".join(map(_escaped, form)) + "=*" for form in longest_first)
    return re.compile("|".join(ways) or r"(?!)")


def _query(address: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(address).query)


def _escaped(character: str) -> str:
    code = ord(character)
    if code > 0xFF:
        return re.escape(character)
    ways = (
        rf"\\{{0,4}}{re.escape(character)}",
        rf"%(?:25){{0,4}}(?i:{code:02x})",
        rf"\\{{1,4}}(?i:u00|x)(?i:{code:02x})",
        rf"&#(?:0{{0,6}}{code}|(?i:x0{{0,6}}{code:x}));",
    )
    return f"(?:{'|'.join(ways)})"


def _in_base64(secret: str) -> Iterator[str]:
    """What base64 of any text that holds the secret has of it: three ways, by where it begins, in two alphabets."""
    raw = secret.encode()
    for before in range(3):
        encoded = b64encode(b"\0" * before + raw).decode().rstrip("=")
        # The first and the last characters are other bytes', too.
        inner = encoded[(0, 2, 3)[before] : (before + len(raw)) * 8 // 6]
        yield inner
        yield inner.translate(str.maketrans("+/", "-_"))


def key_in_address(address: str) -> bool:
    """Whether the path of an address holds what looks like a key. Of the query nothing is written down or shown.

    >>> key_in_address("https://h/hf_0123456789abcdef/v1"), key_in_address("https://h/v1")
    (True, False)
    """
    return any(_is_key(unquote(part)) for part in urlsplit(address).path.split("/"))


def key_in(value: Any, secret: str = "") -> str | None:
    """The name in a mapping (JSON values), however deep, of what looks like a key or holds the `secret`.

    >>> key_in({"headers": {"Authorization": "Bearer x"}}), key_in({"max_tokens": 1})
    ('Authorization', None)
    """
    secret = secret if len(secret) >= _LEAST_SECRET else ""

    def found(inner: Any, name: str) -> str | None:
        if isinstance(inner, dict):
            within = (found(one, str(called)) for called, one in inner.items())
            return next(filter(None, within), None)
        if isinstance(inner, list):
            return next(filter(None, (found(one, name) for one in inner)), None)
        if not isinstance(inner, str):
            return None
        is_key = _names_key(name) or _is_key(inner) or (secret and secret in inner)
        return name if is_key else None

    return found(value, "")


def _names_key(name: str) -> bool:
    return re.sub(r"[-_ ]", "", name).lower() in _KEY_NAMES


def _is_key(text: str) -> bool:
    mixed = all(re.search(kind, text) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    return bool(_KEY.search(text) or (mixed and re.fullmatch("[A-Za-z0-9]{32,}", text)))
