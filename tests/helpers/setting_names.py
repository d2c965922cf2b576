"""Writes training/names.json: the settings of TRL's trainers and of ModelConfig by method, as installed.

python tests/helpers/setting_names.py
"""

import json
from dataclasses import fields

from trl import DPOConfig, GRPOConfig, ModelConfig, SFTConfig

from sozo.training.names import TABLE


def table():
    """What every method has, and what each has besides."""

    def names(config):
        return {
            f.name for group in (config, ModelConfig) for f in fields(group) if f.init
        }

    own = {"sft": SFTConfig, "dpo": DPOConfig, "grpo": GRPOConfig}
    found = {method: names(config) for method, config in own.items()}
    every = set.intersection(*found.values())
    return {"every": sorted(every)} | {m: sorted(n - every) for m, n in found.items()}


if __name__ == "__main__":
    TABLE.write_text(json.dumps(table(), indent=0) + "\n", "utf-8")
