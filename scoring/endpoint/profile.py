"""How the endpoint of one role (model, judge, encoder) is spoken to, where it wants something of its own."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

import pydantic
from pydantic import (
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    ValidationError,
)

from sozo.data.contents import text_of
from sozo.data.errors import UserError
from sozo.data.foreign import brief
from sozo.data.secrets import key_in, key_in_address
from sozo.data.settings import from_validation
from sozo.data.yaml_loader import parse_yaml

KEY_ENV = "OPENAI_API_KEY"
NONE = "none"  # of a setting that is not to be sent
# In the help of every role's flag.
HELP = "file, or text such as '{key_env: MY_KEY, temperature: none}': docs/judges.md"

_KEYS_PLACE = "put the key into an environment variable and name this as key_env; it is sent as a header"
# What an address may end with that is the request's own.
_PATHS = re.compile(r"/+(?:chat/completions|completions|embeddings)?/*\Z")

_ENV = re.compile("env:([A-Za-z_][A-Za-z0-9_]*)")
_STRICT = ConfigDict(
    extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False, defer_build=True
)


def check_address(address: str, what: str) -> None:
    """Raise UserError if no request can be sent there. It is not shown: it may be anything, and hold a password."""
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            if key_in_address(address):
                raise UserError(f"{what} holds a key; {_KEYS_PLACE}")
            return
    except ValueError:  # no port, or no host
        pass
    remedy = "and name a host, with a port from 1 to 65535 if any; give another"
    raise UserError(
        f"{what} cannot be used: it must begin with http:// or https:// {remedy}"
    )


def request_url(address: str, path: str) -> str:
    """Where a request to `path` goes, by an address with or without a path of a request and a query of its own.

    >>> request_url("http://h/openai/deployments/d?api-version=1", "chat/completions")
    'http://h/openai/deployments/d/chat/completions?api-version=1'
    """
    parts = urlsplit(address)
    base = _PATHS.sub("", parts.path)
    return urlunsplit((parts.scheme, parts.netloc, f"{base}/{path}", parts.query, ""))


@pydantic.dataclasses.dataclass(frozen=True, config=_STRICT)
class Profile:
    """A block of YAML; what is not said (None) defaults to the role's value.

    >>> read_profile("{key_env: MY_KEY, temperature: none, extra_body: {top_k: 1}}").decoder({"temperature": 0.0})
    {'top_k': 1}
    """

    base_url: str | None = None  # up to /v1
    # What it is called in records, for one whose address moves (a job on a cluster)
    server: str | None = None
    key_env: str = KEY_ENV  # the environment's variable that holds the key, which is sent to this role's server only
    key_header: str = "Authorization"  # what the key is sent as; Azure's is `api-key`
    # Further headers, each the environment's variable that holds its value: env:NAME.
    headers: dict[str, str] | None = None
    # `none` sends no temperature (and no top_p or seed): for models without.
    temperature: Any = None
    # What the limit on new tokens is called, `none` sends no limit
    limit_name: str | None = None
    # Seconds for one attempt
    timeout: Annotated[StrictFloat, Field(gt=0)] | None = None
    # Requests under way at once
    concurrency: Annotated[StrictInt, Field(gt=0)] | None = None
    reasoning_effort: str | None = None
    # What else each request holds, over everything else
    extra_body: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.key_env) or (
            self.key_env not in os.environ
            and len(self.key_env) > 24
            and re.search(r"\d", self.key_env)
        ):
            # Not shown: it may be the key itself.
            raise ValueError(
                "key_env must be the name of an environment variable that holds the key, not the key"
            )
        # An integer stays one: it is written into the keys of judgements.
        known = self.temperature in (None, NONE) or type(self.temperature) in (
            int,
            float,
        )
        if not known or (
            self.temperature not in (None, NONE)
            and not 0 <= self.temperature < float("inf")
        ):
            raise ValueError(
                f"temperature must be a number of 0 or more or {NONE}, not {self.temperature}"
            )
        if self.base_url is not None:
            check_address(self.base_url, "base_url")
        try:
            json.dumps(self.extra_body, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"extra_body must be what JSON can say ({error})"
            ) from error
        for header, value in (self.headers or {}).items():
            if not re.fullmatch(r"[\w-]+", header) or not _ENV.fullmatch(value):
                # Not shown: it may be the secret itself.
                raise ValueError(
                    f"headers: {brief(header)} must be env:NAME, the environment variable that holds its value"
                )
        if name := key_in(self.extra_body, os.environ.get(self.key_env, "")):
            raise ValueError(f"extra_body holds a key ({brief(name)}); {_KEYS_PLACE}")

    def decoder(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The decoder's part of a request, made of the role's own `settings` (None is not sent).

        A limit on new tokens is in them as one of the two names that servers know.
        """
        values = {name: value for name, value in settings.items() if value is not None}
        if self.temperature == NONE:
            values = {
                name: value
                for name, value in values.items()
                if name not in ("temperature", "top_p", "seed")
            }
        elif self.temperature is not None:
            values["temperature"] = float(self.temperature)
        if self.limit_name:
            limit = values.pop("max_tokens", None) or values.pop(
                "max_completion_tokens", None
            )
            values |= {} if self.limit_name == NONE else {self.limit_name: limit}
        if self.reasoning_effort:
            values["reasoning_effort"] = self.reasoning_effort
        return values | dict(self.extra_body or {})

    def secret_headers(self) -> dict[str, str]:
        """Headers that no record or message may show, the key's first; UserError for a variable that is not set."""
        keys = {self.key_header: self.key_env}
        keys |= {name: value[4:] for name, value in (self.headers or {}).items()}
        found = {}
        for header, name in keys.items():
            if not (value := os.environ.get(name, "").strip()):
                needs = "to any text for a server that needs no key"
                raise UserError(f"{name} is not set; set it ({needs})")
            if not (value.isascii() and value.isprintable()):
                raise UserError(f"{name} has characters that no key has; copy it again")
            found[header] = value
        return found

    def server_at(self, url: str) -> str:
        """What a record says of where the server is; `url` has no credentials."""
        return self.server or url

    def deciding(self) -> dict[str, Any]:
        """What of it can change a reply, for a run's record and the keys of judgements."""
        names = ("temperature", "reasoning_effort", "extra_body")
        return {
            name: value for name in names if (value := getattr(self, name)) is not None
        }


def read_profile(text: Any) -> Profile:
    """A profile from a mapping, from the path of a YAML file, or from YAML; None is one that says nothing."""
    if text is None:
        return Profile()
    if isinstance(text, str):
        try:
            text = parse_yaml(
                text_of(Path(text)) if not text.lstrip().startswith("{") else text
            )
        except OSError as error:
            raise UserError(
                f"endpoint {brief(text)}: cannot be read ({error.strerror}); give a YAML file or {{...}}"
            ) from error
        except ValueError as error:
            example = "{key_env: MY_KEY, timeout: 60}"
            raise UserError(
                f"endpoint: no valid YAML ({error}); write it like {example}"
            ) from error
    try:
        return TypeAdapter(Profile).validate_python(text)
    except ValidationError as error:
        raise from_validation(
            error, "endpoint", Profile.__dataclass_fields__
        ) from error
