"""What a model is named by: a folder, a folder with a LoRA adapter, a hub id, or `tiny` for the embedded model."""

from __future__ import annotations

from pathlib import Path

from data.errors import UserError

TINY = "tiny"
ADAPTER_FILE, _WHOLE = "adapter_config.json", "config.json"


def is_model(folder: Path) -> bool:
    """Does the folder hold a model, or a LoRA adapter?"""
    return any((folder / name).is_file() for name in (_WHOLE, ADAPTER_FILE))


def is_adapter(folder: str) -> bool:
    """Does the folder hold a LoRA adapter and not a whole model?"""
    return (Path(folder) / ADAPTER_FILE).is_file() and not (Path(folder) / _WHOLE).is_file()


def check_model(name: str) -> None:
    """Refuse a folder that is not there or holds no model; a hub id is not looked up.

    Raises:
        UserError: No model can be there.
    """
    folder = Path(name)
    if name == TINY:
        return
    if folder.is_dir():
        if not is_model(folder):
            raise UserError(f"{name}: holds no model (neither {_WHOLE} nor {ADAPTER_FILE}); give a model's folder")
    elif folder.exists() or name.count("/") > 1 or name.startswith((".", "/", "~")):  # a hub id has one slash at most
        raise UserError(f"{name}: no such folder; give a model's folder, a hub id, or {TINY}")


def cannot_load(name: str, error: Exception) -> UserError:
    """What a user is told of a model that does not load."""
    return UserError(
        f"cannot load the model {name} ({cause(error)}); give a model's folder, or a hub id that can be reached"
    )


def cause(error: Exception) -> str:
    """An error's message as one short line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
