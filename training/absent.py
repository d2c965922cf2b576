"""What TRL's settings ask for and this machine has not: packages, found before anything runs."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from sozo.data.errors import UserError
from sozo.models.needs import not_here

# Of trackers whose package is called otherwise.
_TRACKERS = {"azure_ml": "azureml", "flyte": "flytekit"}


def absent(training: Any, model: Any) -> Iterator[str]:
    """A line, with what to do, for each package that settings, after their checks, need and that is not installed."""
    from transformers import Trainer

    packages = {_TRACKERS.get(name, name) for name in training.report_to or ()}
    if getattr(training, "use_vllm", False):
        packages.add("vllm")
    if training.use_liger_kernel:
        packages.add("liger_kernel")
    if model.attn_implementation == "flash_attention_2" and not find_spec("kernels"):
        packages.add("flash_attn")
    if model.load_in_4bit or model.load_in_8bit:
        packages.add("bitsandbytes")
    yield from not_here({}, set(), packages)
    try:
        Trainer.get_optimizer_cls_and_kwargs(training)
    except ImportError as error:
        yield f"optim {training.optim.value}: {error}"
    except (TypeError, ValueError):  # told by `check_training`
        pass


def check_targets(lora: Any, path: str, revision: str | None) -> None:
    """Refuse names for LoRA that nothing in the model at `path` has; its architecture alone is made for that.

    Of several names PEFT passes over those that it does not find; one alone it takes for a pattern of whole names.
    """
    import torch
    import transformers
    from peft import get_peft_model

    config = transformers.AutoConfig.from_pretrained(path, revision=revision)
    kind = getattr(transformers, (config.architectures or [""])[0], None)
    if kind is None:  # of its own code, which TRL runs or refuses
        return
    with torch.device("meta"):  # no weights
        skeleton = kind(config)
    modules = [name for name, _ in skeleton.named_modules()]
    parameters = [name for name, _ in skeleton.named_parameters()]
    leaves = sorted({name.split(".")[-2] for name in parameters if "." in name})
    known = f"its modules are {', '.join(leaves)}"
    for setting, wanted, there in (
        ("lora_target_modules", lora.target_modules, modules),
        ("lora_target_parameters", lora.target_parameters, parameters),
        ("lora_modules_to_save", lora.modules_to_save, modules),
    ):
        if isinstance(wanted, str):
            continue
        for name in sorted(wanted or ()):  # PEFT keeps a set
            if not any(f".{one}".endswith(f".{name}") for one in there):
                raise UserError(f"{setting} {name}: the model has none; {known}")
    try:
        get_peft_model(skeleton, lora)
    except ValueError as error:
        alone = " (one alone is a pattern of whole names, such as .*q_proj)"
        alone = alone if isinstance(lora.target_modules, str) else ""
        raise UserError(f"lora_target_modules: {error}{alone}; {known}") from error
