"""What the training recipes share: the tiny model's YAML by default, and a user's mistake as one line."""

import sys
from collections.abc import Callable
from pathlib import Path

from data.errors import one_line_errors
from data.processes import is_first


def launch(method: str, run: Callable[[list[str]], Path]) -> None:
    """Run `run(argv)` with the tiny model's YAML for `method` unless `--config` names another."""
    argv = sys.argv[1:]
    if not any(word.partition("=")[0] == "--config" for word in argv):
        argv = ["--config", str(Path(__file__).parent / "tiny" / f"{method}.yaml"), *argv]
    with one_line_errors(f"{method}_dat"):
        folder = run(argv)
    if is_first():
        print(f"The trained model is in {folder}")
