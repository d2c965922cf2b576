"""From a function whose parameters are settings dataclasses to a command with a flag for each of their fields.

`--help` shows flags in panels: under the `panel` of the dataclass that declares them, of a task's under its name. Those
that are `rare` (`sozo.data.settings.setting`) are shown by `--help-all` alone.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from sozo.data.errors import UserError, one_line_errors
from sozo.models.sampling import Sampling


class PanelCommand(TyperCommand):
    """A command with a panel for each group of its flags, and `--help-all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        if "--help-all" in args and not ctx.allow_extra_args:
            for parameter in self.params:
                parameter.hidden = False  # type: ignore[attr-defined]
            args = ["--help"]
        flags = {flag for parameter in self.params for flag in parameter.opts}
        if "--sampling" in flags and (asked := _as_sampling(args, flags)):
            raise UserError(f"{ctx.info_name} has it as: --sampling {asked}")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels, in the order of their first flags."""
        panels = dict[str, list[tuple[str, str]]]()
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                panel = (
                    getattr(parameter, "rich_help_panel", None)
                    or f"{parameter.param_type_name}s".capitalize()
                )
                panels.setdefault(panel, []).append(record)
        if rare := sum(
            getattr(parameter, "hidden", False) for parameter in self.params
        ):
            panels["Options"].append(("--help-all", f"Rarer flags, too: {rare} more."))
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


def _as_sampling(args: Sequence[str], flags: Collection[str]) -> str:
    """What `--temperature 0.7 --top-p 0.9` asks for in the words of `--sampling`; empty of a line with no such flag.

    >>> _as_sampling(["--temperature", "0.7", "--top-p=0.9", "--output", "runs"], {"--output"})
    'temperature=0.7,top_p=0.9'
    >>> _as_sampling(["--sampling", "temperature=0.7", "best-of=4"], {"--sampling"})
    ''
    """
    asked = {}  # of two the last
    for word, behind in zip(args, [*args[1:], "--"], strict=True):
        flag, _, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        known = not flag.startswith("--") or flag in flags
        if name in Sampling.__dataclass_fields__ and not known:
            behind = "..." if behind.startswith("--") else behind
            asked[name.replace("best_of", "best-of")] = value or behind or "..."
    return ",".join(f"{name}={value}" for name, value in asked.items())


def add_command(app: typer.Typer, name: str, command: Callable[..., None]) -> None:
    """Add a function with flags; in the list of commands its first line is never cut.

    One that takes a `typer.Context` reads all words itself.
    """
    reads = {}
    if reads_words(command):
        reads = {
            "ignore_unknown_options": True,
            "allow_extra_args": True,
            "help_option_names": [],
        }
    app.command(
        name,
        cls=PanelCommand,
        short_help=(command.__doc__ or "").partition("\n")[0],
        context_settings=reads,
    )(command)


def reads_words(command: Callable[..., None]) -> bool:
    """Whether a command takes its words as they are."""
    return typer.Context in get_type_hints(command).values()


def with_flags(
    command: Callable[..., None],
    groups: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
) -> Callable[..., None]:
    """Let typer see every field of a command's dataclass parameters, but those `without`, as a flag of its own.

    A parameter of the command takes the place of fields of its name, which keep their defaults; one without an option
    of its own has the field's. `groups` are further
    parameters, which `command` takes as keywords: name -> dataclass. What several of them inherit from one dataclass,
    such as the judge of two tasks, is one flag for all.
    """
    hints: dict[str, Any] = get_type_hints(command, include_extras=True)
    own = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    every = {**own, **(groups or {})}
    of_command = {
        name: parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in own and parameter.kind is not parameter.VAR_KEYWORD
    }
    own_names = set(of_command)
    hidden = own_names.union(without)
    declared = dict[Field[Any], inspect.Parameter]()
    for name, group in every.items():
        for field, flag in _flags_of(group, None if name in own else name):
            if flag.name not in without:
                parameter = of_command.pop(flag.name, flag)
                if get_origin(hint := parameter.annotation) is not Annotated:
                    (option,) = flag.annotation.__metadata__
                    parameter = parameter.replace(annotation=Annotated[hint, option])
                declared.setdefault(field, parameter)
    parameters = [*of_command.values(), *declared.values()]
    names = [parameter.name for parameter in parameters]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise UserError(
            f"two tasks have a setting {min(repeated)}; rename the field of one of them"
        )

    def run(**values: Any) -> None:
        with one_line_errors("error"):
            settings = {
                name: group(
                    **{
                        f.name: values[f.name]
                        for f in fields(group)
                        if f.name not in hidden
                    }
                )
                for name, group in every.items()
            }
            command(
                **{name: value for name, value in values.items() if name in own_names},
                **settings,
            )

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }
    return run


def _flags_of(
    group: Any, panel: str | None
) -> Iterator[tuple[Field[Any], inspect.Parameter]]:
    """The dataclass' own fields, which a subclass shares with it, each with its flag; as in its constructor."""
    hints = get_type_hints(group)
    owners = {
        name: owner
        for owner in reversed(group.__mro__)
        for name in inspect.get_annotations(owner)
    }
    for field in sorted(fields(group), key=lambda field: bool(field.kw_only)):
        # A flag that is off by default needs no --no-... beside it.
        names = [f"--{field.name.replace('_', '-')}"] if field.default is False else []
        line, own = field.metadata["help"], vars(owners[field.name]).get("panel", panel)
        hint: Any = Annotated[
            hints[field.name],
            typer.Option(*names, help=str(line), rich_help_panel=own, hidden=line.rare),
        ]
        keyword = inspect.Parameter.KEYWORD_ONLY
        yield (
            field,
            inspect.Parameter(
                field.name, keyword, default=field.default, annotation=hint
            ),
        )


def list_flags(group: Any) -> dict[str, list[str]]:
    """Of each command of a click group, but those that read all words themselves, the flags that take several values."""
    return {
        name: [
            flag
            for parameter in command.params
            if getattr(parameter, "multiple", False)
            for flag in parameter.opts
        ]
        for name, command in group.commands.items()
        if not command.context_settings.get("allow_extra_args")
    }


def expand_flags(
    argv: Sequence[str], variadic: Mapping[str, Collection[str]]
) -> list[str]:
    """The command line with `--model A B` written as `--model A --model B`, which is what click takes.

    `variadic` holds of each command the flags that take several values. A flag may have underscores, as in a recipe.

    >>> expand_flags(["run", "--tasks", "dat", "sat", "--num_usable", "1"], {"run": ("--tasks",)})
    ['run', '--tasks', 'dat', '--tasks', 'sat', '--num-usable', '1']
    """
    if not argv or argv[0] not in variadic:
        return list(argv)
    several = variadic[argv[0]]
    words: list[str] = []
    flag = None
    for word in argv:
        if word.startswith("--") or word == "-h":
            name, sign, value = word.partition("=")
            word = name.replace("_", "-") + sign + value
            flag = word if word in several else None
        elif flag and words[-1] != flag:
            words.append(flag)
        words.append(word)
    return words
