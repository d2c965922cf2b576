"""What the evaluation page says, in English and Japanese: `labels.yaml` here, and beside the view of each task."""

import html
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from sozo.eval.report import source
from sozo.eval.report.said import japanese, statuses
from sozo.tasks import task_types
from sozo.tasks.task import Task


def labels() -> dict[str, tuple[str, str]]:
    """Key -> (English, Japanese)."""
    return _labels(tuple(task_types().values()))


@cache
def _labels(tasks: tuple[type[Task], ...]) -> dict[str, tuple[str, str]]:
    import yaml

    merged = {key: (english, japanese) for key, (english, japanese) in yaml.safe_load(source("labels.yaml")).items()}
    for task in tasks:
        merged |= task.view.labels()
    pairings = [merged[key] for task in tasks if (key := f"{task.name}_paired") in merged]
    english, japanese = merged["changes_note"]
    merged["changes_note"] = (
        english.replace("{paired}", ", ".join(english for english, _ in pairings)),
        japanese.replace("{paired}", "、".join(japanese for _, japanese in pairings)),
    )
    return merged


def filled(key: str, values: Mapping[str, Any]) -> tuple[str, str]:
    """A label with values in its places, in English and in Japanese; a value may be such a pair itself."""
    pairs = {name: value if isinstance(value, tuple) else (value, value) for name, value in values.items()}
    text, translated = labels()[key]
    return (
        text.format_map({name: pair[0] for name, pair in pairs.items()}),
        translated.format_map({name: pair[1] for name, pair in pairs.items()}),
    )


def english(key: str) -> str:
    """A label in English; a key without label as it is."""
    return labels().get(key, (key, key))[0]


def states() -> dict[str, str]:
    """What the reader calls what an answer can come to, in both languages as HTML, by its name there."""
    return {name: both(name) for name in statuses() if name not in labels()}


def both(key: str, tag: str = "span") -> str:
    """A label, or what `said.yaml` has, in both languages as HTML; where they are the same, once.

    The page's style shows one of them.

    >>> both("sat"), both("std")
    ('SAT', '<span lang="en">Std</span><span lang="ja">標準偏差</span>')
    """
    english, translated = labels().get(key) or (key, japanese(key))
    if english == translated:
        return html.escape(english)
    pair = zip(("en", "ja"), (english, translated), strict=True)
    return "".join(f'<{tag} lang="{language}">{html.escape(text)}</{tag}>' for language, text in pair)


def translate_chart(svg: str) -> str:
    """A chart whose texts that are English labels come in both languages."""
    translated = {html.escape(english): both(key, "tspan") for key, (english, _) in labels().items()}
    return re.sub(r"(?<=>)([^<>]+)(?=</text>)", lambda text: translated.get(text[1], text[1]), svg)
