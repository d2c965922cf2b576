"""LoRA adapters on disk."""

from __future__ import annotations

from pathlib import Path

ADAPTER_FILE = "adapter_config.json"


def is_adapter(folder: str) -> bool:
    """Does the folder hold a LoRA adapter and not a whole model?"""
    return (Path(folder) / ADAPTER_FILE).is_file() and not (Path(folder) / "config.json").is_file()
