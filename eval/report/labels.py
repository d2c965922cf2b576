"""What the evaluation page says, in English and Japanese (`labels.yaml`)."""

from __future__ import annotations

import html
import re
from functools import cache

from eval.report.templates import source


@cache
def labels() -> dict[str, tuple[str, str]]:
    """Key -> (English, Japanese)."""
    import yaml

    return {key: (english, japanese) for key, (english, japanese) in yaml.safe_load(source("labels.yaml")).items()}


def both(key: str, tag: str = "span") -> str:
    """A label in both languages as HTML; the page's style shows one of them.

    >>> both("sat")
    '<span lang="en">SAT</span><span lang="ja">SAT</span>'
    """
    pair = zip(("en", "ja"), labels()[key], strict=True)
    return "".join(f'<{tag} lang="{language}">{html.escape(text)}</{tag}>' for language, text in pair)


def translate_chart(svg: str) -> str:
    """A chart whose texts that are English labels come in both languages."""
    keys = {html.escape(english): key for key, (english, _) in labels().items()}

    def replaced(match: re.Match[str]) -> str:
        key = keys.get(match[1])
        return match[0] if key is None else f">{both(key, 'tspan')}</text>"

    return re.sub(r">([^<>]+)</text>", replaced, svg)
