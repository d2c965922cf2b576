"""The arms of a study's YAML, read and checked; without any they are the paper's five methods."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import hint
from sozo.models.settings import OF_NOUNS
from study.arm import METHODS, Arm

_ON_TABLES = ("sft", "dpo")
_OWN = ("train", "config", "from", "responses", "num_training_responses", "seeds")
PAPER: dict[str, dict[str, Any]] = {  # section 5.1: SFT, DPO 1 and GRPO start from the model, DPO 2 from DPO 1
    "random": {"model": "random"},
    "base": {},
    "SFT": {"train": "sft", "responses": "random"},
    "DPO 1": {"train": "dpo", "responses": "base"},
    "DPO 2": {"train": "dpo", "from": "DPO 1", "responses": "DPO 1"},
    "GRPO": {"train": "grpo"},
}


def read_arms(given: Any, seeds: Sequence[int], sampling_flags: set[str]) -> tuple[Arm, ...]:
    """The arms of a YAML's `arms`, each made of arms above it; `sampling_flags` are those of recipes/sample_dat.py."""
    if not isinstance(given, Mapping) or not given:
        raise UserError("arms must hold lines such as `SFT: {train: sft, responses: random}`; see docs/study.md")
    arms: dict[str, Arm] = {}
    for name, values in given.items():
        if not isinstance(name, str) or not re.fullmatch(r"[\w.+-]+( [\w.+-]+)*", name):
            raise UserError(f"arm {name!r} cannot name a folder; take letters, digits, single spaces and . _ + -")
        try:
            arms[name] = _arm(name, dict(values or {}), arms, seeds, sampling_flags)
        except (UserError, TypeError, ValueError) as error:
            raise UserError(f"arm {name}: {error}") from error
    return tuple(arms.values())


def _arm(name: str, flags: dict[str, Any], arms: dict[str, Arm], seeds: Sequence[int], sampling: set[str]) -> Arm:
    own = {key: flags.pop(key, None) for key in _OWN}
    method = own["train"]
    if method not in (None, *METHODS):
        raise UserError(f"train {method}: there are {', '.join(METHODS)}")
    for key in ("from", "responses"):
        if own[key] not in (None, *arms):
            raise UserError(f"{key} {own[key]}: no arm above it has this name" + hint(str(own[key]), arms))
    if (method in _ON_TABLES) != (own["responses"] is not None):
        raise UserError(f"responses, an arm's name, goes with train: {' or '.join(_ON_TABLES)}, which need it")
    if not method and (wrong := next((key for key in ("config", "num_training_responses") if own[key]), None)):
        raise UserError(f"{wrong} goes with train")
    if not method and (unknown := sorted(set(flags) - sampling)):
        raise UserError(f"unknown setting: {unknown[0]}" + hint(unknown[0], sampling | set(_OWN)))
    start = arms.get(own["from"])
    if start and (dict(start.flags).get("model") in OF_NOUNS or {"model", "model_name_or_path"} & set(flags)):
        raise UserError(f"cannot start from {start.name}: that is no model, or this arm names a model itself")
    if wrong := next((key for key, value in flags.items() if isinstance(value, list)), None):
        raise UserError(f"{wrong} is a list; put it into a YAML of this arm's own (config)")
    chosen = tuple(seeds if own["seeds"] is None else own["seeds"])
    if not chosen or not set(chosen) <= set(seeds):
        raise UserError(f"seeds must be some of the study's, {list(seeds)}, not {list(chosen)}")
    return Arm(
        name=name,
        seeds=chosen,
        train=method,
        config=own["config"],
        start=start,
        responses=arms.get(own["responses"]),
        num_training_responses=own["num_training_responses"],
        flags=tuple((key, json.dumps(v) if isinstance(v, bool | dict) else str(v)) for key, v in flags.items()),
    )
