"""A page of its template: one file that loads nothing, with its style, its scripts and what allows only these."""

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sozo.data.foreign import strip_steering
from sozo.data.schema import utf8_safe
from sozo.eval.report import source
from sozo.eval.report.labels import both, english, states
from sozo.eval.report.names import Names


def render(
    template: str | Path,
    *,
    styles: Sequence[str] = ("style.css",),
    scripts: Sequence[str] = ("tables.js",),
    bilingual: bool = False,
    **values: Any,
) -> bytes:
    """A page as UTF-8; every value is escaped but what the template calls safe (SVG of `sozo.eval.report.charts`).

    `template` is the name of a file beside this one, or the path of another, which may include those beside this one. A
    name that is missing is an error. Labels are in English, or in Japanese too.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        both=both if bilingual else lambda key: html.escape(english(key)),
        english=english,
        states=states,
        breakable=breakable,
        sections=Names(),
    )
    script = "".join(map(source, scripts))
    shared = {
        "styles": styles,
        "script": script,
        # What the Content-Security-Policy calls this script, so that no other one runs.
        "script_hash": "sha256-"
        + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    text = (
        source(template) if isinstance(template, str) else template.read_text("utf-8")
    )
    return strip_steering(
        utf8_safe(environment.from_string(text).render(**shared, **values))
    ).encode()


def breakable(name: str) -> str:
    """A name as HTML that may go on in the next line behind its separators, and not inside a word.

    >>> breakable("org/a_b<c>")
    'org/<wbr>a_<wbr>b&lt;c&gt;'
    """
    return re.sub(r"([/_@=:])(?=[^\W_])", r"\1<wbr>", html.escape(name, quote=False))
