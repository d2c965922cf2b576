"""From a function whose parameters are settings dataclasses to a command with a flag for each of their fields."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from sozo.data.errors import UserError, one_line_errors


def with_flags(
    command: Callable[..., None], groups: Mapping[str, Any] | None = None, without: Collection[str] = ()
) -> Callable[..., None]:
    """Let typer see every field of a command's dataclass parameters, but those `without`, as a flag of its own.

    `groups` are further parameters, which `command` takes as keywords: name -> dataclass. What several of them inherit
    from one dataclass, such as the judge of two tasks, is one flag for all.
    """
    hints: dict[str, Any] = get_type_hints(command, include_extras=True)
    own = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    every = {**own, **(groups or {})}
    parameters = [
        parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in own and parameter.kind is not parameter.VAR_KEYWORD
    ]
    declared = {field: flag for group in every.values() for field, flag in _flags_of(group) if flag.name not in without}
    own_names = {parameter.name for parameter in parameters}
    parameters += declared.values()
    names = [parameter.name for parameter in parameters]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise UserError(f"two tasks have a setting {min(repeated)}; rename the field of one of them")

    def run(**values: Any) -> None:
        with one_line_errors("error"):
            settings = {
                name: group(**{f.name: values[f.name] for f in fields(group) if f.name not in without})
                for name, group in every.items()
            }
            command(**{name: value for name, value in values.items() if name in own_names}, **settings)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _flags_of(group: Any) -> Iterator[tuple[Field[Any], inspect.Parameter]]:
    """The dataclass' own fields, which a subclass shares with it, each with its flag."""
    hints = get_type_hints(group)
    for field in fields(group):
        # A flag that is off by default needs no --no-... beside it.
        names = [f"--{field.name.replace('_', '-')}"] if field.default is False else []
        hint: Any = Annotated[hints[field.name], typer.Option(*names, help=field.metadata["help"])]
        keyword = inspect.Parameter.KEYWORD_ONLY
        yield field, inspect.Parameter(field.name, keyword, default=field.default, annotation=hint)


def list_flags(group: Any) -> dict[str, list[str]]:
    """Of each command of a click group the flags that take several values."""
    return {
        name: [flag for parameter in command.params if getattr(parameter, "multiple", False) for flag in parameter.opts]
        for name, command in group.commands.items()
    }


def expand_flags(argv: Sequence[str], variadic: Mapping[str, Collection[str]]) -> list[str]:
    """The command line with `--model A B` written as `--model A --model B`, which is what click takes.

    `variadic` holds of each command the flags that take several values.

    >>> expand_flags(["run", "--benchmarks", "dat", "sat", "--seed", "1"], {"run": ("--benchmarks",)})
    ['run', '--benchmarks', 'dat', '--benchmarks', 'sat', '--seed', '1']
    """
    several = variadic.get(argv[0], ()) if argv else ()
    words: list[str] = []
    flag = None
    for word in argv:
        if word.startswith("--"):
            flag = word if word in several else None
        elif flag and words[-1] != flag:
            words.append(flag)
        words.append(word)
    return words
