"""Names of settings: what was given, what no method has, what is meant, and `--help`. Read without TRL, seconds to import.

`names.json` has the names of TRL's, transformers' and PEFT's settings; tests/helpers/setting_names.py writes it.
"""

from collections.abc import Collection, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import read_json
from sozo.data.settings import hint, read_yaml
from sozo.training.methods import OWN, recipe

TABLE = Path(__file__).with_name("names.json")
_ANSWERS = "answers: DIR, a folder of scored answers that sozo run or sozo dat wrote"
# What to write in the place of a name, where a method has the other: TRL's own scripts have some, others follow.
_INSTEAD = {
    ("dataset_name", "answers"): _ANSWERS,
    (
        "dataset_name",
        "tasks",
    ): "tasks: [{prompts: hub:NAME:SPLIT, reward_funcs: [PATH]}]",
    ("reward_funcs", "tasks"): "tasks: [{task: dat, reward_funcs: [PATH]}]",
    ("gradient_accumulation_steps", "answers"): "examples_per_step, of all processes",
    ("gradient_accumulation_steps", "tasks"): "completions_per_step, of all processes",
    ("hub_token", "output_dir"): "it as HF_TOKEN, which no checkpoint records",
}
# What of TRL's nearly every run sets.
_USUAL = "model_name_or_path, output_dir, learning_rate, max_steps, per_device_train_batch_size, use_peft, seed"


def read_words(argv: Sequence[str]) -> dict[str, Any]:
    """What is given: the flags over the lines of `--config`'s file. A flag without a value is true.

    >>> read_words(["--learning-rate=3", "--answers", "a", "b", "--bf16"])
    {'learning_rate': '3', 'answers': ['a', 'b'], 'bf16': True}
    """
    flags: dict[str, list[str]] = {}
    words = stray = list[str]()
    for word in argv:
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--"):
            words = flags[name.replace("-", "_")] = [value] * bool(equals)
        else:
            words.append(word)
    file, *more = flags.pop("config", [None]) or [""]
    for word in [*stray, *more]:
        write = f"--config {word}" if ".y" in word else "--NAME VALUE"
        raise UserError(f"{word}: is no setting; write {write}")
    given = {} if file is None else read_yaml(Path(file))
    for name, words in flags.items():
        given[name] = words if len(words) > 1 else [*words, True][0]
    return given


def check_names(method: str, argv: Sequence[str]) -> None:
    """Refuse a setting that one of sozo's methods has not; a package's has its own."""
    if method in OWN:
        table = read_json(TABLE)
        ours = {field.name for group in OWN[method][:2] for field in fields(group)}
        refuse_unknown(read_words(argv), {*table["every"], *table[method], *ours})


def refuse_unknown(given: Collection[str], known: Collection[str]) -> None:
    """Refuse the names that are not among the `known` ones, and say which of those are meant."""
    for (name, where), here in _INSTEAD.items():
        if name in given and where in known:
            raise UserError(f"{name}: here write {here}")
    if unknown := [name for name in given if name not in known]:
        said = ", ".join(name + hint(name, known) for name in unknown)
        raise UserError(f"unknown setting: {said}")


def method_help(method: str) -> str:
    """The settings of a method that TRL has not; of one that a package brings all of them."""
    groups = OWN[method][:2] if method in OWN else recipe(method)[1:]
    rows = [
        (
            "config FILE.yaml",
            "Settings, one a line: `name: value`; flags go over them.",
        ),
        ("dry-run", "What the run would do, need and miss; nothing is run."),
    ]
    for setting in (setting for group in groups for setting in fields(group)):
        text = " ".join(str(setting.metadata.get("help", "")).split())
        if setting.default not in (None, MISSING):
            text += f" (default: {setting.default})"
        rows.append((setting.name, text))
    lines = [
        f"Usage: sozo train {method} --config FILE.yaml [--SETTING VALUE ...]\n",
        *(f"  --{name:<26} {text}" for name, text in rows),
        f"\nTRL's settings, such as {_USUAL}, are flags too: https://huggingface.co/docs/trl",
        "Files to begin with: sozo recipes.",
    ]
    return "\n".join(lines)
