"""One HTML file for people: it opens without a network, loads nothing, and runs nothing but its own script."""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import yaml

import sozo
from sozo.data.errors import UserError
from sozo.data.foreign import strip_steering
from sozo.data.sheet import decoded

_SHARED = Path(__file__).with_name("page.html")
_NEXT = "<!-- -->\n"  # between the parts of a page's own HTML


def check_page(output: Path) -> None:
    """Raise UserError where there is such a file already, or its name is none of a page."""
    if output.exists():
        raise UserError(f"{output}: exists; name another file")
    if output.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"{output}: is no name of a page; call it {output.name}.html")


def consent_text(path: Path | None) -> str:
    """What a file says that people are to agree to; empty without one. UserError where it holds nothing."""
    if path is None:
        return ""
    if not path.is_file():
        raise UserError(
            f"{path}: {'not a file' if path.exists() else 'no such file'}; give the text to agree to"
        )
    text = decoded(path, path.read_bytes(), "save it as UTF-8")[0].strip()
    if not text:
        raise UserError(f"{path}: is empty; write what people are to agree to")
    return strip_steering(text)


def texts_of(own: Path, language: str) -> dict[str, Any]:
    """What a page says in a language: the texts of every page, and those of the file beside its `own`."""
    shared, own_texts = (
        yaml.safe_load(file.with_suffix(".yaml").read_text("utf-8"))[language]
        for file in (_SHARED, own)
    )
    return shared | own_texts


def render_page(
    own: Path, settings: Mapping[str, Any], consent: str, **parts: str
) -> bytes:
    """The page as UTF-8, of the files beside this one and of the page's `own` (.html, .css, .js).

    `own`'s HTML has three parts, for start, middle and end of the page, with places for `parts`, which are HTML. The
    page's script reads `settings`, and what it says in their `texts`.
    """
    (frame, places), *others = (
        [file.with_suffix(kind).read_text("utf-8") for file in (_SHARED, own)]
        for kind in (".html", ".css", ".js")
    )
    style, script = map("".join, others)
    start, during, end = Template(places).substitute(parts).split(_NEXT)
    page = Template(frame).substitute(
        start=start,
        during=during,
        end=end,
        no_consent="" if consent else " hidden",
        consent_text=escape(consent),
        version=sozo.__version__,
        settings=json.dumps(settings, ensure_ascii=False).replace("<", "\\u003c"),
        style=style,
        style_hash=_allowed(style),
        script=script,
        script_hash=_allowed(script),
    )
    return page.encode()


def _allowed(source: str) -> str:
    """What a Content-Security-Policy calls a style or script, so that no other one works."""
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"
