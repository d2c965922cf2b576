"""What TRL's settings ask for and this machine has not: packages, found before anything runs."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

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
    except (TypeError, ValueError):  # transformers tells it once a model is there
        pass
