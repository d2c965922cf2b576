"""What a training wrote down of its evaluations: a line of JSON for each, in its folder."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sozo.data.jsonl import read_objects, write_objects

_FILE = "evaluations.jsonl"


def read_evaluations(folder: Path) -> dict[int, dict[str, float]]:
    """The values of each evaluation by its step, ascending; nothing of a folder without any."""
    if not (path := folder / _FILE).is_file():
        return {}
    return dict(
        sorted((int(row["step"]), dict(row["values"])) for _, row in read_objects(path))
    )


def write_evaluations(
    folder: Path, evaluations: Mapping[int, Mapping[str, float]]
) -> None:
    """Write all of them, whole or not at all."""
    rows: Iterable[dict[str, Any]] = (
        {"step": step, "values": dict(of)} for step, of in sorted(evaluations.items())
    )
    write_objects(folder / _FILE, rows)
