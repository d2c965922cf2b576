"""What the evaluation page says, in English and Japanese: `labels.yaml` here, and beside the view of each task.

What stands beside numbers in English (`sozo.scoring.translatable`) is said in Japanese by `japanese.yaml`.
"""

import html
import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Any

import yaml

from sozo.eval.report import source
from sozo.scoring.measure import Measure
from sozo.scoring.translatable import Translatable, translatable
from sozo.tasks import task_types
from sozo.tasks.task import Task
from sozo.tasks.view import RunColumn


def labels() -> dict[str, tuple[str, str]]:
    """Key -> (English, Japanese)."""
    return _labels(tuple(task_types().values()))


@cache
def _labels(tasks: tuple[type[Task], ...]) -> dict[str, tuple[str, str]]:
    others = yaml.safe_load(source("japanese.yaml"))["others"]
    merged = {key: (key, japanese) for key, japanese in others.items()}
    for pairs in (states(), yaml.safe_load(source("labels.yaml"))):
        merged |= {
            key: (english, japanese) for key, (english, japanese) in pairs.items()
        }
    for task in tasks:
        merged |= task.view.labels()
    for measure in chain(*(task.measures for task in tasks)):  # without a label
        plain = measure.short.replace("_", " ")
        merged.setdefault(measure.short, (plain, plain))
    return merged


def wording(text: str) -> tuple[str, str]:
    """A label, or a `translatable` text, in English and in Japanese; without a translation it is the same in both.

    In its places stand values, of which one may be `translatable` too, or a list of such; any other text may be
    anybody's name.

    >>> from sozo.scoring.translatable import translatable
    >>> wording(translatable("only one of {name}", name=translatable("common items"))), wording("[3.10, 3.20]")
    (('only one of common items', '共通の項目が一つだけ'), ('[3.10, 3.20]', '[3.10, 3.20]'))
    """
    if not isinstance(text, Translatable):
        return labels().get(text, (text, text))
    pairs = {name: _of_value(value) for name, value in text.values.items()}
    english, japanese = (
        form.format(**{name: pair[k] for name, pair in pairs.items()})
        if pairs
        else form
        for k, form in enumerate(labels().get(text.form, (text.form, text.form)))
    )
    return english, japanese


def _of_value(value: Any) -> tuple[Any, Any]:
    if isinstance(value, list):
        english, japanese = zip(*map(wording, value), strict=True)
        return ", ".join(english), "、".join(japanese)
    return wording(value) if isinstance(value, Translatable) else (value, value)


def task_title(task: type[Task]) -> str:
    """A task's short name behind what it stands for, if that says more."""
    name = translatable(task.name)
    if not task.title or "(" in english(name) or english(name) == task.title:
        return name
    return translatable("{name} ({task})", name=translatable(task.title), task=name)


def measure_label(measure: Measure) -> str:
    """The label of a measure, as people call it within its task."""
    if is_main(measure):
        score, judge = "short_score", measure.name.partition(" by ")[2]
        form = "{name} by {by}"
        return (
            translatable(form, name=translatable(score), by=judge) if judge else score
        )
    task = task_types().get(measure.task)
    if measure.short == "curve" and task and task.curve:
        up, across = (translatable(measure_label(one)) for one in task.curve)
        return translatable("{up} at equal {across}", up=up, across=across)
    keys = (f"short_{measure.short}", measure.name, measure.short)
    return next((key for key in keys if key in labels()), measure.short)


def is_main(measure: Measure) -> bool:
    """Whether its task is known by it; nothing is won in a control."""
    task = task_types().get(measure.task)
    return (
        task is not None
        and not task.control
        and task.known_by().name == measure.name.partition(" by ")[0]
    )


def explanations(task: type[Task], columns: Iterable[RunColumn]) -> list[str]:
    """What columns mean, below the page's table of all of them: keys LABEL_says, or a task's title."""
    # No other task's, whose column has this name.
    known = {*yaml.safe_load(source("labels.yaml")), *task.view.labels()}
    says = [f"{name}_says" for name in (*(one.label for one in columns), task.name)]
    told = [key for key in dict.fromkeys(says) if key in known]
    if task.title and task.name not in known:
        form = "{name}: {title}."
        told.append(translatable(form, name=task.name, title=task.title))
    return told


def english(key: str) -> str:
    """A label in English; a key without label as it is."""
    return wording(key)[0]


@cache
def states() -> dict[str, list[str]]:
    """What an answer, or its judgement, can come to, by its name in files: in English and in Japanese."""
    return dict(yaml.safe_load(source("japanese.yaml"))["states"])


def both(key: str, tag: str = "span") -> str:
    """What `wording` has in both languages as HTML; where they are the same, once. The page's style shows one of them.

    >>> both("sat"), both("std")
    ('SAT', '<span lang="en">Std</span><span lang="ja">標準偏差</span>')
    """
    english, japanese = wording(key)
    if english == japanese:
        return html.escape(english)
    pair = zip(("en", "ja"), (english, japanese), strict=True)
    return "".join(
        f'<{tag} lang="{language}">{html.escape(text)}</{tag}>'
        for language, text in pair
    )


def translate_chart(svg: str) -> str:
    """A chart whose texts that are English labels come in both languages."""
    translated = {
        html.escape(english): both(key, "tspan")
        for key, (english, _) in labels().items()
    }
    return re.sub(
        r"(?<=>)([^<>]+)(?=</text>)", lambda text: translated.get(text[1], text[1]), svg
    )
