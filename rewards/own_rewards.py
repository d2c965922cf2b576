"""A reward of one's own: what it must take, which shows before a model is loaded, and what it must give."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import load_dotted
from sozo.data.whole_models import whole_models

_TEXTS = {"prompts", "completions", "completion_ids"}
# What is handed over besides the columns of an entry's prompts.
_HANDED = _TEXTS | {"item", "trainer_state", "log_extra", "log_metric"}
_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def reward_at(path: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """The reward function at a dotted path or, with `arguments`, even none of them, the one that is made there.

    A path with a slash is a reward model, as TRL takes one: a folder or a hub id, loaded with `arguments`.
    """
    if "/" in path:
        return reward_model(path, **(arguments or {}))
    function = load_dotted(path, "reward function")
    try:
        function = function if arguments is None else function(**arguments)
    except (TypeError, ValueError) as error:
        remedy = "; a reward itself stands in reward_funcs alone"
        remedy = remedy if "completions" in str(error) else ""
        raise UserError(
            f"reward function {path} with {dict(arguments or {})}: {error}{remedy}"
        ) from error
    if not callable(function):
        raise UserError(
            f"reward function {path} cannot be called (it is a {type(function).__name__})"
        )
    return function


def reward_model(name: str, **options: Any) -> Callable[..., list[float]]:
    """A classifier of one label as a reward: its logit of prompt and completion, as TRL asks for it."""

    @cache
    def loaded() -> Any:
        from transformers import pipeline

        with whole_models():
            kind = {"num_labels": 1, **options}
            try:
                return pipeline("text-classification", name, model_kwargs=kind)
            except OSError as error:
                raise UserError(f"reward model {name}: {error}") from error

    def paid(
        prompts: Sequence[Any], completions: Sequence[Any], **_: Any
    ) -> list[float]:
        texts = [
            asked + said
            if isinstance(asked, str)
            else loaded().tokenizer.apply_chat_template(asked + said, tokenize=False)
            for asked, said in zip(prompts, completions, strict=True)
        ]
        given = loaded()(texts, function_to_apply="none", add_special_tokens=False)
        return [one["score"] for one in given]

    paid.__name__ = name.rpartition("/")[2]
    return paid


def check_arguments(path: str, function: Any, entry: Any) -> None:
    """Refuse a function that cannot take what TRL hands over to the rewards of an entry (`entries.Entry`).

    It is not called, since that may cost money or time.
    """
    made = f"if it makes a reward, name it in reward_args, such as {{{path}: {{}}}}"
    if inspect.isclass(function):
        raise UserError(f"reward function {path} is a class; {made}")
    try:
        # Of what is called: a decorator may keep from the function what that does not take.
        called = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # written in C
        return
    parameters = called.parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    named = [parameter for parameter in parameters if parameter.kind not in _REST]
    names = {parameter.name for parameter in named}
    if named and not names & _TEXTS:
        raise UserError(f"reward function {path} takes no completions; {made}")
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        raise UserError(
            f"reward function {path} has no **kwargs, but is handed all that TRL knows; add them to its arguments"
        )
    needed = {one.name for one in named if one.default is one.empty} - _HANDED
    columns = {name for item in entry.items for name in item.columns} if needed else ()
    if lacking := sorted(needed.difference(columns)):
        raise UserError(
            f"reward function {path} needs {', '.join(lacking)}, which is no column of {entry.name}; {made}"
        )


def numbers(name: str, paid: Any) -> list[float | None]:
    """What the reward called `name` gave for some completions, as numbers."""
    remedy = "return a list of a number, or None, for each completion"
    try:
        if isinstance(paid, str | Mapping):
            raise TypeError
        each = iter(paid)  # a tensor of one number alone has none
    except TypeError as error:
        raise UserError(f"reward {name} gave {quoted(paid)}; {remedy}") from error
    read: list[float | None] = []
    for worth in each:
        try:
            if isinstance(worth, str | bytes):  # float would read some
                raise TypeError
            read.append(None if worth is None else float(worth))
        except (OverflowError, TypeError, ValueError) as error:
            gave = f"gave {quoted(worth)} for a completion"
            raise UserError(f"reward {name} {gave}; {remedy}") from error
    return read


def check_count(name: str, values: Sequence[Any], count: int) -> None:
    """Refuse what the reward called `name` gave if it is not one value for each of `count` completions."""
    if len(values) != count:
        counts = f"{len(values)} values for {count} completions"
        raise UserError(f"reward {name} gave {counts}; return one for each")
