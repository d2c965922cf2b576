r"""GRPO on DAT rewards (paper, section 5.1.3).

With no argument it trains the embedded tiny model on a CPU, with no model hub and no Juman++:

    accelerate launch recipes/grpo_dat.py

One GPU, and one node of eight; any flag of TRL's GRPOConfig and ModelConfig goes over the YAML:

    accelerate launch --config_file recipes/accelerate/single.yaml recipes/grpo_dat.py \
        --config recipes/swallow-8b/grpo.yaml --use_peft true
    accelerate launch --config_file recipes/accelerate/zero3.yaml recipes/grpo_dat.py \
        --config recipes/swallow-8b/grpo.yaml
"""

import os
import sys
import time
from pathlib import Path


def main() -> int:
    """Parse, check, train. Errors a user can mend end in one line and exit status 2."""
    from rewards.embeddings import EncoderError
    from rewards.nouns import JumanppError
    from training.config import ConfigError, parse
    from training.grpo import train_grpo

    argv, rank = sys.argv[1:], int(os.environ.get("RANK", "0"))
    if not any(word.partition("=")[0] == "--config" for word in argv):
        argv = ["--config", str(Path(__file__).parent / "tiny" / "grpo.yaml"), *argv]
    try:
        folder = train_grpo(*parse(argv))
    except (ConfigError, EncoderError, JumanppError, FileNotFoundError, ModuleNotFoundError, OSError) as error:
        if rank:
            time.sleep(10)  # the launcher ends this process as soon as the first one, which prints, has failed too
        print(f"grpo_dat: {error}", file=sys.stderr, flush=True)
        return 2
    if not rank:
        print(f"The trained model is in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
