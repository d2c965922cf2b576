r"""GRPO on DAT rewards (paper, section 5.1.3): `sozo train grpo`.

The embedded model on a CPU, and eight GPUs (on one: single.yaml and --use_peft true):

    accelerate launch recipes/grpo_dat.py --config recipes/tiny/grpo.yaml
    accelerate launch --config_file recipes/accelerate/zero3.yaml recipes/grpo_dat.py \
        --config recipes/swallow-8b/grpo.yaml
"""

from sozo.training.command import launch

if __name__ == "__main__":
    launch("grpo")
