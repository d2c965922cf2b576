"""How the endpoint of one role (model, judge, encoder) is spoken to, where it wants something of its own."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import settings_of

KEY_ENV = "OPENAI_API_KEY"
NONE = "none"  # of a setting that is not to be sent
# In the help of every role's flag.
HELP = "file, or text such as '{key_env: MY_KEY, temperature: none}': docs/endpoints.md"


@dataclass(frozen=True, slots=True)
class Profile:
    """A block of YAML; what is not said (None) is as the role has it.

    >>> read_profile("{key_env: MY_KEY, temperature: none, extra_body: {top_k: 1}}").decoder({"temperature": 0.0})
    {'top_k': 1}
    """

    base_url: str | None = None  # up to /v1
    server: str | None = None  # what it is called in records, for one whose address moves (a job on a cluster)
    key_env: str = KEY_ENV  # the environment's variable that holds the key, which is sent to this role's server only
    temperature: float | str | None = None  # `none` sends no temperature (and no top_p or seed): for models without
    limit_name: str | None = None  # what the limit on new tokens is called, `none` sends no limit
    timeout: float | None = None  # seconds for one attempt
    concurrency: int | None = None  # requests under way at once
    batch_size: int | None = None  # words in a request (encoders)
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] | None = None  # what else each request holds, over everything else

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.key_env) or (
            self.key_env not in os.environ and len(self.key_env) > 24 and re.search(r"\d", self.key_env)
        ):
            # Not shown: it may be the key itself.
            raise UserError("key_env must be the name of an environment variable that holds the key, not the key")
        numbers = {"timeout": self.timeout, "concurrency": self.concurrency, "batch_size": self.batch_size}
        for name, value in numbers.items():
            if value is not None and not (type(value) in (int, float) and value > 0):
                raise UserError(f"{name} of an endpoint must be above 0, not {value}")
        if not (self.temperature in (None, NONE) or type(self.temperature) in (int, float)):
            raise UserError(f"temperature of an endpoint must be a number or {NONE}, not {self.temperature}")
        if self.extra_body is not None and not isinstance(self.extra_body, Mapping):
            raise UserError(f"extra_body of an endpoint must be a mapping, not {self.extra_body!r}")

    def decoder(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The decoder's part of a request, made of the role's own `settings` (None is not sent).

        A limit on new tokens is in them as one of the two names that servers know.
        """
        values = {name: value for name, value in settings.items() if value is not None}
        if self.temperature == NONE:
            values = {name: value for name, value in values.items() if name not in ("temperature", "top_p", "seed")}
        elif self.temperature is not None:
            values["temperature"] = float(self.temperature)
        if self.limit_name:
            limit = values.pop("max_tokens", None) or values.pop("max_completion_tokens", None)
            values |= {} if self.limit_name == NONE else {self.limit_name: limit}
        if self.reasoning_effort:
            values["reasoning_effort"] = self.reasoning_effort
        return values | dict(self.extra_body or {})

    def server_at(self, url: str) -> str:
        """What a record says of where the server is; `url` has no credentials."""
        return self.server or url

    def deciding(self) -> dict[str, Any]:
        """What of it can change a reply, for a run's record and the keys of judgements."""
        names = ("temperature", "reasoning_effort", "extra_body")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def read_profile(text: Any) -> Profile:
    """A profile from a mapping, from the path of a YAML file, or from YAML; None is one that says nothing."""
    if text is None:
        return Profile()
    if isinstance(text, str):
        import yaml

        try:
            written = Path(text).read_text("utf-8") if not text.lstrip().startswith("{") else text
            text = yaml.safe_load(written)
        except OSError as error:
            raise UserError(
                f"endpoint {text}: cannot be read ({error.strerror}); give a YAML file or {{...}}"
            ) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError("endpoint: no valid YAML; write it like {key_env: MY_KEY, timeout: 60}") from error
    if not isinstance(text, Mapping):
        names = ", ".join(field.name for field in fields(Profile))
        raise UserError(f"endpoint: must be a mapping with any of {names}")
    return settings_of(Profile, dict(text))
