"""Where a result came from: the git commit and the versions of the packages that decide it."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "sozo", "torch", "transformers", "trl", "accelerate", "deepspeed", "peft", "vllm", "sentence-transformers", "numpy",
    "pyknp", "jumandic", "fugashi", "ja-ginza",
)  # fmt: skip


def provenance() -> dict[str, object]:
    """Git commit (`-dirty` with uncommitted changes; None outside a checkout), Python and package versions."""
    return {"git_commit": _git_commit(), "python": platform.python_version(), "packages": package_versions()}


def package_versions() -> dict[str, str]:
    """Versions of the packages that are installed, of those that can change a result."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git_commit() -> str | None:
    command = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    try:
        run = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() or None if run.returncode == 0 else None
