"""The curve of `sozo frontier`, read and placed beside runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sozo.data.record import read_json

VALUES = "frontier.json"
NAME = "lists that are as random as they can be"
Curves = dict[
    str, list[tuple[float, float]]
]  # name -> (different words, mean) by growing strength


def read_curves(values: Mapping[str, Any]) -> Curves:
    """The curve of a `frontier.json`."""
    return {
        NAME: [
            (row["free"]["different_words"], row["free"]["mean"])
            for row in values["rows"]
            if row["free"]
        ]
    }


def curves_beside(runs: Iterable[Path], lists: int, encoder: str | None) -> Curves:
    """The frontier of so many lists by this encoder in a folder beside one of the runs, or one higher; else none."""
    places = dict.fromkeys(
        place for run in runs for place in (run.parent, run.parent.parent)
    )
    for path in (
        path for place in places for path in sorted(place.glob(f"*/{VALUES}"))
    ):
        values = read_json(path)
        if (values.get("lists"), values.get("embedding_model")) == (lists, encoder):
            return read_curves(values)
    return {}
