"""What the training recipes share: their YAML by default, and a user's mistake as one line and exit status 2."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path


def launch(method: str, run: Callable[[list[str]], Path]) -> int:
    """Run `run(argv)` with the tiny model's YAML for `method` unless `--config` names another; the exit status."""
    from data.errors import UserError
    from rewards.embeddings import EncoderError
    from training.config import ConfigError

    argv, rank = sys.argv[1:], int(os.environ.get("RANK", "0"))
    if not any(word.partition("=")[0] == "--config" for word in argv):
        argv = ["--config", str(Path(__file__).parent / "tiny" / f"{method}.yaml"), *argv]
    try:
        folder = run(argv)
    except (UserError, ConfigError, EncoderError, ModuleNotFoundError, OSError) as error:
        if rank:
            time.sleep(10)  # the launcher ends this process as soon as the first one, which prints, has failed too
        print(f"{method}_dat: {error}", file=sys.stderr, flush=True)
        return 2
    if not rank:
        print(f"The trained model is in {folder}")
    return 0
