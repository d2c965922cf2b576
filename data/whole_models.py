"""Models that transformers loads, whoever calls it: what it only warns of is refused here."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sozo.data.errors import UserError
from sozo.data.processes import is_first

_WHOLE = "save or download the whole checkpoint"


def refuse_missing(name: str, model: Any, keys: list[str]) -> None:
    """A UserError: the weights called `keys`, which transformers made up at random, are not in the folder `name`."""
    raise UserError(
        f"{name}: {len(keys):,} of its weights are missing, such as {keys[0]}, and would be random; {_WHOLE}"
    )


@contextmanager
def whole_models(
    missing: Callable[[str, Any, list[str]], None] = refuse_missing,
) -> Iterator[None]:
    """While this lasts, transformers loads whole models: weights that are missing or of another size are a UserError.

    What counts is its own report, in which weights that are tied to others are not missing. Weights that the model has
    no use for (a vision tower, a value head) are one line on stderr, once for each model. What transformers' own loader
    of adapters reports must fit in both directions. `missing` is called in place of the refusal, with the model's name,
    the model and its missing weights' names.
    """
    from transformers import modeling_utils
    from transformers.integrations import peft

    original, said = modeling_utils.log_state_dict_report, set()
    before = sys.exc_info()[1]

    def of_model(
        *,
        model: Any,
        pretrained_model_name_or_path: str,
        loading_info: Any,
        **options: Any,
    ) -> None:
        if sys.exc_info()[1] is not before:  # loading failed, and that says why
            return
        name = str(pretrained_model_name_or_path)
        unused = sorted(loading_info.unexpected_keys)
        _refuse_sizes(name, loading_info)
        if lost := sorted(loading_info.missing_keys):
            missing(name, model, lost)
        if unused and name not in said and is_first():
            said.add(name)
            use = f"{type(model).__name__} has no use for {len(unused):,} of its weights, such as {unused[0]}"
            sys.stderr.write(f"{name}: {use}\n")
        if loading_info.error_msgs or loading_info.conversion_errors:
            original(
                model=model,
                pretrained_model_name_or_path=name,
                loading_info=loading_info,
                **options,
            )

    def of_adapter(
        *, pretrained_model_name_or_path: str, loading_info: Any, **_: Any
    ) -> None:
        name = str(pretrained_model_name_or_path)
        _refuse_sizes(name, loading_info)
        if problem := misfit(loading_info.unexpected_keys, loading_info.missing_keys):
            raise UserError(
                f"{name}: the adapter does not fit its base model: {problem}"
            )

    modeling_utils.log_state_dict_report = of_model
    peft.log_state_dict_report = of_adapter
    try:
        yield
    finally:
        modeling_utils.log_state_dict_report = peft.log_state_dict_report = original


def misfit(stray: Iterable[str], lost: Iterable[str]) -> str:
    """Why an adapter does not fit its base: weights without a place, and places without a weight; "" if it does."""
    problems = []
    if stray := sorted(stray):
        problems.append(
            f"{len(stray):,} of its weights found no place, such as {stray[0]}"
        )
    if lost := sorted(lost):
        layers = {name.split(".lora_")[0] for name in lost}
        problems.append(
            f"{len(layers):,} of the layers lack weights, such as {lost[0]}"
        )
    return ", and ".join(problems)


def _refuse_sizes(name: str, report: Any) -> None:
    if report.mismatched_keys:
        key, stored, said = min(report.mismatched_keys)
        sizes = f"{tuple(stored)} in the file and {tuple(said)} by its config.json"
        other = f"{len(report.mismatched_keys):,} of its weights are of another size, such as {key}, {sizes}"
        raise UserError(f"{name}: {other}; {_WHOLE}")
