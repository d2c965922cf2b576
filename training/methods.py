"""The training methods by name; TRL takes seconds to import, so that is left to whoever asks."""

from typing import Any

from sozo.data.errors import UserError
from sozo.data.joined import METHODS, added
from sozo.training import arguments

OWN = ("sft", "dpo", "grpo")


def recipe(method: str) -> tuple[Any, Any, Any]:
    """Of a method what trains, its own settings and TRL's; UserError for a name that neither sozo nor a package has."""
    if method == "grpo":
        from sozo.training import grpo

        return grpo.train_grpo, arguments.GrpoArguments, grpo.GrpoSettings
    if method in OWN:
        from sozo.training import sft_dpo as table

        if method == "sft":
            return table.train_sft, arguments.SftArguments, table.SftSettings
        return table.train_dpo, arguments.DpoArguments, table.DpoSettings
    joined = added(METHODS, OWN)
    if method not in joined:
        known = ", ".join((*OWN, *joined))
        raise UserError(f"there is no training method {method}; there are {known}")
    found: tuple[Any, Any, Any] = joined[method].value()
    return found
