"""From a function whose parameters are settings dataclasses to a command with a flag for each of their fields.

`--help` shows flags in panels: under the `panel` of the dataclass that declares them, of a task's under its name. Those
that are `rare` (`sozo.data.settings.setting`), and those of tasks that are not named, are shown by `--help-all` alone.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from sozo.data.errors import UserError, one_line_errors

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class PanelCommand(TyperCommand):
    """A command with a panel for each group of its flags, and `--help-all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        if "--help-all" in args and not ctx.allow_extra_args:
            for parameter in self.params:
                parameter.hidden = False  # type: ignore[attr-defined]
            args = ["--help"]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels, in the order of their first flags."""
        panels = dict[str, list[tuple[str, str]]]()
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                kind = f"{parameter.param_type_name}s".capitalize()
                panel = getattr(parameter, "rich_help_panel", None) or kind
                panels.setdefault(panel, []).append(record)
        if rare := sum(
            getattr(parameter, "hidden", False) for parameter in self.params
        ):
            panels["Options"].append(("--help-all", f"Rarer flags, too: {rare} more."))
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


def add_command(app: typer.Typer, name: str, command: Callable[..., None]) -> None:
    """Add a function with flags; in the list of commands its first line is never cut.

    One that takes a `typer.Context` reads all words itself.
    """
    reads = {}
    if typer.Context in get_type_hints(command).values():
        reads = {
            "ignore_unknown_options": True,
            "allow_extra_args": True,
            "help_option_names": [],
        }
    line = (command.__doc__ or "").partition("\n")[0]
    app.command(name, cls=PanelCommand, short_help=line, context_settings=reads)(
        command
    )


def with_flags(
    command: Callable[..., None],
    groups: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
    hidden: Collection[str] = (),
) -> Callable[..., None]:
    """Let typer see every field of a command's dataclass parameters, but those `without`, as a flag of its own.

    The help of another parameter is a text: `Annotated[int, "Port to listen at."]`. A parameter of the command takes
    the place of fields of its name, which keep their defaults; one without help has the field's. `groups` are further
    parameters, which `command` takes as keywords: name -> dataclass. What several of them inherit from one dataclass,
    such as the judge of two tasks, is one flag for all. Flags of `hidden` groups alone are not shown by `--help`.
    """
    hints: dict[str, Any] = get_type_hints(command, include_extras=True)
    own = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    every = {**own, **(groups or {})}
    plain = dict[str, inspect.Parameter]()
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in own and parameter.kind is not parameter.VAR_KEYWORD:
            hint, default = hints[name], parameter.default
            plain[name] = parameter.replace(kind=_KEYWORD, annotation=hint)
            if isinstance(getattr(hint, "__metadata__", (None,))[0], str):
                plain[name] = _flag(name, hint.__origin__, default, *hint.__metadata__)
    names = set(plain)
    declared = dict[Field[Any], inspect.Parameter]()
    for name in sorted(every, key=lambda name: name in hidden):
        panel = None if name in own else name
        for field, flag in _flags_of(every[name], panel, name in hidden):
            if flag.name not in without:
                parameter = plain.pop(flag.name, flag)
                if get_origin(hint := parameter.annotation) is not Annotated:
                    (option,) = flag.annotation.__metadata__
                    parameter = parameter.replace(annotation=Annotated[hint, option])
                declared.setdefault(field, parameter)
    parameters = [*plain.values(), *declared.values()]
    every_name = [parameter.name for parameter in parameters]
    for name in every_name:
        if every_name.count(name) > 1:
            raise UserError(
                f"two tasks have a setting {name}; rename the field of one of them"
            )
    defaults = names.union(without)

    def run(**values: Any) -> None:
        with one_line_errors("error"):
            settings = {name: values[name] for name in names}
            for name, group in every.items():
                known = {field.name for field in fields(group)} - defaults
                settings[name] = group(**{key: values[key] for key in known})
            command(**settings)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _flags_of(
    group: Any, panel: str | None, hidden: bool
) -> Iterator[tuple[Field[Any], inspect.Parameter]]:
    """The dataclass' own fields, which a subclass shares with it, each with its flag; as in its constructor."""
    hints = get_type_hints(group)
    panels = {
        name: vars(owner).get("panel", panel)
        for owner in reversed(group.__mro__)
        for name in inspect.get_annotations(owner)
    }
    for field in sorted(fields(group), key=lambda field: bool(field.kw_only)):
        name, line = field.name, field.metadata["help"]
        how = panels[name], line.rare or hidden
        yield field, _flag(name, hints[name], field.default, str(line), *how)


def _flag(
    name: str,
    hint: Any,
    default: Any,
    line: str,
    panel: str | None = None,
    hidden: bool = False,
) -> inspect.Parameter:
    # A flag that is off by default needs no --no-... beside it.
    names = [f"--{name.replace('_', '-')}"] if default is False else []
    option = typer.Option(*names, help=line, rich_help_panel=panel, hidden=hidden)
    hint = Annotated[hint, option]
    return inspect.Parameter(name, _KEYWORD, default=default, annotation=hint)


def expand_flags(words: Sequence[str], group: Any) -> list[str]:
    """The command line with `--model A B` written as `--model A --model B`, which is what click takes.

    `group` holds the commands; one that reads all words itself gets them as they are. A flag may have underscores, as
    in a recipe.
    """
    command = group.commands.get(words[0]) if words else None
    if command is None or command.context_settings.get("allow_extra_args"):
        return list(words)
    several = {
        flag
        for parameter in command.params
        if getattr(parameter, "multiple", False)
        for flag in parameter.opts
    }
    expanded: list[str] = []
    flag = None
    for word in words:
        if word.startswith("--") or word == "-h":
            name, sign, value = word.partition("=")
            word = name.replace("_", "-") + sign + value
            flag = word if word in several else None
        elif flag and expanded[-1] != flag:
            expanded.append(flag)
        expanded.append(word)
    return expanded
