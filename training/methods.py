"""The training methods by name, one of ours by its line here; TRL takes seconds to import: that is left to whoever asks."""

from typing import Any

from sozo.data.errors import UserError
from sozo.data.joined import METHODS, added
from sozo.data.settings import load_dotted
from sozo.training.arguments import (
    DpoArguments,
    GrpoArguments,
    GrpoPerStep,
    SftArguments,
    TablePerStep,
)

# Of each its own settings, what TRL's have besides, what trains, and TRL's settings.
OWN: dict[str, tuple[Any, Any, str, str]] = {
    "sft": (SftArguments, TablePerStep, "sft_dpo.train_sft", "sft_dpo.SftSettings"),
    "dpo": (DpoArguments, TablePerStep, "sft_dpo.train_dpo", "sft_dpo.DpoSettings"),
    "grpo": (GrpoArguments, GrpoPerStep, "grpo.train_grpo", "grpo.GrpoSettings"),
}


def recipe(method: str) -> tuple[Any, Any, Any]:
    """Of a method what trains, its own settings and TRL's; UserError for a name that neither sozo nor a package has."""
    if method in OWN:
        own, _, *paths = OWN[method]
        trains, settings = (
            load_dotted(f"sozo.training.{path}", "method") for path in paths
        )
        return trains, own, settings
    joined = added(METHODS, OWN)
    if method not in joined:
        known = ", ".join((*OWN, *joined))
        raise UserError(f"there is no training method {method}; there are {known}")
    return joined[method].value()  # type: ignore[no-any-return]
