"""What `judge-check.json`, in a run's folder or above it, says of the judge that scored the run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sozo.data.record import read_json

CHECK = "judge-check.json"
_ABOVE = 3  # OUTPUT/MODEL/CHECKPOINT/TASK is a run's folder
Check = dict[str, Any]  # how the judge did among planted answers; `failed`: at which


def judge_key(settings: Mapping[str, Any]) -> str:
    """Who judged, from what decides a run of a judged task: model, prompt and all else that decides a score.

    A verdict that was not cut does not depend on the limit on a reply.
    """
    judge = {**settings["judge"], "verdicts": settings.get("verdicts")}
    judge.pop("max_tokens", None)
    return json.dumps(judge, sort_keys=True, ensure_ascii=False)


def read_checks(folder: Path) -> dict[str, Check]:
    """The checks that a folder keeps, by `judge_key`."""
    path = folder / CHECK
    return read_json(path) if path.is_file() else {}


def find_check(folder: Path, key: str) -> Check | None:
    """The check of a judge that is kept in a run's folder, or else in the nearest one above it; None without one."""
    places = (folder, *folder.absolute().parents[:_ABOVE])
    checks = (read_checks(place).get(key) for place in places)
    return next(filter(None, checks), None)
