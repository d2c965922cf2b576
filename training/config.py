"""Settings from `--config FILE.yaml` and flags, resolved once: what cannot be is refused in one line, before TRL is asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from accelerate.utils import parse_flag_from_env
from huggingface_hub import get_token
from pydantic import (
    Field,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    ValidationError,
)
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from trl import ModelConfig

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.processes import world_size
from sozo.models.needs import not_here
from sozo.training.batches import fit_batch
from sozo.training.evaluation import read_evaluate
from sozo.training.names import read_words, refuse_unknown

_NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Report = Literal[("none", "all", *INTEGRATION_TO_CALLBACK)]  # type: ignore[valid-type]
# What of settings that recipes use means something, closer than libraries' annotations, which check few and late. What
# another setting may be is theirs to say.
KINDS: dict[str, Any] = {
    "beta": _NotNegative,
    "dtype": Literal["auto", "bfloat16", "float16", "float32"],
    "eval_strategy": Literal["no"],  # transformers' own, which sozo does not make
    "learning_rate": _NotNegative,
    "max_completion_length": PositiveInt,
    "max_length": PositiveInt | None,
    "max_steps": Annotated[int, Field(ge=-1)],
    "num_generations": Annotated[int, Field(ge=2)],  # a group to compare within
    "num_train_epochs": _Positive,
    "per_device_train_batch_size": PositiveInt,
    "report_to": _Report | list[_Report],
    "save_steps": _Positive,
    # One can leave no whole checkpoint after a kill.
    "save_total_limit": Annotated[int, Field(ge=2)] | None,
    "scale_rewards": bool | Literal["group", "batch", "none"],
    "seed": Annotated[int, Field(ge=0, lt=2**32)],  # numpy's
    "steps_per_generation": PositiveInt | None,
    "temperature": _Positive,
    "top_k": NonNegativeInt,
    "top_p": Annotated[float, Field(gt=0, le=1)],
    "warmup_steps": _NotNegative,
}


def resolve(
    script: type, training: type, argv: Sequence[str], processes: int | None = None
) -> tuple[Any, Any]:
    """A method's own settings, and all by name, the model's among them, for so many processes (None: as launched)."""
    values = _read((script, training, ModelConfig), argv)
    (own,) = _made((script,), values)
    told = SimpleNamespace(**values)
    fit_batch(told, processes or world_size())
    own.check(told)
    read_evaluate(own.evaluate)
    _check_together(own, told)
    return own, told


def made(training: type, told: Any, **instead: Any) -> Any:
    """TRL's settings and the model's, which need the GPU that they ask for; `instead` replaces some of `told`."""
    return _made((training, ModelConfig), vars(told) | instead)


def absent(told: Any) -> Iterator[str]:
    """A line, with what to do, for each package that resolved settings ask for and that is not installed."""
    named = [*told.report_to, told.report_to, "vllm" * getattr(told, "use_vllm", 0)]
    packages = [name for name in ("tensorboard", "vllm", "wandb") if name in named]
    yield from not_here({}, set(), packages)


def parse(
    script: type, training: type, argv: Sequence[str]
) -> tuple[Any, Any, ModelConfig]:
    """Settings of one method: its own (such as `GrpoArguments`), TRL's (`GrpoSettings`) and the model's, checked."""
    own, told = resolve(script, training, argv)
    return (own, *made(training, told))


def _made(groups: Sequence[type], values: Mapping[str, Any]) -> Any:
    try:
        return [
            group(**{f.name: values[f.name] for f in fields(group) if f.name in values})
            for group in groups
        ]
    except (AttributeError, OSError, TypeError, ValueError) as error:
        raise UserError(str(error)) from error


def _read(groups: Sequence[type], argv: Sequence[str]) -> dict[str, Any]:
    """All settings of some dataclasses by name: flags over the file over the defaults."""
    given = read_words(argv)
    values: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    for group in groups:
        kinds = get_type_hints(group) | KINDS
        for setting in filter(lambda setting: setting.init, fields(group)):
            factory: Any = setting.default_factory
            values[setting.name] = factory() if callable(factory) else setting.default
            kind = hints[setting.name] = kinds[setting.name]
            least = getattr(setting.metadata.get("help"), "least", None)
            if least is not None:
                hints[setting.name] = Annotated[kind, Field(ge=least)]
    # Before any value is judged: a misspelt key is often why another one looks wrong.
    refuse_unknown(given, values)
    for name, value in given.items():
        values[name] = _of_kind(name, hints[name], value)
    lora = [name for name in given if name.startswith("lora")]
    if lora and not values.get("use_peft", True):
        raise UserError(f"{lora[0]} does nothing without use_peft; set both")
    return values


def _of_kind(name: str, hint: Any, value: Any) -> Any:
    """A value, or what a text stands for; refuse what is of another kind than its setting."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]
    kinds = {get_origin(part) or part for part in parts}
    value = None if value == "null" else value
    # Libraries let many a text be null whose kind does not say so.
    if value is None and str in kinds:
        return None
    if isinstance(value, str) and list in kinds and str not in kinds:
        value = [value]
    boolean = isinstance(value, bool)
    try:
        adapter = TypeAdapter(hint, config={"arbitrary_types_allowed": True})
        found = adapter.validate_python(value, strict=boolean)
    except ValidationError as error:
        written = ", as which YAML's yes and no, and a flag without a value, are read"
        raise UserError(
            f"{name}: {error.errors()[0]['msg']}, not {quoted(value)}{written * boolean}"
        ) from error
    return found if isinstance(value, str | list) else value


def _check_together(own: Any, told: Any) -> None:
    """Refuse settings, a method's own and all by name as resolved, that mean nothing with each other or here."""
    if getattr(told, "sync_ref_model", False) and not told.beta:
        raise UserError(
            "sync_ref_model does nothing with beta 0, which needs no reference; leave it out, or raise beta"
        )
    if told.push_to_hub and not get_token():
        raise UserError(
            "push_to_hub needs a login: hf auth login, or HF_TOKEN; or leave it out"
        )
    if not (told.fsdp or parse_flag_from_env("ACCELERATE_USE_FSDP")):
        return
    if told.use_cpu:
        raise UserError(
            "accelerate has no FSDP on a CPU and would train without; take recipes/accelerate/cpu2_zero3.yaml, or GPUs"
        )
    if own.evaluate or getattr(own, "sampler", None) == "shared_prefix":
        raise UserError(
            "evaluate and the sampler shared_prefix do not work under FSDP; give --evaluate null and --sampler trl, "
            "or take DeepSpeed (zero3.yaml)"
        )
