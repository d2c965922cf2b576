"""Which values of a setting mean something: TRL and transformers check few, and most of those after a model is loaded.

A value is refused only where the library could make nothing of it, or something else than it says; what switches a
setting off (`max_steps` -1, `max_grad_norm` 0, a clip of infinity) stays allowed.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, get_args, get_type_hints

from transformers import TrainingArguments
from trl import DPOConfig, GRPOConfig, ModelConfig

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import from_json, hint

# Intervals as mathematics writes them: a round bracket leaves its end out. Every other number must be finite.
_RANGES = {
    "[0, 1)": "adam_beta1 adam_beta2 lora_dropout",
    "[0, 1]": "label_smoothing label_smoothing_factor ld_alpha min_p ref_model_mixup_alpha top_entropy_quantile",
    "(0, 1]": "top_p vllm_gpu_memory_utilization",
    "(0, inf)": "discopop_tau num_train_epochs repetition_penalty sapo_temperature_neg sapo_temperature_pos save_steps "
    "temperature",
    "(0, inf]": "delta vllm_importance_sampling_cap vllm_importance_sampling_clip_max",
    "[0, inf)": "adam_epsilon beta canary_steps dataloader_num_workers dataset_num_proc ddp_bucket_cap_mb "
    "embedding_rate entropy_coef_delta eval_delay eval_steps learning_rate logging_steps "
    "max_tool_calling_iterations neftune_noise_alpha num_completions_to_print router_aux_loss_coef save_total_limit top_k "
    "vespo_k_neg vespo_k_pos vespo_lambda_neg vespo_lambda_pos vllm_importance_sampling_clip_min warmup_steps weight_decay",
    "[0, inf]": "entropy_target epsilon epsilon_high max_grad_norm off_policy_mask_threshold vllm_server_timeout",
    "[1, inf)": "dataloader_prefetch_factor ddp_timeout eval_accumulation_steps generation_batch_size lora_alpha "
    "lora_r max_completion_length max_length num_generations_eval num_iterations pad_to_multiple_of "
    "per_device_eval_batch_size precompute_ref_batch_size ref_model_sync_steps torch_empty_cache_steps "
    "vllm_max_model_length vllm_tensor_parallel_size",
    "[-1, inf)": "local_rank max_steps",
    "[0, 4294967295]": "seed",  # numpy's
    "[-9223372036854775808, 18446744073709551615]": "data_seed",  # torch's
    "[1, 65535]": "vllm_group_port vllm_server_port",
}
_RANGE_OF = {
    name: interval for interval, names in _RANGES.items() for name in names.split()
}


def _attention() -> Sequence[str]:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    known = ALL_ATTENTION_FUNCTIONS.valid_keys()  # of `shared_prompt` too, once it ran
    return ("eager", *(name for name in known if not name.startswith("sozo_")))


def _caches() -> Sequence[str]:
    from transformers.generation.configuration_utils import ALL_CACHE_IMPLEMENTATIONS

    return tuple(ALL_CACHE_IMPLEMENTATIONS)


def _reports() -> Sequence[str]:
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    return ("none", "all", *INTEGRATION_TO_CALLBACK)


def _compilers() -> Sequence[str]:
    from accelerate.utils import DynamoBackend

    return tuple(name.lower() for name in DynamoBackend.list())


# Texts of which only some mean something, where argparse does not know which; what a library lists is taken from it.
_CHOICES: dict[type, dict[str, Sequence[str] | Callable[[], Sequence[str]]]] = {
    TrainingArguments: {
        "include_for_metrics": ("inputs", "loss"),
        "include_num_input_tokens_seen": ("no", "all", "non_padding"),
        "report_to": _reports,
        "torch_compile_backend": _compilers,
        "torch_compile_mode": (
            "default",
            "reduce-overhead",
            "max-autotune",
            "max-autotune-no-cudagraphs",
        ),
    },
    ModelConfig: {
        "attn_implementation": _attention,
        "bnb_4bit_quant_storage": (
            *("float16", "float32", "float64"),
            *("int8", "uint8", "bfloat16"),
        ),
        "lora_task_type": ("CAUSAL_LM",),
    },
    GRPOConfig: {
        "cache_implementation": _caches,
        "importance_sampling_level": ("token", "sequence"),
        "loss_type": (
            *("grpo", "dr_grpo", "dapo", "bnpo"),
            *("cispo", "sapo", "luspo", "vespo"),
        ),
        "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
        "scale_rewards": ("group", "batch", "none"),
        "vllm_importance_sampling_mode": (
            *("token_truncate", "token_mask"),
            *("sequence_truncate", "sequence_mask"),
        ),
        "vllm_mode": ("colocate", "server"),
        "vllm_model_impl": ("vllm", "transformers", "auto"),
    },
    DPOConfig: {
        "f_divergence_type": (
            *("reverse_kl", "forward_kl"),
            *("js_divergence", "alpha_divergence"),
        ),
        "loss_type": (
            *("sigmoid", "sigmoid_norm", "hinge", "ipo", "exo_pair", "nca_pair"),
            *("robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero"),
            *("apo_down", "discopop", "sft"),
        ),
    },
}
_CHECKPOINTING = (
    *("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check"),
    *("debug", "early_stop", "every_n_layers", "offload"),
)
_KEYS = {
    "activation_checkpointing_kwargs": _CHECKPOINTING,
    "gradient_checkpointing_kwargs": _CHECKPOINTING,
    "dataset_kwargs": ("skip_prepare_dataset",),
}
_FILES = ("accelerator_config", "deepspeed", "fsdp_config")  # or a mapping
_NUMBERS_OR_TEXT = {"pad_to_multiple_of": ("auto", "none", "null")}
_NONE_IS_OFF = ("max_grad_norm",)
# TRL and transformers let these be null; sozo needs the one, and nothing tracks by the other.
_NEVER_NULL = ("max_completion_length", "report_to")


def check_values(
    groups: Sequence[type], values: Mapping[str, Any], listed: Mapping[str, Any]
) -> None:
    """Refuse the first of the `values`, by name, of these dataclasses' settings that means nothing.

    `listed` are the choices that argparse knows, which it looks up for flags only.
    """
    hints = ChainMap(*(get_type_hints(group) for group in groups))
    for name, value in values.items():
        if value is None:
            _check_null(name, hints[name])
        elif dict in _kinds(hints[name]):
            _check_mapping(name, value)
        elif known := listed.get(name) or _known(groups, name):
            for one in value if isinstance(value, list) else [value]:
                _check_choice(name, one, known)
        else:
            for one in value if isinstance(value, list) else [value]:
                _check_number(name, one)


def _kinds(hint: Any) -> set[Any]:
    return {getattr(kind, "__origin__", kind) for kind in get_args(hint) or (hint,)}


def _check_null(name: str, hint: Any) -> None:
    needed = name in _NEVER_NULL or hint in (bool, int, float)
    if needed and name not in _NONE_IS_OFF:
        raise UserError(f"{name} cannot be null; leave it out for its default")


def _known(groups: Sequence[type], name: str) -> Sequence[str]:
    """The texts that a setting may be; none where that is not known."""
    for group in groups:
        for kind, choices in _CHOICES.items():
            if issubclass(group, kind) and name in choices:
                known = choices[name]
                return known() if callable(known) else known
    return ()


def _check_choice(name: str, value: Any, known: Sequence[str]) -> None:
    if isinstance(value, bool) or value in known:  # argparse knows which may be bool
        return
    if name == "attn_implementation" and {*"/|"} & {*str(value)}:  # a kernel on the hub
        return
    raise UserError(
        f"{name} must be one of {', '.join(known)}, not {quoted(value)}"
        + hint(value, known)
    )


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, str) and name in _NUMBERS_OR_TEXT:
        if value in _NUMBERS_OR_TEXT[name]:
            return
        try:
            value = int(value)
        except ValueError as error:
            texts = ", ".join(_NUMBERS_OR_TEXT[name])
            raise UserError(
                f"{name} must be a number or {texts}, not {quoted(value)}"
            ) from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    interval = _RANGE_OF.get(name, "(-inf, inf)")
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
    elif interval[-1] == ")" and (not ends or abs(value) == inf):
        ends.append("finite")
    raise UserError(f"{name} must be {' and '.join(ends)}, not {value}")


def _check_mapping(name: str, value: Any) -> None:
    """JSON, or what YAML made of it; where the libraries take one, a file."""
    if name in _FILES and isinstance(value, str) and not value.startswith("{"):
        if name != "deepspeed" and not Path(value).is_file():  # that may be base64
            raise UserError(f"{name} {value}: no such file; give one, or a mapping")
        return
    settings = from_json(value, name)
    if settings is not None and not isinstance(settings, dict):
        raise UserError(f"{name} must be a mapping (JSON), not {quoted(value)}")
    known = _KEYS.get(name)
    for key in settings or ():
        if known and key not in known:
            raise UserError(
                f"{name}: unknown key {key}"
                + hint(key, known, f"; known: {', '.join(known)}")
            )


def check_training(training: Any) -> None:
    """Refuse TRL's settings, as they were made, where transformers would fail with them after a model is loaded."""
    if training.eval_strategy != "no":
        raise UserError(
            f"eval_strategy {training.eval_strategy.value} needs an evaluation of transformers', which sozo does not "
            "make; leave it out, and set evaluate"
        )
    if training.fp16 and training.use_cpu:
        raise UserError("fp16 needs a GPU; leave it out with use_cpu")
    if Path(training.output_dir).is_file():
        raise UserError(f"output_dir {training.output_dir} is a file; give a folder")
    _check_schedule(training)


def _check_schedule(training: Any) -> None:
    """Refuse a learning rate's schedule that transformers cannot make, and an optimizer that lacks what it needs.

    Both are made of one number, by what makes them of a model: their arguments are checked where they are known.
    """
    import torch
    from transformers import Trainer, get_scheduler

    try:
        Trainer.get_optimizer_cls_and_kwargs(training)
    except ImportError:  # not wrong, but not here: `packages`
        pass
    except (TypeError, ValueError) as error:
        if "pass a model" not in str(error):
            what = f"optim {training.optim.value}"
            what += f" with optim_args {training.optim_args}" * bool(
                training.optim_args
            )
            raise UserError(f"{what}: {error}") from error
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
