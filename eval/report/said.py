"""What stands beside numbers in English (why there is none, how many seeds), in Japanese: `said.yaml`."""

import re
from functools import cache

from sozo.eval.report import source


def statuses() -> dict[str, str]:
    """What an answer or its judgement can come to, in Japanese."""
    return _read()[0]


def japanese(text: str) -> str:
    """A text in Japanese; as it is where it has none. Of several that are joined by semicolons, each.

    >>> japanese("all 3 values are equal"), japanese("0 of 35: 34 refused, 1 odd"), japanese("[3.10, 3.20]")
    ('3個の値がすべて等しい', '0 of 35：34 評価モデルが拒否, 1 odd', '[3.10, 3.20]')
    """
    return "; ".join(map(_one, text.split("; ")))


def _one(text: str) -> str:
    known, sentences = _read()
    if text in known:
        return known[text]
    found = ((shown, match) for pattern, shown in sentences if (match := pattern.fullmatch(text)))
    shown, match = next(found, (None, None))
    if shown is None or match is None:
        return text
    values = match.groupdict()
    if "counts" in values:
        counts = (count.partition(" ") for count in values["counts"].split(", "))
        values["counts"] = ", ".join(f"{n} {known.get(status, status)}" for n, _, status in counts)
    return shown.format_map(values)


@cache
def _read() -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]]]:
    import yaml

    held = yaml.safe_load(source("said.yaml"))
    return held["statuses"], [(_pattern(english), shown) for english, shown in held["sentences"]]


def _pattern(english: str) -> re.Pattern[str]:
    """Of a sentence with {names} for what differs."""
    parts = re.split(r"\{(\w+)\}", english)
    return re.compile("".join(f"(?P<{part}>.+)" if k % 2 else re.escape(part) for k, part in enumerate(parts)))
