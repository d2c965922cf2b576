"""The training methods by name; TRL takes seconds to import, so that is left to whoever asks."""

from typing import Any


def recipe(method: str) -> tuple[Any, type, type]:
    """Of a method what trains, its own settings and TRL's."""
    if method == "grpo":
        from sozo.training import grpo

        return grpo.train_grpo, grpo.GrpoArguments, grpo.GrpoSettings
    from sozo.training import sft_dpo as table

    if method == "sft":
        return table.train_sft, table.SftArguments, table.SftSettings
    return table.train_dpo, table.DpoArguments, table.DpoSettings
