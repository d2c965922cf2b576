"""What an evaluation found as a page for people, and what any such page is made of: charts, templates.

A page holds everything it needs and loads nothing. What a model wrote is escaped wherever it stands.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any

from data.schema import utf8_safe


def render(template: str | Path, **values: Any) -> bytes:
    """A page as UTF-8; every value is escaped but what the template calls safe (SVG of `eval.report.charts`).

    `template` is the name of a file beside this one, or the path of another, which may include those beside this one. A
    name that is missing is an error.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = source(template) if isinstance(template, str) else template.read_text("utf-8")
    return utf8_safe(environment.from_string(text).render(**values)).encode()


def source(name: str) -> str:
    """The text of a file beside this one."""
    return files("eval.report").joinpath(name).read_text("utf-8")
