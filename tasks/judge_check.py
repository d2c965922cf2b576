"""What `judge-check.json`, in a run's folder or above it, says of the judge that scored the run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sozo.data.record import read_json

CHECK = "judge-check.json"
_ABOVE = 3  # OUTPUT/MODEL/CHECKPOINT/TASK is a run's folder
Checked = dict[str, Any]


def judge_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Who judged: model, prompt and all else that decides a score, from what decides a run of a judged task."""
    return {**settings["judge"], "verdicts": settings.get("verdicts")}


def same_judge(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two are one judge: whatever the limit on a reply, and the server where one of both names none.

    >>> same_judge({"model": "j", "server": "a"}, {"model": "j", "max_tokens": 9})
    True
    >>> same_judge({"model": "j", "server": "a"}, {"model": "j", "server": "b"})
    False
    """
    free = {"max_tokens"}
    if not (one.get("server") and other.get("server")):
        free.add("server")
    decides = (one.keys() | other.keys()) - free
    return all(one.get(name) == other.get(name) for name in decides)


def checks_in(folder: Path) -> list[Checked]:
    """The checks that a folder keeps, one a judge."""
    path = folder / CHECK
    return read_json(path)["checks"] if path.is_file() else []


def find_check(folder: Path, judge: Mapping[str, Any]) -> Checked | None:
    """The check of a judge that is kept in a run's folder, or else in the nearest one above it; None without one."""
    for place in (folder, *folder.absolute().parents[:_ABOVE]):
        for check in checks_in(place):
            if same_judge(check["judge"], judge):
                return check
    return None
