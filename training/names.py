"""Names of settings: what was given, what no method has, and what is meant. Read without TRL, which takes seconds to import.

`names.json` has the names of TRL's, transformers' and PEFT's settings; tests/helpers/setting_names.py writes it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import read_json
from sozo.data.settings import hint, read_yaml
from sozo.training import arguments

TABLE = Path(__file__).with_name("names.json")
OURS: dict[str, tuple[Any, ...]] = {
    "sft": (arguments.SftArguments, arguments.TablePerStep),
    "dpo": (arguments.DpoArguments, arguments.TablePerStep),
    "grpo": (arguments.GrpoArguments, arguments.GrpoPerStep),
}
# Settings of TRL's own scripts (`trl grpo`, `trl sft`, `trl dpo`) that its trainers do not have.
_DATA = {
    "dataset_name",
    "dataset_config",
    "dataset_train_split",
    "dataset_streaming",
    "datasets",
}
_REWARDS = {"reward_funcs", "reward_model_name_or_path"}
_TEST = {"dataset_test_split", "test_split_size"}


def read_words(
    argv: Sequence[str],
) -> tuple[str | None, dict[str, Any], dict[str, list[str]]]:
    """The file of `--config`, what it holds, and the words behind each flag.

    >>> read_words(["--learning-rate=3", "--answers", "a", "b"])
    (None, {}, {'learning_rate': ['3'], 'answers': ['a', 'b']})
    """
    flags: dict[str, list[Any]] = {}
    words = stray = list[str]()
    for word in argv:
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--"):
            words = flags[name.replace("-", "_")] = [value] * bool(equals)
        else:
            words.append(word)
    files = flags.pop("config", [None])
    if not files:
        raise UserError("--config needs a file; sozo recipes lists examples")
    file, *more = files
    if stray := [*stray, *more]:
        write = f"--config {stray[0]}" if ".y" in stray[0] else "--NAME VALUE"
        raise UserError(f"{stray[0]}: is no setting; write {write}")
    return file, read_yaml(Path(file)) if file else {}, flags


def check_names(method: str, argv: Sequence[str]) -> None:
    """Refuse a setting that one of sozo's methods has not."""
    _, in_file, flags = read_words(argv)
    table = read_json(TABLE)
    known = {*table["every"], *table[method]}
    known |= {field.name for group in OURS[method] for field in fields(group)}
    refuse_unknown([*in_file, *flags], known)


def refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse the names that are not among the `known` ones, and say which of those are meant."""
    if unknown := [name for name in given if name not in known]:
        raise UserError(
            _instead(unknown, known)
            or f"unknown setting: {', '.join(name + hint(name, known) for name in unknown)}"
        )


def _instead(unknown: Iterable[str], known: Collection[str]) -> str | None:
    """What to write in the place of the first of TRL's scripts' names.

    >>> _instead(["dataset_name"], ["tasks"])
    "dataset_name is of TRL's own script; here write tasks: [{prompts: hub:NAME:SPLIT, reward_funcs: [PATH]}]"
    """
    name = next((n for n in unknown if n in _DATA | _REWARDS | _TEST), None)
    if name is None:
        return None
    if name in _TEST:
        here = "evaluate: {every: 20, tasks: [dat]}"
    elif "tasks" in known:
        here = "tasks: [{prompts: hub:NAME:SPLIT, reward_funcs: [PATH]}]"
        if name == "reward_funcs":
            here = "them into an entry: tasks: [{task: dat, reward_funcs: [PATH]}]"
        if name == "reward_model_name_or_path":
            here += ", PATH of a function that asks the model"
    elif name in _DATA:
        here = (
            "answers: DIR, a folder of scored answers that sozo run or sozo dat wrote"
        )
    else:
        return f"{name} is of TRL's own script of GRPO; leave it out"
    return f"{name} is of TRL's own script; here write {here}"
