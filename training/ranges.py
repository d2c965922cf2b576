"""Which values mean something, of settings that recipes use: TRL and transformers check few, and most of those late.

What another setting may be is theirs to say. What switches one off (`max_steps` -1, a clip of infinity) is allowed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from huggingface_hub import get_token
from trl import DPOConfig, GRPOConfig

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import from_json, hint

# Intervals as mathematics writes them: a round bracket leaves its end out.
_RANGES = {
    "beta": "[0, inf)",
    "embedding_rate": "[0, inf)",
    "canary_steps": "[0, inf)",
    "epsilon": "[0, inf]",
    "learning_rate": "[0, inf)",
    "logging_steps": "[0, inf)",
    "lora_alpha": "[1, inf)",
    "lora_dropout": "[0, 1)",
    "lora_r": "[1, inf)",
    "max_completion_length": "[1, inf)",
    "max_length": "[1, inf)",
    "max_steps": "[-1, inf)",
    "num_iterations": "[1, inf)",
    "num_train_epochs": "(0, inf)",
    "save_steps": "(0, inf)",
    "save_total_limit": "[0, inf)",
    "seed": "[0, 4294967295]",  # numpy's
    "temperature": "(0, inf)",
    "top_k": "[0, inf)",
    "top_p": "(0, 1]",
    "warmup_steps": "[0, inf)",
    "weight_decay": "[0, inf)",
}


def _attention() -> Sequence[str]:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    known = ALL_ATTENTION_FUNCTIONS.valid_keys()  # of `shared_prompt` too, once it ran
    return ("eager", *(name for name in known if not name.startswith("sozo_")))


def _reports() -> Sequence[str]:
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    return ("none", "all", *INTEGRATION_TO_CALLBACK)


# Texts of which only some mean something, where a kind does not list them; what a library lists is taken from it.
_CHOICES: dict[str, Sequence[str] | Callable[[], Sequence[str]]] = {
    "attn_implementation": _attention,
    "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
    "report_to": _reports,
    "scale_rewards": ("group", "batch", "none"),
}
_LOSSES: dict[type, Sequence[str]] = {
    GRPOConfig: (
        *("grpo", "dr_grpo", "dapo", "bnpo"),
        *("cispo", "sapo", "luspo", "vespo"),
    ),
    DPOConfig: (
        *("sigmoid", "sigmoid_norm", "hinge", "ipo", "exo_pair", "nca_pair"),
        *("robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero"),
        *("apo_down", "discopop", "sft"),
    ),
}
_FILES = ("accelerator_config", "deepspeed", "fsdp_config")  # or a mapping
# TRL and transformers let these be null; sozo needs the one, and nothing tracks by the other.
_NEVER_NULL = ("max_completion_length", "report_to")


def kinds(hint: Any) -> set[Any]:
    """The types that an annotation allows.

    >>> kinds(list[str] | None) == {list, type(None)}
    True
    """
    several = get_origin(hint) in (Union, UnionType)
    return {
        get_origin(part) or part for part in (get_args(hint) if several else [hint])
    }


def check_values(
    groups: Sequence[type], values: Mapping[str, Any], hints: Mapping[str, Any]
) -> None:
    """Refuse the first of the `values`, by name, of these dataclasses' settings that means nothing."""
    listed = {
        f.name: f.metadata["choices"]
        for group in groups
        for f in fields(group)
        if "choices" in f.metadata
    }
    for name, value in values.items():
        if value is None:
            if name in _NEVER_NULL or hints[name] in (bool, int, float):
                raise UserError(f"{name} cannot be null; leave it out for its default")
            continue
        of = kinds(hints[name])
        if dict in of:
            if name not in _FILES or str(value).startswith("{"):
                _check_mapping(name, value)
            continue
        enums = [kind for kind in of if isinstance(kind, type(Enum))]
        known: Sequence[str] = [each.value for enum in enums for each in enum]
        known = known or listed.get(name) or _known(groups, name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, bool):
                continue
            if isinstance(one, int | float):
                _check_number(name, one)
            elif known and one not in known:
                _refuse_text(name, one, known)


def _known(groups: Sequence[type], name: str) -> Sequence[str]:
    """The texts that a setting may be; none where that is not known."""
    if name == "loss_type":
        own = (_LOSSES[kind] for kind in _LOSSES for g in groups if issubclass(g, kind))
        return next(own, ())
    known = _CHOICES.get(name, ())
    return known() if callable(known) else known


def _refuse_text(name: str, value: Any, known: Sequence[str]) -> None:
    if name == "attn_implementation" and {*"/|"} & {*str(value)}:  # a kernel on the hub
        return
    raise UserError(
        f"{name} must be one of {', '.join(known)}, not {quoted(value)}"
        + hint(value, known)
    )


def _check_number(name: str, value: float) -> None:
    interval = _RANGES.get(name, "[-inf, inf]")
    low, high = (
        float(end) if "inf" in end else int(end) for end in interval[1:-1].split(", ")
    )
    above = value > low or (interval[0] == "[" and value == low)
    below = value < high or (interval[-1] == "]" and value == high)
    if above and below:
        return
    ends = []
    if low > -inf:
        ends.append(f"{low} or more" if interval[0] == "[" else f"above {low}")
    if high < inf:
        ends.append(f"at most {high}" if interval[-1] == "]" else f"below {high}")
    elif not ends or value == inf:
        ends.append("finite" if value == inf else "a number")
    raise UserError(f"{name} must be {' and '.join(ends)}, not {value}")


def _check_mapping(name: str, value: Any) -> None:
    """JSON, or what YAML made of it."""
    settings = from_json(value, name)
    if settings is not None and not isinstance(settings, dict):
        raise UserError(f"{name} must be a mapping (JSON), not {quoted(value)}")


def check_training(training: Any) -> None:
    """Refuse TRL's settings, as they were made, where transformers would fail with them after a model is loaded."""
    if training.eval_strategy != "no":
        raise UserError(
            f"eval_strategy {training.eval_strategy.value} needs an evaluation of transformers', which sozo does not "
            "make; leave it out, and set evaluate"
        )
    if training.fp16 and training.use_cpu:
        raise UserError("fp16 needs a GPU; leave it out with use_cpu")
    if not training.output_dir or Path(training.output_dir).is_file():
        raise UserError(
            f"output_dir {quoted(training.output_dir)} is no folder; give one"
        )
    if getattr(training, "sync_ref_model", False) and not training.beta:
        raise UserError(
            "sync_ref_model does nothing with beta 0, which needs no reference; leave it out, or raise beta"
        )
    if training.push_to_hub and not (training.hub_token or get_token()):
        raise UserError(
            "push_to_hub needs a login: hf auth login, or HF_TOKEN; or leave it out"
        )
    _check_schedule(training)


def _check_schedule(training: Any) -> None:
    """Refuse a learning rate's schedule that transformers cannot make; it is made of one number."""
    import torch
    from transformers import get_scheduler

    steps = 1000
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    kind = training.lr_scheduler_type
    arguments = training.lr_scheduler_kwargs
    try:
        get_scheduler(
            kind, optimizer, training.get_warmup_steps(steps), steps, arguments
        )
    except (TypeError, ValueError) as error:
        raise UserError(
            f"lr_scheduler_type {kind.value} with lr_scheduler_kwargs {arguments or {}}: {error}"
        ) from error
